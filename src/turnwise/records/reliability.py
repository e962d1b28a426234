"""Results of `turnwise reliability`: how often several trials of a task pass, and where their numbers vary."""

from typing import ClassVar, Literal

from msgspec import field

from turnwise.records.record import Number, Part, Record, no_counts, no_rows, nothing, zero


class PassRecord(Record, frozen=True, kw_only=True):
    """The share of tasks of which k trials all pass (`pass^k`), or one or more of k (`pass@k`)."""

    names: ClassVar[tuple[str, ...]] = ("metric", "agent", "group", "statistic", "k")

    metric: str
    agent: str | None = field(default_factory=nothing)
    group: str | None = field(default_factory=nothing)
    statistic: Literal["pass^k", "pass@k"] | None = field(default_factory=nothing)
    k: int | None = field(default_factory=nothing)
    short: int = field(default_factory=zero)  # tasks with fewer than k trials, left out
    # What broke down outside the agent -> trials.
    failures: dict[str, int] = field(default_factory=no_counts)


class VarianceShare(Part, frozen=True, kw_only=True):
    """How much one source adds to the variance of a single value."""

    source: str
    variance: Number
    share: Number  # of the sum over sources
    levels: Number  # effective number of levels that the mean averages over


class Addition(Part, frozen=True, kw_only=True):
    """What the mean gains from twice as many tasks, trials, raters or samples, and at most from ever more of them."""

    twice: str
    standard_error: Number
    at_best: Number
    smallest_difference: Number


class NoiseRecord(Part, frozen=True, kw_only=True):
    """Where the values of one agent vary, and what to add first."""

    metric: str
    agent: str
    group: str | None = field(default_factory=nothing)
    mean: Number
    standard_error: Number
    # To a second agent with as many values, which is shown in 4 of 5 studies: on other tasks, and on the same tasks if
    # these are as hard for both.
    smallest_difference: Number
    smallest_on_same_tasks: Number
    sources: tuple[VarianceShare, ...] = field(default_factory=no_rows)
    additions: tuple[Addition, ...] = field(default_factory=no_rows)
    first: str | None = field(default_factory=nothing)  # what to add first
    together: tuple[str, ...] = ()  # sources that the data cannot tell from the last one
