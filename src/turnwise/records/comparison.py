"""Results of `turnwise compare` and `turnwise diff`: differences between agents and changes between runs."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import field

from turnwise.records.record import Estimated, Interval, Number, Part, Record, no_rows, nothing
from turnwise.types import Direction, MetaLevel

# Pairs; independent samples for lack of pairs; independent samples as they were asked for.
Sampling: TypeAlias = Literal["paired", "unpaired", "independent"]


class ItemDifference(Part, frozen=True, kw_only=True):
    """Two items with one context on which two agents differ much."""

    id_a: str
    id_b: str
    a: Number
    b: Number
    difference: Number
    context: str | None = None  # last turn of it
    reply_a: str | None = None
    reply_b: str | None = None
    reason: str | None = None  # of a judge


class DifferenceRecord(Record, frozen=True, kw_only=True):
    """Agent A less agent B by one metric."""

    names: ClassVar[tuple[str, ...]] = ("metric", "agent_a", "agent_b", "group", "level")

    metric: str
    agent_a: str | None = field(default_factory=nothing)
    agent_b: str | None = field(default_factory=nothing)
    group: str | None = field(default_factory=nothing)
    level: MetaLevel | None = field(default_factory=nothing)
    better: Direction | None = field(default_factory=nothing)
    a: Number = None
    b: Number = None
    leads: str | None = None  # what would be said if the difference were shown
    p_adjusted: Number = field(default_factory=nothing)
    verdict: str | None = field(default_factory=nothing)
    sampling: Sampling | None = None
    effect_size: Number = field(default_factory=nothing)
    higher_a: int | None = None  # pairs in which A has the higher score
    higher_b: int | None = None
    superiority: Number = None  # share of pairs in which A is on the good end, ties counted half
    minimum_detectable_difference: Number = field(default_factory=nothing)
    # Items that differ most: first where A is higher, then where B is.
    flips: tuple[ItemDifference, ...] = field(default_factory=no_rows)
    unpaired_a: int | None = None  # items of A without a partner, left out
    unpaired_b: int | None = None
    merged_a: int | None = None  # items of A that count as one with another item of the same pair
    merged_b: int | None = None
    thinned_a: int = 0  # items of A left out so that both agents have about equally many
    thinned_b: int = 0
    scored_a: int | None = None  # items of A with a score, if some have none
    scored_b: int | None = None
    unscored_a: int | None = None
    unscored_b: int | None = None
    pair_key: str | None = None  # what pairs items, if not their context
    better_pair_key: str | None = None  # what would pair more items
    better_pair_key_pairs: int | None = None
    in_training: str | None = None  # items that the metric learned from, such as `3 of 60`
    win_rate: Number = None  # of preferences: comparisons that A won, ties counted half
    ties: Number = None
    both_bad: Number = None
    n_raters: int | None = field(default_factory=nothing)
    rater: str | None = None  # the only rater
    # Of a judge of pairs: share of its choices for what was shown first, less a half.
    position_bias: Number = None
    position_bias_interval: Interval = field(default_factory=nothing)
    position_bias_method: str | None = None
    consistent: Number = None  # share of pairs on which both orders agree


class Strength(Estimated, frozen=True, kw_only=True):
    """The Bradley-Terry strength of an agent."""

    agent: str
    component: int  # strengths of agents of different components cannot be compared
    n_items: int
    reason: str | None = field(default_factory=nothing)


class ControlEffect(Estimated, frozen=True, kw_only=True):
    """The effect of a covariate that strengths are controlled for."""

    covariate: str


class PreferenceFit(Part, frozen=True, kw_only=True):
    """The Bradley-Terry fit to the preferences on one dimension, or why there is none."""

    metric: str
    group: str | None = field(default_factory=nothing)
    control: tuple[str, ...] = field(default_factory=no_rows)
    n_items: int
    n_components: int | None = field(default_factory=nothing)
    tie: Number = field(default_factory=nothing)  # Davidson's parameter
    method: str
    strengths: tuple[Strength, ...] = field(default_factory=no_rows)
    effects: tuple[ControlEffect, ...] = field(default_factory=no_rows)
    reason: str | None = field(default_factory=nothing)


class ItemChange(Part, frozen=True, kw_only=True):
    """An item whose score changed much between two runs."""

    id_old: str
    id_new: str
    old: Number
    new: Number
    change: Number
    context: str | None = field(default_factory=nothing)  # last turn of it
    reply_old: str | None = field(default_factory=nothing)
    reply_new: str | None = field(default_factory=nothing)


class ChangeRecord(Record, frozen=True, kw_only=True):
    """A metric of the new run less the same of the old run."""

    names: ClassVar[tuple[str, ...]] = ("metric", "agent", "group", "level")

    metric: str
    agent: str | None = field(default_factory=nothing)  # its name in the new run
    group: str | None = field(default_factory=nothing)
    level: MetaLevel | None = field(default_factory=nothing)
    agent_old: str | None = None
    better: Direction | None = field(default_factory=nothing)
    old: Number = None
    new: Number = None
    leads: str | None = None  # rose, fell or the same: what would be said if the change were shown
    p_adjusted: Number = field(default_factory=nothing)
    verdict: str | None = field(default_factory=nothing)
    sampling: Sampling | None = None
    effect_size: Number = field(default_factory=nothing)
    rose: int | None = None  # items with a higher score in the new run
    fell: int | None = None
    superiority: Number = None
    minimum_detectable_difference: Number = field(default_factory=nothing)
    # Items that changed most: rises first, then falls.
    flips: tuple[ItemChange, ...] = field(default_factory=no_rows)
    thinned_a: int = 0  # items of the new run left out so that both runs have about equally many
    thinned_b: int = 0
    paired_by: Literal["id", "context"] | None = None
    only_old: int | None = None  # items that only the old run has
    only_new: int | None = None
