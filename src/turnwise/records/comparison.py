"""Results of `turnwise compare` and `turnwise diff`: differences between agents and changes between runs."""

from collections.abc import Iterator
from typing import ClassVar, Literal, Self, TypeAlias

from msgspec import field
from msgspec.structs import force_setattr, replace

from turnwise.records.record import Estimated, Interval, Number, Part, Record, both_ends, no_rows, nothing
from turnwise.types import Direction, MetaLevel

LEVEL = 0.05  # significance level of every verdict

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

    def mirrored(self) -> Self:
        """The same two items with the agents in the other order."""
        return replace(
            self,
            difference=negated(self.difference),
            **{ours: getattr(self, theirs) for ours, theirs in _swapped(self)},
        )


# Comparisons that are adjusted together: by people's ratings and preferences, or by everything else.
Family: TypeAlias = Literal["people", "metrics"]


class Tested(Record, frozen=True, kw_only=True):
    """A difference with its test, and what may be said of it.

    `interval` and `p` are of this comparison alone, `interval_adjusted` and `p_adjusted` of all comparisons of its
    family together. All are of one procedure: an interval has 0 inside exactly where its p is above 5 %.
    """

    better: Direction | None = field(default_factory=nothing)  # which end of the metric is good
    standard_error: Number = None
    degrees: Number = None  # of freedom, of Student's t
    anytime: bool = False  # interval and p hold however often the data was looked at before
    p_adjusted: Number = field(default_factory=nothing)
    # An end at exactly 0 says that the sign of the difference is shown, and of its size nothing.
    interval_adjusted: Interval = field(default_factory=nothing)
    family: Family | None = field(default_factory=nothing)
    family_size: int | None = field(default_factory=nothing)  # comparisons that were adjusted together
    at_edge: bool = False  # p_adjusted is within a tenth of 5 %: a few more items may turn the verdict
    leads: str | None = None  # what would be said if the difference were shown
    verdict: str | None = field(default_factory=nothing)
    # Width of the scale of the ratings, or of the range of the metric; null where it has no ends.
    points: Number = None
    at_most_apart: Number = None  # no difference larger than this is inside the adjusted interval
    margin: Number = None  # a difference up to this size does not matter, as was said with --margin
    equivalent: bool | None = None  # the whole adjusted interval is within the margin

    @property
    def shown(self) -> bool:
        """Whether a difference was shown, at 5 % for all comparisons of its family together."""
        return self.estimate is not None and self.p_adjusted is not None and self.p_adjusted <= LEVEL

    @property
    def compared(self) -> str:
        """What is compared: two agents, or two runs of one."""
        return f"the two runs of {', '.join(self.named('agent'))}"

    @property
    def decisive(self) -> tuple[float, float] | None:
        """The ends of the interval that belongs to the verdict."""
        return self.bounds if self.family is None else both_ends(self.interval_adjusted)


