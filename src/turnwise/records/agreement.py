"""Results of `turnwise meta`: metrics against people, metrics against each other, and raters among themselves."""

from typing import ClassVar

from msgspec import field

from turnwise.records.record import Interval, Number, Part, Record, no_numbers, no_rows, nothing
from turnwise.types import Direction, MetaLevel


class SystemMeans(Part, frozen=True, kw_only=True):
    """An agent with its score by a metric and its mean rating."""

    agent: str
    metric: Number
    people: Number


class AgreementRecord(Record, frozen=True, kw_only=True):
    """A metric against people; without a metric the raters among themselves."""

    names: ClassVar[tuple[str, ...]] = ("metric", "dimension", "group", "level", "statistic")

    metric: str | None = None
    dimension: str | None = field(default_factory=nothing)
    group: str | None = field(default_factory=nothing)
    level: MetaLevel | None = field(default_factory=nothing)
    statistic: str | None = field(default_factory=nothing)
    # Of the metric; the statistic is signed, so that more is always better.
    better: Direction | None = field(default_factory=nothing)
    undefined: bool = False  # the metric has no number at this level by its nature
    bound_error: Number = None  # how far an end of the interval may be from that of endless draws
    one_rater: Number = field(default_factory=nothing)  # the statistic of one rater against the others
    # The correlation that a metric without error would have with these ratings.
    ceiling: Number = field(default_factory=nothing)
    floor: Number = field(default_factory=nothing)  # the statistic of a metric without information
    within_agents: Number = field(default_factory=nothing)  # the statistic inside agents, averaged over them
    within_agents_interval: Interval = field(default_factory=nothing)
    n_agents: int | None = field(default_factory=nothing)  # agents that it is averaged over
    # The statistic among replies to the same context.
    within_contexts: Number = field(default_factory=nothing)
    within_contexts_interval: Interval = field(default_factory=nothing)
    n_contexts: int | None = field(default_factory=nothing)
    one_rater_within_agents: Number = field(default_factory=nothing)
    without: dict[str, Number] = field(default_factory=no_numbers)  # agent -> the statistic without it
    # Clusters for the half-width that was asked for.
    clusters_needed: int | None = field(default_factory=nothing)
    systems_needed: int | None = field(default_factory=nothing)
    n_systems: int | None = None
    systems: tuple[SystemMeans, ...] = field(default_factory=no_rows)
    uneven: tuple[int, int] | None = (
        None  # fewest and most items of an agent, where the metric depends on them
    )
    in_training: str | None = None  # items that the metric learned from, such as `3 of 60`
    epsilon: Number = None  # of pairs: difference of scores that counts as a tie
    tied_by_people: Number = None  # share of pairs
    n_tied: int | None = None  # pairs that the metric calls ties
    n_raters: int | None = field(default_factory=nothing)
    rater: str | None = None  # the only rater of the pairs
    n_ratings: int | None = None
    raters_are: str | None = None  # people, positions, mean or automatic: what names of raters stand for


class MetricDifference(Part, frozen=True, kw_only=True):
    """The test of two metrics against each other: the agreement of the first less that of the second."""

    metric_a: str
    metric_b: str
    dimension: str
    group: str | None = field(default_factory=nothing)
    level: MetaLevel
    statistic: str
    difference: Number
    interval: Interval = field(default_factory=nothing)
    p: Number
    p_adjusted: Number = field(default_factory=nothing)
    p_williams: Number = field(default_factory=nothing)
    n_points: int | None = None
    n_items: int | None = None  # pairs
    method: str | None = None
    difference_within_agents: Number = field(default_factory=nothing)
    p_within_agents: Number = field(default_factory=nothing)
    p_adjusted_within_agents: Number = field(default_factory=nothing)


class ScreenedRater(Part, frozen=True, kw_only=True):
    """The result of the screening for one rater."""

    group: str | None = field(default_factory=nothing)
    dimension: str
    level: MetaLevel
    rater: str
    ratings: int  # without attention checks
    checks: int
    failed: int
    not_understood: int
    kappa: Number  # median agreement with the other raters
    partners: int  # other raters with enough items in common
    dropped: bool
    reason: str | None  # why the rater was dropped, or why there is no kappa


class LengthBias(Part, frozen=True, kw_only=True):
    """Mean scores of replies that are about as long as their reference, and of the others."""

    metric: str
    dimension: str
    group: str | None = field(default_factory=nothing)
    near: Number
    far: Number
    n_near: int | None
    n_far: int | None
    p: Number
    reason: str | None


class DisagreementCount(Part, frozen=True, kw_only=True):
    """How many replies are of one kind of disagreement of the first metric with people and with the others."""

    metric: str
    others: tuple[str, ...]
    dimension: str
    group: str | None = field(default_factory=nothing)
    kind: str
    n: int
    of: int
    examples: tuple[str, ...]  # ids
