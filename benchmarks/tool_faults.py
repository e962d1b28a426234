"""Faults planted in logs of agents with tools, and how many of them the metrics find: precision and recall.

    python -m benchmarks.tool_faults LOGS...      # native files, as `turnwise convert` makes them

In each round one fault of a kind is planted in every dialogue that has a place for it; the rounds differ in their seed.
A planted fault is found if the metric names a fault in its message that is not there in the clean dialogue. Every fault
that is named in a clean dialogue counts as false, although some are real. Schemas are those of the log, or else are
inferred from the clean calls: the names and types of arguments, all of which are required.

The rules of the metrics were written while looking at ten dialogues of tau2 and six of tau-bench, with the first five
kinds of faults planted. `benchmarks/agentdojo_logs.py` makes logs that none of them has seen, and the kinds marked
`new` were added after the rules. --name NAME keeps the result in benchmarks/results/tool_faults.json.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from turnwise.logs.foreign import read_all
from turnwise.logs.items.items import TOOLS
from turnwise.metrics.tools.arguments import ToolUnmentioned
from turnwise.metrics.tools.calls import call_parts, leaves, tool_calls
from turnwise.metrics.tools.contradictions import ToolContradictions
from turnwise.metrics.tools.failures import ToolRepeats, ToolRetries
from turnwise.metrics.tools.faults import Faults
from turnwise.metrics.tools.validity import ToolValidity
from turnwise.types import Item, Turn

RESULT = Path(__file__).parent / "results" / "tool_faults.json"
ROUNDS = 20
TYPES = {str: "string", bool: "boolean", int: "number", float: "number", dict: "object", list: "array"}
IDENTIFIER = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z]{2,}[_-]?\d{3,}\b")
VALUE = re.compile(r"(?<![\w:.,-])\d{1,4}(?![\w:%-]|[.,]\d)")
PRICE = re.compile(r"(?<=[$£€])\d[\d,]*(?:\.\d\d)?(?![\d,])")
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


class Planted(NamedTuple):
    """A dialogue with a fault, and the message that it is in."""

    item: Item
    turn: int


NEW = (
    "unknown tool", "another mentioned value in an argument", "another price in a reply", "another date in a reply",
)  # fmt: skip
Plant = Callable[[Item, np.random.Generator], Planted | None]


class Outcome(NamedTuple):
    """What a metric found of one kind of faults."""

    kind: str
    metric: str
    planted: int
    found: int
    false: int  # faults that it names in the clean dialogues, in as many rounds
    new: bool = False  # whether the kind was added after the metric's rules

    @property
    def precision(self) -> float:
        """The share of named faults that were planted."""
        return self.found / max(1, self.found + self.false)

    @property
    def recall(self) -> float:
        """The share of planted faults that were named."""
        return self.found / max(1, self.planted)


def schemas(items: Sequence[Item]) -> str:
    """The schemas of the tools, from the calls of clean dialogues, as JSON text."""
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        for call in tool_calls(item.turns):
            if isinstance(call.arguments, Mapping):
                seen.setdefault(call.name, []).append(call.arguments)
    found = {}
    for name, several in seen.items():
        keys = set().union(*several)
        types = {
            key: sorted({TYPES[type(one[key])] for one in several if one.get(key) is not None})
            for key in keys
        }
        found[name] = {
            "type": "object",
            "properties": {key: {"type": types[key]} if types[key] else {} for key in sorted(keys)},
            "required": sorted(key for key in keys if all(key in one for one in several)),
        }
    return json.dumps(found, sort_keys=True)


def with_turn(item: Item, place: int, turn: Turn) -> Item:
    """The item with another message at a place."""
    return replace(item, turns=(*item.turns[:place], turn, *item.turns[place + 1 :]))


def changed_call(
    item: Item, rng: np.random.Generator, change: Callable[[dict[str, Any]], bool]
) -> Planted | None:
    """The item with the arguments of a random call changed; None if `change` can change none."""
    places = [(place, at) for place, turn in enumerate(item.turns) for at in range(len(turn.tool_calls))]
    for index in rng.permutation(len(places)):
        place, at = places[index]
        turn = item.turns[place]
        call = turn.tool_calls[at]
        _, arguments = call_parts(call)
        if not isinstance(arguments, dict):
            continue
        copied = json.loads(json.dumps(arguments))
        if not change(copied):
            continue
        function = {**call["function"], "arguments": json.dumps(copied)}
        calls = [*turn.tool_calls[:at], {**call, "function": function}, *turn.tool_calls[at + 1 :]]
        return Planted(
            with_turn(item, place, replace(turn, extra={**turn.extra, "tool_calls": calls})), place
        )
    return None


def wrong_type(item: Item, rng: np.random.Generator) -> Planted | None:
    """An argument becomes a list, is left out, or gets another name."""

    def change(arguments: dict[str, Any]) -> bool:
        if not arguments:
            return False
        key = str(rng.choice(sorted(arguments)))
        how = int(rng.integers(3))
        value = arguments.pop(key)
        if how == 0:
            arguments[key] = [value] if not isinstance(value, list) else "x"
        elif how == 1:
            arguments[f"{key}_"] = value
        return True

    return changed_call(item, rng, change)


def made_up_argument(item: Item, rng: np.random.Generator) -> Planted | None:
    """The digits of an identifier in an argument become others."""

    def change(arguments: dict[str, Any]) -> bool:
        texts = [
            value for _, value in leaves(arguments) if isinstance(value, str) and IDENTIFIER.fullmatch(value)
        ]
        if not texts:
            return False
        old = str(rng.choice(texts))
        new = other_digits(old, rng)
        text = json.dumps(arguments).replace(json.dumps(old), json.dumps(new), 1)
        arguments.clear()
        arguments.update(json.loads(text))
        return True

    return changed_call(item, rng, change)


def other_digits(text: str, rng: np.random.Generator) -> str:
    """The text with other digits."""
    while (new := re.sub(r"\d", lambda _: str(rng.integers(10)), text)) == text:
        pass
    return new


def replies_after_results(item: Item) -> list[int]:
    """The places of replies with words after a tool's result."""
    first = next((at for at, turn in enumerate(item.turns) if turn.role == "tool"), len(item.turns))
    return [
        at
        for at, turn in enumerate(item.turns)
        if at > first and turn.role == item.role and turn.text.strip()
    ]


