"""The types of `results.json`, from which its JSON Schema is generated.

The types have the keys that readers can rely on; a record may have more, and later versions may add some. Removing a
key or changing its meaning raises `SCHEMA_VERSION`. Unknown numbers are null. The docstrings of the types are the
descriptions in the schema. `python -m turnwise.report.schema` writes `src/turnwise/data/results.schema.json`.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from turnwise.report.results import SCHEMA_VERSION
from turnwise.types import Direction, Level, MetaLevel, Status

FILE = "results.schema.json"
Number: TypeAlias = float | None
Interval: TypeAlias = tuple[Number, Number] | None


class Result(msgspec.Struct, kw_only=True):
    """One finding: what was found, how sure it is, and what was left out."""

    estimate: Number
    interval: Interval
    p: Number
    n_items: int
    n_clusters: int
    unscored: dict[str, int]
    status: Status
    reason: str | None
    method: str
    signature: str


class Score(Result, kw_only=True):
    """A metric of an agent; without an agent where the metric could not be had at all."""

    metric: str
    agent: str | None = None
    group: str | None = None
    level: Level | None = None
    better: Direction | None = None  # which end of the number is good; null for a feature such as length
    explained: int = 0  # items about whose score the metric says more in items.jsonl
    spent: dict[str, float] = {}  # by a judge: requests, tokens, seconds, cost
    panel_agreement: Number = None  # Krippendorff's alpha of the judges of a panel
    panel_means: dict[str, Number] = {}  # mean score of each judge of a panel
    sample_sd: Number = None  # standard deviation of a judge's samples of one item, pooled over items
    item_margin: Number = None  # half the 95 % interval of an item's mean over its samples


class Agreement(Result, kw_only=True):
    """A metric against people; without a metric the raters among themselves."""

    metric: str | None = None
    dimension: str | None = None
    group: str | None = None
    level: MetaLevel | None = None
    statistic: str | None = None
    better: Direction | None = None  # of the metric; the statistic is signed, so that more is always better
    undefined: bool = False  # the metric has no number at this level by its nature
    within_agents: Number = None  # the statistic inside agents, averaged over them
    within_agents_interval: Interval = None
    within_contexts: Number = None  # the statistic among replies to the same context
    within_contexts_interval: Interval = None
    one_rater_within_agents: Number = None
    one_rater: Number = None  # the statistic of one rater against the others
    ceiling: Number = None  # the correlation that a metric without error would have with these ratings


class Difference(Result, kw_only=True):
    """Agent A less agent B by one metric."""

    metric: str
    agent_a: str | None = None
    agent_b: str | None = None
    group: str | None = None
    better: Direction | None = None
    p_adjusted: Number = None
    effect_size: Number = None
    verdict: str | None = None
    position_bias: Number = (
        None  # of a judge of pairs: share of its choices for what was shown first, less a half
    )
    position_bias_interval: Interval = None
    consistent: Number = None  # share of pairs on which both orders agree
    unpaired_a: int = 0  # items of A without a partner, left out
    unpaired_b: int = 0
    merged_a: int = 0  # items of A that count as one with another item of the same pair
    merged_b: int = 0
    thinned_a: int = 0  # items of A left out so that both agents have about equally many
    thinned_b: int = 0
    scored_a: int | None = None  # items of A with a score, if some have none
    scored_b: int | None = None
    unscored_a: int | None = None
    unscored_b: int | None = None


class Change(Result, kw_only=True):
    """A metric of the new run less the same of the old run."""

    metric: str
    agent: str | None = None
    group: str | None = None
    better: Direction | None = None
    old: Number = None
    new: Number = None
    p_adjusted: Number = None
    effect_size: Number = None
    rose: int | None = None  # items with a higher score in the new run
    fell: int | None = None
    only_old: int = 0  # items that only the old run has
    only_new: int = 0
    verdict: str | None = None


class Calibrated(Result, kw_only=True):
    """The mean rating of an agent, or of one agent minus another, from a metric's scores and some ratings."""

    metric: str
    rating: str | None = None
    agent: str | None = None
    minus: str | None = None  # the agent that is subtracted; null for a mean
    group: str | None = None
    level: Level | None = None
    p_adjusted: Number = None
    labels_alone: Number = None  # the mean of the ratings alone
    labels_alone_interval: Interval = None
    width_ratio: Number = None  # width of the interval over that of the ratings alone
    n_labels: int = 0
    diagnostics: dict[str, Any] = {}


class Planned(Result, kw_only=True):
    """The dialogues of each agent that one design needs, or the smallest difference that it shows."""

    metric: str
    design: Literal["paired", "unpaired", "preferences"] | None = None
    scores: str | None = None  # metric that is used beside ratings
    turns: int | None = None
    raters: int | None = None
    people: int | None = None  # different raters of preferences; null: another one for each preference
    difference: Number = None
    dialogues: int | None = None
    ratings: int | None = None  # of all agents
    cost: Number = None


