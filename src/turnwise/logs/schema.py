"""The types of one line of the native format, from which its JSON Schema is generated.

Keys that are not named here are allowed at all levels except in a sampled reply, and a named key that is null counts as
absent. A schema cannot say everything: that a `turn` is the place of a message, that a value is on its scale, that the
ends of a scale are in order, and that ids differ is checked by `turnwise validate` alone. Everything that the reader
accepts, the schema accepts. The docstrings of the types are the descriptions in the schema.
`python -m tools.make_schemas` writes `src/turnwise/data/dialogue.schema.json`.
"""

from importlib.resources import files
from typing import Annotated, Any, TypeAlias

import msgspec

from turnwise.logs.dialogue import CALLS, TEXT_PARTS
from turnwise.types import Direction, Position, Role, Winner

FILE = "dialogue.schema.json"
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
Place: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]  # index of a message
Scores: TypeAlias = dict[str, float]  # dimension -> score
_EMPTY: list[Any] = [None, False, 0, "", [], {}]  # values of `tool_calls` that are no call


class Part(msgspec.Struct, kw_only=True):
    """A part of a message's content, as in OpenAI's format; a part of text has `text`."""

    type: Name


class Sample(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A reply that an agent would have given, with scores."""

    content: str
    outcome: Scores | None = None
    relabelled: Scores | None = None


class Message(msgspec.Struct, kw_only=True):
    """One turn. `content` may be null only beside `tool_calls` or `function_call`."""

    role: Role
    content: str | list[Part] | None = None
    references: list[str] | None = None
    alternatives: dict[str, str | Annotated[list[str | Sample], msgspec.Meta(min_length=1)]] | None = None
    outcome: Scores | None = None
    state: dict[str, Any] | None = None
    acts: list[Any] | None = None


class Rating(msgspec.Struct, kw_only=True):
    """A person's number for the dialogue, or for the message at `turn`, on one dimension.

    `automatic` is true if a language model or a program gave it instead. `sitting`, a text or a whole number, says on
    which of several occasions the rater gave it.
    """

    dimension: Name
    value: float
    rater: Name | None = None
    turn: Place | None = None
    scale: tuple[float, float] | None = None
    direction: Direction | None = None
    automatic: bool | None = None
    sitting: Any = None


class Preference(msgspec.Struct, kw_only=True):
    """A person's choice between this dialogue and another one, or between the replies at `turn` and `other_turn`.

    `automatic` is true if a language model or a program made it instead.
    """

    other: Name
    winner: Winner
    dimension: Name | None = None
    rater: Name | None = None
    turn: Place | None = None
    other_turn: Place | None = None
    shown: Position | None = None
    automatic: bool | None = None


class Dialogue(msgspec.Struct, kw_only=True):
    """One line of a file in turnwise's native format.

    `task` and `trial`, each a text or a whole number, say of which task it is which trial of the agent; `failure`, a
    text, says what broke down outside the agent.
    """

    messages: Annotated[list[Message], msgspec.Meta(min_length=1)]
    id: Name | None = None
    agent: Name | None = None
    ratings: list[Rating] | None = None
    preferences: list[Preference] | None = None
    goal: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    task: Any = None
    trial: Any = None
    failure: Any = None


def schema() -> dict[str, Any]:
    """The JSON Schema of one line, draft 2020-12."""
    made = msgspec.json.schema(Dialogue, ref_template="#/$defs/{name}")
    parts = made["$defs"]
    parts["Message"]["anyOf"] = [
        {"properties": {"content": {"type": ["string", "array"]}}, "required": ["content"]},
        *({"properties": {name: {"not": {"enum": _EMPTY}}}, "required": [name]} for name in CALLS),
    ]
    parts["Part"] |= {
        "if": {"properties": {"type": {"enum": sorted(TEXT_PARTS)}}},
        "then": {"properties": {"text": {"type": "string"}}, "required": ["text"]},
    }
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "turnwise dialogue"}
    return {**about, **made}


def published() -> str:
    """The text of the schema file in the package."""
    return (files("turnwise.data") / FILE).read_text()


def text() -> str:
    """The generated schema as the text of its file."""
    return msgspec.json.format(msgspec.json.encode(schema(), order="sorted"), indent=1).decode() + "\n"