def changed_reply(
    item: Item, rng: np.random.Generator, form: re.Pattern[str], new: Callable[[str], str]
) -> Planted | None:
    """The item with a random match in a reply changed."""
    places = [
        (at, found) for at in replies_after_results(item) for found in form.finditer(item.turns[at].text)
    ]
    if not places:
        return None
    at, found = places[int(rng.integers(len(places)))]
    text = item.turns[at].text
    changed = text[: found.start()] + new(found[0]) + text[found.end() :]
    return Planted(with_turn(item, at, replace(item.turns[at], content=changed)), at)


def made_up_identifier(item: Item, rng: np.random.Generator) -> Planted | None:
    """An identifier in a reply gets other digits."""
    return changed_reply(item, rng, IDENTIFIER, lambda old: other_digits(old, rng))


def contradicted_number(item: Item, rng: np.random.Generator) -> Planted | None:
    """A number in a reply becomes another number of as many digits."""

    def new(old: str) -> str:
        low, high = (10 ** (len(old) - 1), 10 ** len(old)) if len(old) > 1 else (2, 10)
        while (value := str(rng.integers(low, high))) == old:
            pass
        return value

    return changed_reply(item, rng, VALUE, new)


def unknown_tool(item: Item, rng: np.random.Generator) -> Planted | None:
    """A call names a tool that does not exist."""
    places = [at for at, turn in enumerate(item.turns) if turn.tool_calls]
    if not places:
        return None
    at = int(rng.choice(places))
    first, *others = item.turns[at].tool_calls
    function = {**first["function"], "name": f"{first['function']['name']}_all"}
    calls = [{**first, "function": function}, *others]
    turn = replace(item.turns[at], extra={**item.turns[at].extra, "tool_calls": calls})
    return Planted(with_turn(item, at, turn), at)


def mentioned_argument(item: Item, rng: np.random.Generator) -> Planted | None:
    """An argument becomes another value that was mentioned before: wrong, but made up by nobody."""
    seen = [str(value) for call in tool_calls(item.turns) for _, value in leaves(call.arguments)]

    def change(arguments: dict[str, Any]) -> bool:
        keys = sorted(key for key, value in arguments.items() if isinstance(value, str))
        if not keys:
            return False
        key = str(rng.choice(keys))
        others = sorted({value for value in seen if value != arguments[key]})
        if not others:
            return False
        arguments[key] = str(rng.choice(others))
        return True

    return changed_call(item, rng, change)


def other_price(item: Item, rng: np.random.Generator) -> Planted | None:
    """A price in a reply becomes another one of as many digits."""

    def new(old: str) -> str:
        made = other_digits(old, rng)
        while made[0] == "0":
            made = other_digits(old, rng)
        return made

    return changed_reply(item, rng, PRICE, new)


