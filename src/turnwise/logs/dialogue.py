"""One dialogue: from decoded JSON to `Dialogue`, each rule checked and each error explained, and back.

Unknown keys are kept at record, message and rating level; a known key that is null counts as absent.
"""

from collections.abc import Mapping
from typing import Any, get_args

from turnwise.logs.checks import (
    RuleError,
    array,
    each,
    integer,
    mapping,
    name,
    number,
    one_of,
    optional,
    others,
    record,
    required,
    text,
    wrong,
)
from turnwise.logs.labels import rated
from turnwise.types import (
    AUTOMATIC,
    OTHER_TURN,
    ROLES,
    Dialogue,
    DimensionScores,
    Direction,
    Position,
    Preference,
    Rating,
    Reply,
    Role,
    Turn,
    Winner,
    item_id,
)

RECORD = frozenset({"id", "agent", "messages", "ratings", "preferences", "goal", "meta"})
MESSAGE = frozenset({"role", "content", "references", "alternatives", "outcome", "state", "acts"})
RATING = frozenset({"dimension", "value", "rater", "turn", "scale", "direction"})
PREFERENCE = frozenset({"other", "winner", "dimension", "rater", "turn", "shown"})
REPLY = frozenset({"content", "outcome", "relabelled"})
TEXT_PARTS = frozenset({"text", "input_text", "output_text"})  # kinds of content parts that hold text
EXACT = 2**53  # below it a whole number is written without a point, as people write it
POINTER = "db_pointer"  # in `meta`, by user turn: bits that say how much a task's database finds, and what is booked
JUDGED = "judged"  # a key of a message: false for a message of the judged role that is context and no reply to judge
CALLS = ("tool_calls", "function_call")  # a message beside one of these may have no content
UNNAMED = "unknown"  # the agent of a record that names none

_texts = each(text)
_scores = mapping(number)
_known_role = one_of(ROLES)
_direction = one_of(get_args(Direction))
_winner = one_of(get_args(Winner))
_position = one_of(get_args(Position))


def from_record(value: Any, *, default_id: str, before: str = "") -> Dialogue:
    """The dialogue in a decoded line; a broken rule raises `RuleError`.

    `default_id` is the id of a record without one, and `before` is put in front of either id.
    """
    values = record(value)
    identity = before + optional(values, "id", name, default=default_id)
    turns = required(values, "messages", _turns)

    def rating(value: Any) -> Rating:
        """A checked rating of this dialogue."""
        return _rating(value, identity, len(turns))

    def preference(value: Any) -> Preference:
        """A checked preference between this dialogue and another."""
        return _preference(value, identity, len(turns))

    dialogue = Dialogue(
        id=identity,
        agent=optional(values, "agent", name, default=UNNAMED),
        turns=turns,
        ratings=optional(values, "ratings", each(rating), default=()),
        goal=optional(values, "goal", record, default=None),
        meta=optional(values, "meta", record, default={}),
        extra=others(values, RECORD),
        preferences=optional(values, "preferences", each(preference), default=()),
    )
    return rated(dialogue)


def is_reply(turn: Turn) -> bool:
    """Whether a message is a reply; one that only calls tools is none, and one without words or calls is an
    empty reply. Context that is marked as not judged is none.
    """
    if turn.content is None or turn.extra.get(JUDGED) is False:
        return False
    return bool(turn.content.strip()) or not any(turn.extra.get(call) for call in CALLS)


NAME_ROLE = "; name its role with: turnwise convert --roles NAME=ROLE"


def _role(value: Any) -> Role:
    """The role with this name; the error for another name says which option maps it to a role."""
    try:
        return _known_role(value)
    except RuleError as error:
        if type(value) is str and value:
            error.advice = NAME_ROLE
        raise


def turn_of(value: Any) -> Turn:
    """A message as a `Turn`; content in parts has the texts of its text parts, one a line, as `content`.

    Content may be null only in a message with tool calls.
    """
    values = record(value)
    role = required(values, "role", _role)
    extra = others(values, MESSAGE)
    parts: tuple[dict[str, Any], ...] = ()
    content: str | None
    if type(values.get("content")) is list:
        parts = required(values, "content", _parts)
        content = "\n".join(part["text"] for part in parts if part["type"] in TEXT_PARTS)
    else:
        content = optional(values, "content", text, default=None)
    if content is None and not any(extra.get(call) for call in CALLS):
        found = "is null" if "content" in values else "is missing"
        raise RuleError(f"{found}; expected a string (null only beside tool calls)").inside("content")
    if len(values) == 2 and content is not None and not parts:  # a role and a content, as most messages are
        return Turn(role, content)
    return Turn(
        role=role,
        content=content,
        references=optional(values, "references", _texts, default=()),
        alternatives=optional(values, "alternatives", _alternatives, default={}),
        outcome=optional(values, "outcome", _scores, default=None),
        state=optional(values, "state", record, default=None),
        acts=optional(values, "acts", _acts, default=None),
        extra=extra,
        parts=parts,
    )


