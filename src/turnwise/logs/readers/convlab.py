"""ConvLab-3's unified format: a JSON list of dialogues, each with `turns` of `speaker` and `utterance`.

A data set is such a file, a folder with `dialogues.json` (also under `data/`), or `data.zip` with it.

There the belief state stands on the user's turn; here it belongs to the reply that acts on it, so it moves to
the system turn that follows. Slots that are empty were not mentioned, and are left out. Acts become
`[domain-intent, slot, value]`; the annotation as published, with its character spans, is kept beside them.
"""

import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import (
    RuleError,
    array,
    each,
    mapping,
    name,
    one_of,
    optional,
    others,
    record,
    required,
    text,
    wrong,
)
from turnwise.logs.dialogue import other_entries
from turnwise.logs.files import Packed
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, build_each, decoded, dialogues, raise_data_error
from turnwise.types import Dialogue, Turn

FILE = "dialogues.json"
RECORD = frozenset({"dialogue_id", "goal", "turns"})
TURN = frozenset({"speaker", "utterance", "state"})

_speaker = one_of(("user", "system"))


def recognises(sample: Sample) -> bool:
    """Whether a folder or zip file has `dialogues.json`, or the first record has `dialogue_id` and turns with
    `utterance`.
    """
    if sample.form in ("folder", "zip"):
        return any(name.rsplit("/", 1)[-1] == FILE for name in sample.names)
    turns = sample.first.get("turns")
    first = turns[0] if isinstance(turns, list) and turns else None
    return "dialogue_id" in sample.first and isinstance(first, dict) and "utterance" in first


def read(path: str, _: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of a file, a zip file, or the first `dialogues.json` (else `data.zip`) in a folder."""
    if os.path.isdir(path):
        files = sorted(os.path.join(place, FILE) for place, _, names in os.walk(path) if FILE in names)
        packed = sorted(
            os.path.join(place, one)
            for place, _, names in os.walk(path)
            for one in names
            if one == "data.zip"
        )
        if files:
            return dialogues(files[0], _dialogue)
        if packed:
            return _unpacked(packed[0])
        raise DataError(Problem(path, None, "", f"has no {FILE} in it"))
    return _unpacked(path) if zipfile.is_zipfile(path) else dialogues(path, _dialogue)


def _unpacked(path: str) -> Iterator[Dialogue]:
    """The dialogues of the first `dialogues.json` in a zip file; none there, or a broken zip file, raises
    `DataError`.
    """
    with Packed(path) as packed:
        names = [name for name in packed.names if name.rsplit("/", 1)[-1] == FILE]
        if not names:
            raise DataError(Problem(path, None, "", f"has no {FILE} in it"))
        try:
            yield from build_each(enumerate(array(decoded(packed.read(names[0])))), _dialogue)
        except RuleError as error:
            raise_data_error(error, f"{path}: {names[0]}")


def _dialogue(value: Any, default_id: str) -> Dialogue:
    """One dialogue, with the agent `unknown`; no turns raises `RuleError`."""
    values = record(value)
    turns = required(values, "turns", each(_turn))
    if not turns:
        raise wrong([], "one turn or more").inside("turns")
    return Dialogue(
        id=optional(values, "dialogue_id", name, default=default_id),
        agent="unknown",
        turns=_moved(turns),
        goal=optional(values, "goal", record, default=None),
        meta=others(values, RECORD),
    )


def _moved(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The turns with each user's state on the reply that follows; a user's turn that no reply follows keeps its
    state.
    """
    states = [turn.state for turn in turns]
    for index, (turn, after) in enumerate(pairwise(turns)):
        if (turn.role, after.role) == ("user", "assistant"):
            states[index], states[index + 1] = None, turn.state
    return tuple(replace(turn, state=state) for turn, state in zip(turns, states, strict=True))


def _turn(value: Any) -> Turn:
    """One turn as it is in the file, with the state still on the user's turn."""
    values = record(value)
    speaker = required(values, "speaker", _speaker)
    state = optional(values, "state", mapping(record), default=None)
    return Turn(
        role="user" if speaker == "user" else "assistant",
        content=required(values, "utterance", text),
        state=None if state is None else _mentioned(state),
        acts=optional(values, "dialogue_acts", _acts, default=None),
        extra=other_entries(values, TURN),
    )


def _mentioned(state: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The state without empty slots, and without domains that have no other."""
    domains = {
        domain: {slot: said for slot, said in slots.items() if said} for domain, slots in state.items()
    }
    return {domain: slots for domain, slots in domains.items() if slots}


def _act(value: Any) -> list[str]:
    """A dialogue act as `[domain-intent, slot, value]`; the value is empty if there is none."""
    values = record(value)
    act = f"{required(values, 'domain', text)}-{required(values, 'intent', text)}"
    return [act, required(values, "slot", text), optional(values, "value", text, default="")]


_kinds = mapping(each(_act))


def _acts(value: Any) -> tuple[Any, ...]:
    """The acts of all kinds (categorical, non-categorical, binary) in one tuple."""
    return tuple(act for acts in _kinds(value).values() for act in acts)
