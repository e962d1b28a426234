"""The files beside results.json that a report reads: scores of single items, ratings, transcripts and curves.

A line may have more keys, which are passed over.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from turnwise.records import Number


class Explanation(msgspec.Struct):
    """What a metric says of one of its scores; a judge, or a plugin with values of its own."""

    reason: Any = None
    why: Any = None
    criteria: Any = None  # criterion -> verdict on it
    score: Any = None
    prompt: Any = None  # digest of what a judge was sent


class Unscored(msgspec.Struct):
    """Why a metric has no score of an item."""

    status: str
    reason: str


class ItemLine(msgspec.Struct, kw_only=True):
    """A line of items.jsonl: what each metric has for one item."""

    id: str = ""
    dialogue: str = ""
    turn: int | None = None
    agent: str
    group: str = ""
    cluster: str = ""
    pair: str = ""
    task: str | msgspec.UnsetType = msgspec.UNSET
    trial: str | msgspec.UnsetType = msgspec.UNSET
    failure: str | msgspec.UnsetType = msgspec.UNSET
    weight: float = 1.0
    scores: dict[str, Number] = msgspec.field(default_factory=dict)  # metric -> its score
    # Metric -> interval, which may be a plugin's own.
    intervals: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    # Metric -> what it says, which has keys of its own.
    explanations: dict[str, dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    unscored: dict[str, Unscored] | msgspec.UnsetType = msgspec.UNSET

    def explained(self) -> Iterator[tuple[str, Explanation]]:
        """Yield each metric that explains its score, and what it says."""
        for metric, said in (self.explanations or {}).items():
            yield metric, msgspec.convert(said, Explanation)

    def add_interval(self, metric: str, interval: Any) -> None:
        """Add the interval of a metric's score."""
        self.intervals = {**(self.intervals or {}), metric: interval}

    def add_explanation(self, metric: str, said: Mapping[str, Any]) -> None:
        """Add what a metric says, with its interval if it has one."""
        self.explanations = {**(self.explanations or {}), metric: dict(said)}
        if said.get("interval") is not None:
            self.add_interval(metric, said["interval"])

    def add_failure(self, metric: str, status: str, reason: str) -> None:
        """Add why a metric has no score."""
        self.scores[metric] = None
        self.unscored = {**(self.unscored or {}), metric: Unscored(status, reason)}


class DialogueLine(msgspec.Struct, kw_only=True):
    """A line of dialogues.jsonl: the scores of one agent's part of a dialogue."""

    dialogue: str
    agent: str
    group: str = ""
    unit: Literal["dialogue", "reply"] = "reply"
    n_items: int = 0
    scores: dict[str, Number] = msgspec.field(default_factory=dict)


class TranscriptLine(msgspec.Struct, kw_only=True):
    """A line of transcripts.jsonl: the texts of a dialogue."""

    id: str
    agent: str
    roles: list[str] = []
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


class Steps(msgspec.Struct):
    """At which iterations the quantities of a target in `.curves.json` were read."""

    iteration: list[Number]


Curves: TypeAlias = dict[str, dict[str, list[Number]]]  # of `.curves.json`: target -> quantity -> values
