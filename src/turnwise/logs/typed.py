"""The native format as typed structs: msgspec decodes and checks a line in one pass.

A struct cannot keep unknown keys, and its errors name other rules than ours. So a line that these structs refuse is
read again by `dialogue.from_record`, which keeps unknown keys and explains errors. What both accept is equal.
"""

from itertools import starmap
from operator import attrgetter
from typing import Annotated, Any

import msgspec

from turnwise.types import Dialogue, Direction, Rating, Reply, Role, Turn, item_id

_Name = Annotated[str, msgspec.Meta(min_length=1)]


class _Sample(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: str
    outcome: dict[str, float] | None = None
    relabelled: dict[str, float] | None = None


_Samples = Annotated[list[str | _Sample], msgspec.Meta(min_length=1)]


class _Message(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Role
    content: str  # null needs a tool call beside it, which is an unknown key
    references: tuple[str, ...] = ()
    alternatives: dict[str, str | _Samples] = {}
    outcome: dict[str, float] | None = None
    state: dict[str, Any] | None = None
    acts: tuple[Any, ...] | None = None


class _Rating(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    dimension: _Name
    value: float
    rater: _Name | None = None
    turn: int | None = None
    scale: tuple[float, float] | None = None
    direction: Direction | None = None


class _Record(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    messages: Annotated[list[_Message], msgspec.Meta(min_length=1)]
    id: _Name | None = None
    agent: _Name | None = None
    ratings: list[_Rating] | None = None
    goal: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Record).decode
_fields = attrgetter(*_Message.__struct_fields__)  # in the order of the fields of `Turn`
_alternatives = attrgetter("alternatives")


def read(line: bytes | str, *, default_id: str, before: str = "") -> Dialogue | None:
    """The dialogue of a line, its id with `before` before it; None for a line that `dialogue.from_record` must read."""
    try:
        record = _decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    identity = before + (record.id or default_id)
    ratings: list[Rating] = []
    n_turns = len(record.messages)
    for rating in record.ratings or ():
        turn, value, scale = rating.turn, rating.value, rating.scale
        if turn is None:
            item = identity
        elif 0 <= turn < n_turns:
            item = item_id(identity, turn)
        else:
            return None
        if scale is not None and not (scale[0] < scale[1] and scale[0] <= value <= scale[1]):
            return None
        direction = rating.direction or "higher"
        ratings.append(Rating(item, rating.dimension, value, rating.rater, turn, scale, direction))
    if any(map(_alternatives, record.messages)):
        turns = tuple([_turn(message) for message in record.messages])
    else:
        turns = tuple(starmap(Turn, map(_fields, record.messages)))
    agent = record.agent or "unknown"
    return Dialogue(identity, agent, turns, tuple(ratings), record.goal, record.meta or {})


def _turn(message: _Message) -> Turn:
    role, content, references, alternatives, *others = _fields(message)
    replies = {agent: _replies(samples) for agent, samples in alternatives.items()}
    return Turn(role, content, references, replies, *others)


def _replies(samples: str | list[str | _Sample]) -> tuple[Reply, ...]:
    if isinstance(samples, str):
        return (Reply(samples),)
    return tuple(
        Reply(sample) if isinstance(sample, str) else Reply(sample.content, sample.outcome, sample.relabelled)
        for sample in samples
    )
