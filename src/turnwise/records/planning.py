"""Results of `turnwise calibrate` and `turnwise power`, and what was drawn to be rated."""

from typing import ClassVar, Literal

from msgspec import field

from turnwise.records.record import Interval, Number, Part, Record, nothing, zero
from turnwise.types import Level


class CalibrationDiagnostics(Part, frozen=True, kw_only=True):
    """How scores were used, and whether the rated items look as if they were drawn at random."""

    slopes: tuple[Number, ...] = ()
    error: Number = field(default_factory=nothing)
    freedom: Number = field(default_factory=nothing)
    gap: Number = None  # mean score of the rated items less that of the others, in standard deviations
    gap_p: Number = field(default_factory=nothing)


class MeanRecord(Record, frozen=True, kw_only=True):
    """The mean rating of an agent, or of one agent minus another, from a metric's scores and some ratings."""

    names: ClassVar[tuple[str, ...]] = ("metric", "rating", "group", "level", "agent", "minus")

    metric: str
    rating: str | None = field(default_factory=nothing)
    group: str | None = field(default_factory=nothing)
    level: Level | None = field(default_factory=nothing)
    agent: str | None = field(default_factory=nothing)
    minus: str | None = field(default_factory=nothing)  # the agent that is subtracted; null for a mean
    p_adjusted: Number = field(default_factory=nothing)
    labels_alone: Number = None  # the mean of the ratings alone
    labels_alone_interval: Interval = field(default_factory=nothing)
    width_ratio: Number = field(
        default_factory=nothing
    )  # width of the interval over that of the ratings alone
    n_labels: int = field(default_factory=zero)
    n_labelled_clusters: int | None = None
    unused: str | None = None  # why the scores were not used
    diagnostics: CalibrationDiagnostics | None = None
    # Where nobody says how the labels were drawn: the estimate if they were random, and its range if not.
    if_random: Number = None
    if_tilted: Interval = None
    tilt: Number = None
    # The tilt that turns the sign of a difference.
    turning_tilt: Number = field(default_factory=nothing)
    gap: Number = None


class LabelDraw(Part, frozen=True, kw_only=True):
    """The dialogues that were drawn to be rated."""

    drawn: int
    rated_before: int
    key: str  # of the weights
    smallest_weight: Number
    largest_weight: Number
    agents: dict[str, int]


class Variances(Part, frozen=True, kw_only=True):
    """The variances that a plan rests on."""

    clusters: Number
    items: Number
    ratings: Number
    raters: Number


class PlanRecord(Record, frozen=True, kw_only=True):
    """The dialogues of each agent that one design needs, or the smallest difference that it shows."""

    names: ClassVar[tuple[str, ...]] = ("metric", "design", "scores")

    metric: str
    design: Literal["paired", "unpaired", "preferences"] | None = field(default_factory=nothing)
    scores: str | None = field(default_factory=nothing)  # metric that is used beside ratings
    turns: int | None = field(default_factory=nothing)
    raters: int | None = field(default_factory=nothing)
    # Different raters of preferences; null: another one for each preference.
    people: int | None = field(default_factory=nothing)
    people_of_pilot: bool = False
    target_power: Number = field(default_factory=nothing)
    alpha: Number = field(default_factory=nothing)
    difference: Number = field(default_factory=nothing)
    dialogues: int | None = field(default_factory=nothing)
    ratings: int | None = field(default_factory=nothing)  # of all agents
    scored_items: int | None = field(default_factory=nothing)
    judge_calls: int | None = field(default_factory=nothing)  # the earlier name of `scored_items`
    cost: Number = field(default_factory=nothing)
    between: str | None = field(default_factory=nothing)  # what the pilot leaves open
    variances: Variances | None = None
    agreement: Number = field(default_factory=nothing)  # of a metric's scores with the ratings of the pilot
    better_pair_key: str | None = None  # what would pair more items of the pilot
    better_pair_key_pairs: int | None = None
    pairs: int | None = None  # pairs by context
    scores_in_training: str | None = None  # items of the pilot that the metric learned from


class PowerCurve(Part, frozen=True, kw_only=True):
    """Power against the number of dialogues."""

    metric: str
    design: str
    scores: str | None = field(default_factory=nothing)
    turns: int
    raters: int
    difference: Number = field(default_factory=nothing)
    dialogues: tuple[int, ...]
    power: tuple[Number, ...]
