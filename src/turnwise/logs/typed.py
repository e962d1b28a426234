"""The native format as typed structs: msgspec decodes and checks a line in one pass.

A message is decoded into a struct of the reader, and its fields are passed to `Turn` in their order. A struct cannot
keep unknown keys, and its errors name other rules than ours: a line that these structs refuse is read again by
`dialogue.from_record`, which keeps unknown keys and explains errors. So are lines with content that is null or in
parts, with null for a list, and with preferences. The dialogues are equal whichever way a line is read.
"""

from itertools import starmap
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec.structs import astuple

from turnwise.logs.dialogue import UNNAMED
from turnwise.types import LARGEST, Dialogue, Direction, Rating, Reply, Role, Turn, item_id

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Number = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class _Sample(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A sampled reply with scores; a reply without scores may be a plain string."""

    content: str
    outcome: dict[str, _Number] | None = None
    relabelled: dict[str, _Number] | None = None


_Samples = Annotated[list[str | _Sample], msgspec.Meta(min_length=1)]


class _Message(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A message without unknown keys. Its fields are the first fields of `Turn`, in the same order."""

    role: Role
    content: str
    references: tuple[str, ...] = ()
    alternatives: dict[str, str | _Samples] = {}
    outcome: dict[str, _Number] | None = None
    state: dict[str, Any] | None = None
    acts: tuple[Any, ...] | None = None


class _Rating(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A rating without unknown keys; its turn and scale are checked in `read`."""

    dimension: _Name
    value: _Number
    rater: _Name | None = None
    turn: int | None = None
    scale: tuple[_Number, _Number] | None = None
    direction: Direction | None = None


class _Record(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """A record without unknown keys."""

    messages: Annotated[list[_Message], msgspec.Meta(min_length=1)]
    id: _Name | None = None
    agent: _Name | None = None
    ratings: list[_Rating] | None = None
    goal: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Record).decode
_alternatives = attrgetter("alternatives")


def read(line: bytes | str, line_number: int, *, prefix: str = "", apart: bool = False) -> Dialogue | None:
    """The dialogue of a line; None for a line that `dialogue.from_record` must read: one with unknown keys,
    without a text as content of a message, with preferences, or with an error. Ids are as in `native.parse`.
    """
    try:
        record = _decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    messages = record.messages
    if any(map(_alternatives, messages)):
        turns = tuple([_with_alternatives(message) for message in messages])
    else:
        turns = tuple(starmap(Turn, map(astuple, messages)))
    identity = record.id or str(line_number)
    if prefix and (apart or record.id is None):
        identity = prefix + identity
    agent = record.agent or UNNAMED
    if not record.ratings:
        return Dialogue(identity, agent, turns, (), record.goal, record.meta or {})
    ratings: list[Rating] = []
    items: dict[int | None, str] = {None: identity}  # id of the rated item, by its turn
    for dimension, value, rater, turn, scale, direction in map(astuple, record.ratings):
        if turn not in items:
            if not 0 <= turn < len(turns):
                return None
            items[turn] = item_id(identity, turn)
        if scale is not None and not (scale[0] < scale[1] and scale[0] <= value <= scale[1]):
            return None
        declared = direction == "higher"
        end: Direction = direction or "higher"
        ratings.append(Rating(items[turn], dimension, value, rater, turn, scale, end, declared=declared))
    return Dialogue(identity, agent, turns, tuple(ratings), record.goal, record.meta or {})


def _with_alternatives(message: _Message) -> Turn:
    """The `Turn` of a message with or without alternatives; the samples in its dict are replaced by replies."""
    fields = astuple(message)
    alternatives: dict[str, Any] = message.alternatives
    for agent, samples in alternatives.items():
        alternatives[agent] = (Reply(samples),) if type(samples) is str else _replies(samples)
    return Turn(*fields)


def _replies(samples: list[str | _Sample]) -> tuple[Reply, ...]:
    """The samples of one agent as replies."""
    return tuple(
        Reply(sample) if isinstance(sample, str) else Reply(sample.content, sample.outcome, sample.relabelled)
        for sample in samples
    )
