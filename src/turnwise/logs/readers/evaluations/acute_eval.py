"""Preferences of ParlAI's ACUTE-Eval: a CSV file with a row for each choice between two whole dialogues.

The compared dialogues stand in `pairs_to_eval` as a Python literal. Each becomes a record of its own, once, and each
choice a preference on the one that was shown first. The question is the dimension, the worker the rater. Rows of the
onboarding task, whose right reply is known, are counted and left out.
"""

import ast
import csv
import io
import warnings
from collections.abc import Iterator
from typing import Any

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import RuleError, array, each, name, optional, others, record, required, text, wrong
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.files import content
from turnwise.logs.readers.messages import present
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, raise_data_error
from turnwise.types import Dialogue

# Keys that are kept elsewhere in a dialogue.
ROW = frozenset({"winner", "loser", "eval_choice_0", "eval_choice_1", "pairs_to_eval", "question",
                 "worker_name", "reason", "is_onboarding"})  # fmt: skip
PAIR = frozenset({"speakers_to_eval", "dialogue_ids"})
DIALOGUE = frozenset({"context", "dialogue"})
ACT = frozenset({"id", "text"})
COLUMNS = ("winner", "loser", "eval_choice_0", "eval_choice_1", "pairs_to_eval", "question")


def recognises(sample: Sample) -> bool:
    """Whether a table has all columns of ACUTE-Eval."""
    return sample.form == "table" and set(COLUMNS) <= set(sample.header)


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The compared dialogues, each once, with their preferences; a missing column raises `DataError`."""
    options = options or Options()
    decoded = io.StringIO(content(path).decode("utf-8-sig", errors="replace"), newline="")
    rows = csv.DictReader(decoded, restkey="more_cells")
    if missing := [column for column in COLUMNS if column not in (rows.fieldnames or ())]:
        raise DataError(
            Problem(path, None, "", f"has no column `{missing[0]}`; expected {', '.join(COLUMNS)}")
        )
    records: dict[str, dict[str, Any]] = {}
    for row in rows:
        if (row.get("is_onboarding") or "").strip().lower() == "true":
            options.dropped["preferences of the onboarding task"] += 1
            continue
        try:
            _add(records, row)
        except RuleError as error:
            raise_data_error(error, path, rows.line_num)
    for identity, values in records.items():
        try:
            yield from_record(values, default_id=identity)
        except RuleError as error:
            raise_data_error(error, f"{path}: dialogue {identity}")


def _add(records: dict[str, dict[str, Any]], row: dict[str, str]) -> None:
    """Add the two dialogues of a row to `records` if they are not there, and the preference to the one that was
    shown first.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape such as `\\[` is kept as it is
            pair = record(ast.literal_eval(row["pairs_to_eval"]))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise wrong(row["pairs_to_eval"], "a Python literal of two dialogues").inside(
            "pairs_to_eval"
        ) from None
    agents = required(pair, "speakers_to_eval", each(name))
    numbers = pair.get("dialogue_ids") or list(range(len(agents)))
    if len(agents) != 2 or not isinstance(numbers, list) or len(numbers) != 2:
        raise wrong(agents, "two speakers with two dialogues").inside("speakers_to_eval")
    ids = {agent: f"{agent}-{number}" for agent, number in zip(agents, numbers, strict=True)}
    for agent, identity in ids.items():
        if identity not in records:
            records[identity] = _record(required(pair, agent, record), agent, identity)
    first, second = row["eval_choice_0"], row["eval_choice_1"]
    if {first, second} != set(agents) or row["winner"] not in ids:
        raise wrong(row["winner"], f"one of {', '.join(agents)}").inside("winner")
    if row["loser"] not in ids or row["loser"] == row["winner"]:
        raise wrong(row["loser"], f"the one of {', '.join(agents)} that did not win").inside("loser")
    preference = {
        "other": ids[second],
        "winner": "this" if row["winner"] == first else "other",
        "dimension": row["question"] or "overall",
        "rater": row.get("worker_name") or row.get("worker") or None,
        "shown": "first",
        "reason": row.get("reason") or None,
        "row": _other_cells(row, pair) or None,
        "pair": others(pair, PAIR | ids.keys()) or None,
    }
    records[ids[first]].setdefault("preferences", []).append(present(preference))


def _other_cells(row: dict[str, str], pair: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row that are kept nowhere else, without empty ones.

    `winner_dialogue` and `loser_dialogue` are left out if they repeat a dialogue of the pair.
    """
    repeated = {
        f"{side}_dialogue" for side in ("winner", "loser")
        if row.get(f"{side}_dialogue") == repr(pair.get(row[side]))
    }  # fmt: skip
    return {key: cell for key, cell in others(row, ROW | repeated).items() if cell}


def _record(values: dict[str, Any], agent: str, identity: str) -> dict[str, Any]:
    """One compared dialogue as a native record, with its context as system messages.

    More than one speaker besides the agent raises `RuleError`.
    """
    context = [{"role": "system", "content": str(one.get("text", "")) if isinstance(one, dict) else str(one)}
               for one in optional(values, "context", array, default=[])]  # fmt: skip
    acts = required(values, "dialogue", each(record))
    partners = {required(act, "id", name) for act in acts} - {agent}
    if len(partners) > 1:  # one of them may be the agent under another name
        raise wrong(sorted(partners), f"one speaker besides {agent}").inside("dialogue")
    said = [_message(act, agent) for act in acts]
    more = others(values, DIALOGUE)
    return {"id": identity, "agent": agent, "messages": [*context, *said]} | ({"meta": more} if more else {})


def _message(act: dict[str, Any], agent: str) -> dict[str, Any]:
    """An act as a native message: the compared agent's as the assistant, all others as the user."""
    role = "assistant" if required(act, "id", name) == agent else "user"
    return {"role": role, "content": required(act, "text", text), **other_entries(act, ACT)}