class DifferenceRecord(Tested, frozen=True, kw_only=True):
    """Agent A less agent B by one metric."""

    names: ClassVar[tuple[str, ...]] = ("metric", "agent_a", "agent_b", "group", "level")

    metric: str
    agent_a: str | None = field(default_factory=nothing)
    agent_b: str | None = field(default_factory=nothing)
    group: str | None = field(default_factory=nothing)
    level: MetaLevel | None = field(default_factory=nothing)
    a: Number = None
    b: Number = None
    leader: str | None = None  # the agent on the good end; with the higher number where no end is good
    no_worse: tuple[
        str, ...
    ] = ()  # agents that were shown to be no worse than the other by more than the margin
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

    @property
    def sides(self) -> tuple[str, str]:
        """What is compared with what."""
        return str(self.agent_a), str(self.agent_b)

    @property
    def compared(self) -> str:
        """As in `Tested`."""
        return f"{self.agent_a} and {self.agent_b}"

    def __post_init__(self) -> None:
        """Name the agent in what version 0.2 said of A or B; its files have no `leader`."""
        if self.leads is None or self.leader is not None:
            return
        letter, _, said = self.leads.partition(" ")
        agent = {"A": self.agent_a, "B": self.agent_b}.get(letter)
        if agent is None:
            return
        force_setattr(self, "leader", agent)
        if self.verdict == self.leads:
            force_setattr(self, "verdict", f"{agent} {said}")
        force_setattr(self, "leads", f"{agent} {said}")

    def mirrored(self) -> Self:
        """The same comparison with the agents in the other order."""
        swapped = {ours: getattr(self, theirs) for ours, theirs in _swapped(self)}
        last_first = [flip for flip in self.flips if (flip.difference or 0.0) < 0]
        first_last = [flip for flip in self.flips if (flip.difference or 0.0) >= 0]
        return replace(
            self,
            **swapped,
            estimate=negated(self.estimate),
            interval=_mirrored(self.interval),
            interval_adjusted=_mirrored(self.interval_adjusted),
            effect_size=negated(self.effect_size),
            superiority=None if self.superiority is None else 1.0 - self.superiority,
            win_rate=None if self.win_rate is None else 1.0 - self.win_rate,
            flips=tuple(flip.mirrored() for flip in (*last_first, *first_last)),
        )


def negated(value: Number) -> Number:
    """The number with the other sign, and 0 for 0; None for None."""
    return None if value is None else 0.0 - value


def _mirrored(interval: Interval) -> Interval:
    """The interval of the number with the other sign."""
    return None if interval is None else (negated(interval[1]), negated(interval[0]))


def _swapped(part: Part) -> Iterator[tuple[str, str]]:
    """Yield the fields about one agent, each with the same field about the other."""
    names = part.__struct_fields__
    for name in names:
        stem, _, side = name.rpartition("_") if "_" in name else ("", "", name)
        other = f"{stem}_{'b' if side == 'a' else 'a'}" if stem else ("b" if side == "a" else "a")
        if side in ("a", "b") and other in names:
            yield name, other


class RankedAgent(Record, frozen=True, kw_only=True):
    """An agent among all that were compared by one metric.

    `estimate` is its own mean, or its Bradley-Terry strength by preferences. `ties` and `rank_interval` follow from the
    verdicts on all pairs of agents, which hold together.
    """

    names: ClassVar[tuple[str, ...]] = ("metric", "agent", "group", "level")

    metric: str
    agent: str
    group: str | None = field(default_factory=nothing)
    level: MetaLevel | None = field(default_factory=nothing)
    better: Direction | None = field(default_factory=nothing)
    rank: int | None = None  # 1 is the best; the highest number where no end is good
    rank_interval: tuple[int, int] | None = None  # the ranks that the verdicts leave open
    # Letters: agents that share one were not shown to differ.
    ties: str = ""
    n_above: int = 0  # agents that were shown to be better, or higher where no end is good
    n_below: int = 0
    n_agents: int = 0  # that were compared by this metric


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


class ChangeRecord(Tested, frozen=True, kw_only=True):
    """A metric of the new run less the same of the old run."""

    names: ClassVar[tuple[str, ...]] = ("metric", "agent", "group", "level")

    metric: str
    agent: str | None = field(default_factory=nothing)  # its name in the new run
    group: str | None = field(default_factory=nothing)
    level: MetaLevel | None = field(default_factory=nothing)
    agent_old: str | None = None
    old: Number = None
    new: Number = None
    no_worse: bool | None = None  # the new run was shown to be no worse than the old by more than the margin
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
    # Items, scored or not, that only the old run has; by their contexts where these pair the items.
    only_old: int | None = None
    only_new: int | None = None
    # Scored items that are in no pair of scored items, so that the comparison leaves them out.
    left_out_old: int | None = None
    left_out_new: int | None = None

    @property
    def sides(self) -> tuple[str, str]:
        """What is compared with what."""
        return "the new run", "the old run"
