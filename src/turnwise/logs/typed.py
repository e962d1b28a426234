"""The native format as typed structs: msgspec decodes and checks a line in one pass.

Most lines are read straight into `Turn`s. Lines with alternatives, or with null where a list is expected, go through
structs of their own. A struct cannot keep unknown keys, and its errors name other rules than ours: a line that these
structs refuse is read again by `dialogue.from_record`, which keeps unknown keys and explains errors. The dialogues
are equal whichever way a line is read.
"""

from operator import attrgetter
from typing import Annotated, Any

import msgspec

from turnwise.types import Dialogue, Direction, Rating, Reply, Role, Turn, item_id

_Name = Annotated[str, msgspec.Meta(min_length=1)]


class _Sample(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A sampled reply with scores; a reply without scores may be a plain string."""

    content: str
    outcome: dict[str, float] | None = None
    relabelled: dict[str, float] | None = None


_Samples = Annotated[list[str | _Sample], msgspec.Meta(min_length=1)]


class _Message(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A message of any native kind without unknown keys."""

    role: Role
    content: str  # null needs a tool call beside it, which is an unknown key
    references: tuple[str, ...] | None = None
    alternatives: dict[str, str | _Samples] | None = None
    outcome: dict[str, float] | None = None
    state: dict[str, Any] | None = None
    acts: tuple[Any, ...] | None = None


class _Rating(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A rating without unknown keys; its turn and scale are checked in `read`."""

    dimension: _Name
    value: float
    rater: _Name | None = None
    turn: int | None = None
    scale: tuple[float, float] | None = None
    direction: Direction | None = None


class _Record(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """The keys of a record beside its messages."""

    id: _Name | None = None
    agent: _Name | None = None
    ratings: list[_Rating] | None = None
    goal: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None


class _Plain(_Record, forbid_unknown_fields=True, kw_only=True, gc=False):
    """A record whose messages are decoded straight into `Turn`s."""

    messages: Annotated[tuple[Turn, ...], msgspec.Meta(min_length=1)]


class _Rich(_Record, forbid_unknown_fields=True, kw_only=True, gc=False):
    """A record whose messages have alternatives, or null for a list."""

    messages: Annotated[list[_Message], msgspec.Meta(min_length=1)]


_decode_plain = msgspec.json.Decoder(_Plain).decode
_decode_rich = msgspec.json.Decoder(_Rich).decode
_content = attrgetter("content")


def read(line: bytes | str, line_number: int, *, prefix: str = "", apart: bool = False) -> Dialogue | None:
    """The dialogue of a line; None for a line that `dialogue.from_record` must read: one with unknown keys,
    without content in a message, or with an error. Ids are as in `native.parse`.
    """
    record: _Plain | _Rich
    try:
        record = _decode_plain(line)
        turns = record.messages
        if None in map(_content, turns):
            return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        try:
            record = _decode_rich(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        turns = tuple([_turn(message) for message in record.messages])
    identity = record.id or str(line_number)
    if prefix and (apart or record.id is None):
        identity = prefix + identity
    agent = record.agent or "unknown"
    if not record.ratings:
        return Dialogue(identity, agent, turns, (), record.goal, record.meta or {})
    ratings: list[Rating] = []
    for rating in record.ratings:
        turn, value, scale = rating.turn, rating.value, rating.scale
        if turn is not None and not 0 <= turn < len(turns):
            return None
        if scale is not None and not (scale[0] < scale[1] and scale[0] <= value <= scale[1]):
            return None
        item = identity if turn is None else item_id(identity, turn)
        direction = rating.direction or "higher"
        ratings.append(Rating(item, rating.dimension, value, rating.rater, turn, scale, direction))
    return Dialogue(identity, agent, turns, tuple(ratings), record.goal, record.meta or {})


def _turn(message: _Message) -> Turn:
    """The `Turn` of a decoded message."""
    alternatives = message.alternatives or {}
    return Turn(
        message.role,
        message.content,
        message.references or (),
        {agent: _replies(samples) for agent, samples in alternatives.items()},
        message.outcome,
        message.state,
        message.acts,
    )


def _replies(samples: str | list[str | _Sample]) -> tuple[Reply, ...]:
    """The samples of one agent; a plain string is one sample."""
    if isinstance(samples, str):
        return (Reply(samples),)
    return tuple(
        Reply(sample) if isinstance(sample, str) else Reply(sample.content, sample.outcome, sample.relabelled)
        for sample in samples
    )
