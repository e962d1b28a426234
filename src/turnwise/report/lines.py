"""The files beside results.json that a report reads: scores of single items, ratings, transcripts and curves.

A line may have more keys, which are passed over.
"""

from typing import Any, TypeAlias

import msgspec

from turnwise.records import Number


class Explanation(msgspec.Struct):
    """What a metric says of one of its scores; a judge, or a plugin with values of its own."""

    reason: Any = None
    why: Any = None
    criteria: Any = None  # criterion -> verdict on it
    score: Any = None
    prompt: Any = None  # digest of what a judge was sent


class ItemLine(msgspec.Struct):
    """A line of items.jsonl or dialogues.jsonl: the scores of one item."""

    agent: str
    group: str = ""
    scores: dict[str, Number] = {}
    id: str = ""
    dialogue: str = ""
    turn: int | None = None
    explanations: dict[str, Explanation] | None = None  # metric -> what it says


class TranscriptLine(msgspec.Struct):
    """A line of transcripts.jsonl: the texts of a dialogue."""

    id: str
    agent: str
    turns: list[str]


class PeopleLine(msgspec.Struct):
    """A line of people.jsonl: the mean rating of an item on one dimension."""

    id: str
    dimension: str
    level: str
    people: float
    group: str | None = None


class ExampleLine(msgspec.Struct):
    """A line of examples.jsonl: a reply that a metric and people rank differently."""

    metric: str
    dimension: str
    id: str
    agent: str
    context: str
    reply: str
    score: Number
    people: Number
    group: str | None = None


class TurnLine(msgspec.Struct):
    """A line of a critic's `.turns.jsonl`: what the agents say at one logged turn, with the values of it."""

    dialogue: str
    turn: int
    estimator: str
    user: str
    replies: dict[str, str]
    q: dict[str, Number]


class Projection(msgspec.Struct):
    """Logged pairs of context and reply and a target's, on two principal components."""

    logged: list[tuple[float, float]]
    target: list[tuple[float, float]]
    variance: list[float]


class Projections(msgspec.Struct):
    """The content of pairs.json."""

    model: str
    seed: int
    targets: dict[str, Projection]


Curves: TypeAlias = dict[str, dict[str, list[Number]]]  # of `.curves.json`: target -> quantity -> values
