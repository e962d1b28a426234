"""Rated replies as their papers published them: FED (`fed_data.json`) and USR (`pc_usr_data.json`, `tc_usr_data.json`).

FED (Mehri and Eskenazi 2020b): `context` is a text of `User:` and `System:` lines, `response` the rated reply (absent
where the whole dialogue was rated), `annotations` maps a dimension to the raters' numbers; other values (`N/A (not
applicable)`) are counted. USR (Mehri and Eskenazi 2020a): `context` has a turn a line, and each of `responses` names
its `model` and has a list of numbers a dimension; `fact` is the knowledge or persona that was shown. USR does not say
who speaks in a context: roles alternate backwards from the rated reply, which alone is judged, and a note says so.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.logs.checks import each, optional, others, record, required, text, wrong
from turnwise.logs.dialogue import JUDGED, from_record
from turnwise.logs.readers.messages import ALTERNATING, rating, text_at
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue

LINE = re.compile(r"^(User|System): ?", re.MULTILINE)
DIMENSIONS = {"Understandable": (0, 1), "Natural": (1, 3), "Maintains Context": (1, 3), "Engaging": (1, 3),
              "Uses Knowledge": (0, 1), "Overall": (1, 5)}  # fmt: skip  # USR's scales, Table 1 of its paper
# Keys that are kept elsewhere in a dialogue.
FED = frozenset({"context", "response", "annotations", "system"})
USR = frozenset({"context", "fact", "responses"})
ANSWER = frozenset({"response", "model", *DIMENSIONS})
HUMAN = "Original Ground Truth"  # USR's name for what a person said


def recognises(sample: Sample) -> bool:
    """Whether the first record has the keys of FED or of USR."""
    values = sample.first
    fed = (
        isinstance(values.get("annotations"), dict)
        and "system" in values
        and isinstance(values.get("context"), str)
    )
    return fed or (
        {"context", "responses", "fact"} <= values.keys() and isinstance(values["responses"], list)
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record of FED, and one a rated reply of USR."""
    options = options or Options()
    for value, place, located in records(path):
        with located():
            values = record(value)
            build = _usr if "responses" in values else _fed
            for native in build(values, place, options):
                yield from_record(native, default_id=str(native["id"]))


def _fed(values: dict[str, Any], place: str, options: Options) -> Iterator[dict[str, Any]]:
    """The one native record of a FED record; its ratings are of the last turn if there is a `response`, else of
    the dialogue.
    """
    said = required(values, "context", text)
    if text_at(values, "response"):
        said = f"{said}\n{values['response']}"
    pieces = LINE.split(said)
    if len(pieces) < 3 or pieces[0].strip():
        raise wrong(said, "lines that begin with `User:` or `System:`").inside("context")
    spoken = zip(pieces[1::2], pieces[2::2], strict=True)
    messages = [
        {"role": "user" if who == "User" else "assistant", "content": one.strip()} for who, one in spoken
    ]
    turn = len(messages) - 1 if text_at(values, "response") else None
    marks = _marks(optional(values, "annotations", record, default={}), options, turn=turn)
    system = text_at(values, "system")
    agent = "human" if system == "Human" else system
    yield {"id": place, "agent": agent, "messages": messages, "ratings": list(marks),
           "meta": others(values, FED)}  # fmt: skip


def _usr(values: dict[str, Any], place: str, options: Options) -> Iterator[dict[str, Any]]:
    """One native record a rated reply, each after the same context; roles alternate so that the reply is the
    agent's.
    """
    context = [line for line in required(values, "context", text).split("\n") if line.strip()]
    before = [
        {"role": "user", "content": line}
        if (len(context) - place_) % 2
        else {"role": "assistant", "content": line, JUDGED: False}
        for place_, line in enumerate(context)
    ]
    if len(context) > 1 and ALTERNATING not in options.notes:
        options.notes.append(ALTERNATING)
    fact = text_at(values, "fact")
    facts = [{"role": "system", "content": fact}] if fact else []
    for number, answer in enumerate(required(values, "responses", each(record)), 1):
        messages = [
            *facts,
            *before,
            {"role": "assistant", "content": required(answer, "response", text).strip()},
        ]
        model = text_at(answer, "model")
        yield {
            "id": f"{place}-{number}",
            "agent": "human" if model == HUMAN else model,
            "messages": messages,
            "ratings": list(_marks(answer, options, turn=len(messages) - 1, scales=DIMENSIONS)),
            "meta": {"context": place, **others(values, USR), **others(answer, ANSWER)},
        }


def _marks(
    found: Mapping[str, Any],
    options: Options,
    *,
    turn: int | None,
    scales: Mapping[str, tuple[float, float]] | None = None,
) -> Iterator[dict[str, Any]]:
    """One rating a rater and dimension, in native form; `turn` None rates the dialogue.

    Dimensions that are not in `scales` are left out. Values that are no number, and dimensions that are no list, are
    counted as dropped.
    """
    for dimension, values in found.items():
        if scales is not None and dimension not in scales:
            continue
        if not isinstance(values, list):
            options.dropped["annotations that are no number"] += 1
            continue
        for rater, value in enumerate(values, 1):
            if isinstance(value, bool) or not isinstance(value, int | float):
                options.dropped["annotations that are no number"] += 1
                continue
            yield rating(dimension, value, rater=f"r{rater}", scale=(scales or {}).get(dimension), turn=turn)