def _part(value: Any) -> dict[str, Any]:
    """A content part, unchanged: an object with a type; a part of text must have the text."""
    values = record(value)
    if required(values, "type", name) in TEXT_PARTS:
        required(values, "text", text)
    return values


_parts = each(_part)


def _turns(value: Any) -> tuple[Turn, ...]:
    """The checked messages of a dialogue; an empty list raises `RuleError`."""
    turns = _each_turn(value)
    if not turns:
        raise wrong(value, "one message or more")
    return turns


_each_turn = each(turn_of)


def _acts(value: Any) -> tuple[Any, ...]:
    """A list of dialogue acts as a tuple; the acts themselves are not checked."""
    return tuple(array(value))


def _samples(value: Any) -> tuple[Reply, ...]:
    """The replies of one agent at one turn: a single string, or a list of one sample or more."""
    if type(value) is str:
        return (Reply(value),)
    if type(value) is not list or not value:
        raise wrong(value, "a string or a list of one sample or more")
    return _each_reply(value)


_alternatives = mapping(_samples)


def _reply(value: Any) -> Reply:
    """A sampled reply: a string, or an object with `content` and optional scores; any other key raises `RuleError`."""
    if type(value) is str:
        return Reply(value)
    if type(value) is not dict:
        raise wrong(value, "a string or an object with content")
    for key in others(value, REPLY):
        raise RuleError("is unknown; expected only content, outcome and relabelled").inside(key)
    return Reply(
        content=required(value, "content", text),
        outcome=optional(value, "outcome", _scores, default=None),
        relabelled=optional(value, "relabelled", _scores, default=None),
    )


_each_reply = each(_reply)


def _rating(value: Any, dialogue: str, n_turns: int) -> Rating:
    """A rating of dialogue `dialogue`; raises `RuleError` if its turn is not below `n_turns` or its value is
    off its scale.
    """
    values = record(value)
    optional(values, AUTOMATIC, _flag, default=False)
    turn = optional(values, "turn", integer, default=None)
    if turn is not None and not 0 <= turn < n_turns:
        raise wrong(turn, f"the index of a message, 0 to {n_turns - 1}").inside("turn")
    score = required(values, "value", number)
    scale = optional(values, "scale", _scale, default=None)
    if scale is not None and not scale[0] <= score <= scale[1]:
        raise wrong(values["value"], f"a number on the scale {scale[0]:g} to {scale[1]:g}").inside("value")
    return Rating(
        item=item_id(dialogue, turn),
        dimension=required(values, "dimension", name),
        value=score,
        rater=optional(values, "rater", name, default=None),
        turn=turn,
        scale=scale,
        direction=optional(values, "direction", _direction, default="higher"),
        extra=others(values, RATING),
        declared=values.get("direction") == "higher",
    )


def _preference(value: Any, dialogue: str, n_turns: int) -> Preference:
    """A preference between dialogue `dialogue` and another one; raises `RuleError` if its turn is not below
    `n_turns`, if `other_turn` is no index, or if it names the dialogue itself as the other one.
    """
    values = record(value)
    optional(values, AUTOMATIC, _flag, default=False)
    other = required(values, "other", name)
    if other == dialogue:
        raise wrong(other, "the id of another dialogue").inside("other")
    turn = optional(values, "turn", integer, default=None)
    if turn is not None and not 0 <= turn < n_turns:
        raise wrong(turn, f"the index of a message, 0 to {n_turns - 1}").inside("turn")
    other_turn = optional(values, OTHER_TURN, integer, default=None)
    if other_turn is not None and other_turn < 0:
        raise wrong(other_turn, "the index of a message of the other dialogue").inside(OTHER_TURN)
    return Preference(
        other=other,
        winner=required(values, "winner", _winner),
        dimension=optional(values, "dimension", name, default="overall"),
        rater=optional(values, "rater", name, default=None),
        turn=turn,
        shown=optional(values, "shown", _position, default=None),
        extra=others(values, PREFERENCE),
    )