def other_date(item: Item, rng: np.random.Generator) -> Planted | None:
    """A date in a reply becomes another one of the same month."""

    def new(old: str) -> str:
        while (day := f"{int(rng.integers(1, 29)):02}") == old[-2:]:
            pass
        return f"{old[:-2]}{day}"

    return changed_reply(item, rng, DATE, new)


def repeated_call(item: Item, rng: np.random.Generator) -> Planted | None:
    """A call and its result are in the log twice."""
    places = [
        at
        for at in range(len(item.turns) - 1)
        if item.turns[at].tool_calls and item.turns[at + 1].role == "tool"
    ]
    if not places:
        return None
    at = int(rng.choice(places))
    turns = (*item.turns[: at + 2], *item.turns[at : at + 2], *item.turns[at + 2 :])
    return Planted(replace(item, turns=turns), at + 2)


def outcomes(items: Sequence[Item], rounds: int = ROUNDS) -> Iterator[Outcome]:
    """Precision and recall of each metric on the faults that it is made for."""
    logged = all(item.meta.get(TOOLS) for item in items)
    invalid = ToolValidity("" if logged else schemas(items))
    repeats, retries = ToolRepeats(), ToolRetries()
    cases: dict[str, tuple[Plant, Sequence[Faults]]] = {
        "wrong type or name of an argument": (wrong_type, [invalid]),
        "made-up identifier in an argument": (made_up_argument, [ToolUnmentioned()]),
        "made-up identifier in a reply": (made_up_identifier, [ToolContradictions()]),
        "contradicted number in a reply": (contradicted_number, [ToolContradictions()]),
        "repeated call": (repeated_call, [repeats, retries]),
        "unknown tool": (unknown_tool, [invalid]),
        "another mentioned value in an argument": (mentioned_argument, [invalid, ToolUnmentioned()]),
        "another price in a reply": (other_price, [ToolContradictions()]),
        "another date in a reply": (other_date, [ToolContradictions()]),
    }
    for kind, (plant, metrics) in cases.items():
        planted = found = false = 0
        for seed in range(rounds):
            rng = np.random.default_rng(seed)
            for item in items:
                clean = {fault for metric in metrics for fault in metric.inspect(item).faults}
                faulty = plant(item, rng)
                if faulty is None:
                    continue
                false += len(clean)
                planted += 1
                named = {fault for metric in metrics for fault in metric.inspect(faulty.item).faults}
                found += any(fault.turn == faulty.turn for fault in named - clean)
        names = "+".join(metric.name for metric in metrics)
        yield Outcome(kind, names, planted, found, false, new=kind in NEW)


def clean_rates(items: Sequence[Item]) -> dict[str, dict[str, int]]:
    """How many faults each metric names in the clean dialogues, of how many calls, arguments or replies."""
    metrics: Sequence[Faults] = [ToolUnmentioned(), ToolContradictions(), ToolRepeats(), ToolRetries()]
    found = {}
    for metric in metrics:
        seen = [metric.inspect(item) for item in items]
        found[metric.name] = {
            "named": sum(len(one.faults) for one in seen),
            "of": sum(one.total for one in seen),
        }
    return found


def read(paths: Sequence[str]) -> list[Item]:
    """The dialogues of native files as items, with the schemas of their tools."""
    return [
        Item(
            one.id,
            one.id,
            one.agent,
            one.turns,
            None,
            one.id,
            one.id,
            meta={**one.meta, TOOLS: one.extra.get(TOOLS) or one.meta.get(TOOLS)},
        )
        for one in read_all(paths, command=None)
    ]


def main() -> None:
    """Print the table, and keep it under a name."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--name", help="keep the result under this name")
    given = parser.parse_args()
    items = read(given.logs)
    found = list(outcomes(items, given.rounds))
    print(f"{'fault':40} {'metric':30} planted  found  false  precision  recall")
    for one in found:
        counts = f"{one.planted:7} {one.found:6} {one.false:6}"
        print(f"{one.kind:40} {one.metric:30} {counts}  {one.precision:9.3f}  {one.recall:6.3f}")
    rates = clean_rates(items)
    for name, rate in rates.items():
        print(f"{name} names {rate['named']} of {rate['of']} in the clean dialogues")
    if given.name:
        kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
        lines = [{**one._asdict(), "precision": one.precision, "recall": one.recall} for one in found]
        kept[given.name] = {"dialogues": len(items), "rounds": given.rounds, "faults": lines, "clean": rates}
        RESULT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