class Strategy(Result, kw_only=True):
    """What one way to game a metric came to."""

    metric: str
    strategy: str | None = None
    kind: str | None = None
    description: str | None = None
    better: Direction | None = None
    example: str | None = None
    score: Number = None
    human_score: Number = None
    gain: Number = None
    beats_human: Number = None
    significant: bool | None = None


class OffPolicy(Result, kw_only=True):
    """The mean rating that people would give a target."""

    target: str
    rating: str
    estimator: str
    refused: bool
    raw: Number = None
    logged: Number = None
    truth: Number = None
    diagnostics: dict[str, Any]


class Check(msgspec.Struct, kw_only=True):
    """How an estimator's answers for agents left out compare with what is known."""

    rating: str
    estimator: str
    pearson: Number
    spearman: Number
    mae: Number
    coverage: Number
    half_width: Number
    n_agents: int
    refused: int


class Verdict(msgspec.Struct, kw_only=True):
    """Whether a metric can be gamed, and by what."""

    gameable: bool
    worst: str | None
    description: str | None
    gain: Number
    frauds: int
    judged: int


class Input(msgspec.Struct):
    path: str
    sha256: str


class Origin(msgspec.Struct, kw_only=True):
    """Where the numbers come from: enough to have them again."""

    turnwise: str
    commit: str | None
    python: str
    packages: dict[str, str | None]
    inputs: list[Input]
    settings: dict[str, Any]


class Document(msgspec.Struct, kw_only=True, tag_field="command"):
    schema_version: Literal[1]
    origin: Origin


class UnseenParts(msgspec.Struct, kw_only=True):
    """Content parts of the data that text metrics do not see: images, audio, files."""

    replies: int  # with such a part in themselves or in their contexts
    n_replies: int  # all replies that have text
    parts: dict[str, int]  # by kind


class ScoreDocument(Document, kw_only=True, tag="score"):
    results: list[Score]
    unseen_parts: UnseenParts | None = None
    notes: list[str] = []  # what was left out or pooled
    automatic_raters: dict[str, list[str]] = {}
    forecast: list[dict[str, Any]] = []  # of a dry run: what judges would be asked, and what it would cost
    prompts: list[dict[str, Any]] = []  # of --show-prompt: what judges are sent for one item


class MetaDocument(Document, kw_only=True, tag="meta"):
    results: list[Agreement]
    raters: list[dict[str, Any]]
    differences: list[dict[str, Any]] = []
    unseen_parts: UnseenParts | None = None
    notes: list[str] = []
    automatic_raters: dict[
        str, list[str]
    ] = {}  # rating:DIMENSION or preference:DIMENSION -> raters, none a person


class CompareDocument(Document, kw_only=True, tag="compare"):
    results: list[Difference]
    unseen_parts: UnseenParts | None = None
    notes: list[str] = []
    preferences: list[dict[str, Any]] = []
    automatic_raters: dict[str, list[str]] = {}


class DiffDocument(Document, kw_only=True, tag="diff"):
    results: list[Change]
    metrics_in_one_run: dict[str, list[str]] = {}
    texts_missing: dict[str, str] = {}


class CalibrateDocument(Document, kw_only=True, tag="calibrate"):
    results: list[Calibrated]
    notes: list[str] = []
    automatic_raters: dict[str, list[str]] = {}
    plan: dict[str, Any] | None = None  # what --plan drew


class PowerDocument(Document, kw_only=True, tag="power"):
    results: list[Planned]
    curves: list[dict[str, Any]]


class AttackDocument(Document, kw_only=True, tag="attack"):
    results: list[Strategy]
    verdict: Verdict | None = None


class OpeDocument(Document, kw_only=True, tag="ope"):
    results: list[OffPolicy]
    validation: list[Check] = []


class TrainDocument(Document, kw_only=True, tag="train"):
    """What `turnwise train --format json` prints: numbers of replies that were held out."""

    results: list[Result]


Documents: TypeAlias = (
    ScoreDocument
    | MetaDocument
    | CompareDocument
    | DiffDocument
    | CalibrateDocument
    | PowerDocument
    | AttackDocument
    | OpeDocument
    | TrainDocument
)


def schema() -> dict[str, Any]:
    """The JSON Schema of results.json, draft 2020-12."""
    made = msgspec.json.schema(Documents, ref_template="#/$defs/{name}")
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"turnwise results.json, version {SCHEMA_VERSION}",
    }
    return {**about, **made}


def published() -> str:
    """The text of the schema file in the package."""
    return (files("turnwise.data") / FILE).read_text()


def text() -> str:
    """The generated schema as the text of its file."""
    return msgspec.json.format(msgspec.json.encode(schema(), order="sorted"), indent=1).decode() + "\n"


if __name__ == "__main__":
    (Path(__file__).parents[1] / "data" / FILE).write_text(text())