def _flag(value: Any) -> bool:
    """True or false; raises `RuleError` for anything else."""
    if isinstance(value, bool):
        return value
    raise wrong(value, "true or false")


_numbers = each(number)


def _scale(value: Any) -> tuple[float, float]:
    """The ends of a scale; raises `RuleError` unless there are two numbers and the first is lower."""
    ends = _numbers(value)
    if len(ends) == 2 and ends[0] < ends[1]:
        return ends[0], ends[1]
    raise wrong(value, "two numbers, [low, high], in order")


def other_entries(values: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The entries of another format's message that are not in `known`.

    A key that has a meaning in a native message gets the prefix `source_`.
    """
    return {f"source_{key}" if key in MESSAGE else key: value for key, value in others(values, known).items()}


def as_record(dialogue: Dialogue) -> dict[str, Any]:
    """The dialogue as JSON objects: `from_record` reads them as an equal dialogue; numbers that are not finite in
    ratings or outcomes raise `RuleError`.
    """
    kept: dict[str, Any] = {
        "id": dialogue.id,
        "agent": dialogue.agent,
        "messages": [_message_record(turn) for turn in dialogue.turns],
    }
    if dialogue.ratings:
        kept["ratings"] = [_rating_record(rating) for rating in dialogue.ratings]
    if dialogue.preferences:
        kept["preferences"] = [_preference_record(preference) for preference in dialogue.preferences]
    if dialogue.goal is not None:
        kept["goal"] = dialogue.goal
    if dialogue.meta:
        kept["meta"] = dialogue.meta
    return kept | dict(dialogue.extra)


def _message_record(turn: Turn) -> dict[str, Any]:
    """A turn as a native message, without keys that have no value; content parts are written in place of the text."""
    values: dict[str, Any] = {"role": turn.role, "content": list(turn.parts) or turn.content}
    if turn.references:
        values["references"] = turn.references
    if turn.alternatives:
        values["alternatives"] = {
            agent: _samples_value(replies) for agent, replies in turn.alternatives.items()
        }
    kept = {"outcome": _finite(turn.outcome), "state": turn.state, "acts": turn.acts}
    return values | {key: value for key, value in kept.items() if value is not None} | dict(turn.extra)


def _samples_value(replies: tuple[Reply, ...]) -> Any:
    """One agent's alternatives as JSON: a plain string if there is one sample without scores, else a list."""
    samples = [_reply_value(reply) for reply in replies]
    return samples[0] if len(samples) == 1 and isinstance(samples[0], str) else samples


def _reply_value(reply: Reply) -> Any:
    """A reply as a plain string, or as an object if it has scores."""
    scores = {"outcome": _finite(reply.outcome), "relabelled": _finite(reply.relabelled)}
    kept = {key: value for key, value in scores.items() if value is not None}
    return {"content": reply.content, **kept} if kept else reply.content


def _finite(scores: DimensionScores | None) -> DimensionScores | None:
    """A copy of the scores, or None without scores; a score that is not finite raises `RuleError`, as JSON has
    no such number.
    """
    return None if scores is None else _scores(dict(scores))


def _rating_record(rating: Rating) -> dict[str, Any]:
    """A rating as a native record, without keys that have no value and a direction that the log does not give."""
    kept = {
        "rater": rating.rater,
        "turn": rating.turn,
        "scale": None if rating.scale is None else [_plain(end) for end in rating.scale],
    }
    values: dict[str, Any] = {"dimension": rating.dimension, "value": _plain(rating.value)}
    values |= {key: value for key, value in kept.items() if value is not None}
    if rating.declared or rating.direction != "higher":
        values["direction"] = rating.direction
    return values | dict(rating.extra)


def _preference_record(preference: Preference) -> dict[str, Any]:
    """A preference as a native record, without keys that have no value."""
    kept = {
        name: getattr(preference, name) for name in ("other", "winner", "dimension", "rater", "turn", "shown")
    }
    return {key: value for key, value in kept.items() if value is not None} | dict(preference.extra)


def _plain(value: float) -> float:
    """The number as an int if it is whole and below 2**53 in size, so that it is written without a point; a
    number that is not finite raises `RuleError`.
    """
    score = number(value)
    return int(score) if score.is_integer() and abs(score) < EXACT else score
