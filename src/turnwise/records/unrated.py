"""Results of `turnwise ope`: what people would say of an agent that nobody rated."""

from typing import ClassVar

from msgspec import field

from turnwise.records.record import Interval, Number, Part, Record, no, no_numbers, no_rows, nothing


class Withheld(Part, frozen=True, kw_only=True):
    """What an estimate would have been if it had not been refused."""

    estimate: Number
    interval: Interval = field(default_factory=nothing)


class EstimateDiagnostics(Part, frozen=True, kw_only=True):
    """How far an estimate can be believed."""

    raw: Number = None  # before calibration
    overlap: Number = None  # share of the target's replies that were logged word by word
    distance: Number = None  # mean distance to the nearest logged reply
    calibrated: bool = field(default_factory=no)
    slope: Number = None  # of the line from estimates to known means
    ranking: Number = None  # correlation of estimates and known means
    p: Number = None
    withheld: Withheld | None = None
    whole_scale: bool = False  # the interval is the whole scale
    # Estimators whose estimates lie outside the interval.
    disagrees: tuple[str, ...] = field(default_factory=no_rows)
    bellman_error: Number = None
    seeds: Number = None
    seeds_sd: Number = None
    # Of `dialogues`: the features that were chosen, the share of rated agents without which the same are chosen, and
    # what was estimated of each rated agent when it was left out.
    choice: str | None = None
    stable: Number = None
    left_out: dict[str, Number] = field(default_factory=dict)
    # Of `dialogues+ratings`: what the target's own ratings say, and a prediction that they contradict.
    of_ratings: Number = None
    contradicted: Number = None
    # What one estimator says of its own estimate. In a file these are keys of the diagnostics themselves.
    more: dict[str, Number] = field(default_factory=dict)


class EstimateRecord(Record, frozen=True, kw_only=True):
    """The mean rating that people would give a target, or its return in a task."""

    names: ClassVar[tuple[str, ...]] = ("target", "rating", "estimator", "kind")

    target: str
    rating: str
    estimator: str
    kind: str | None = None  # of a critic's raw values: system, logged or control
    refused: bool
    raw: Number = field(default_factory=nothing)
    logged: Number = field(default_factory=nothing)  # mean of the target's own dialogues
    # Of an estimate from the target's own dialogues: how many there are and how many of them have ratings that were
    # used, and the guess without them, the mean of the other agents' mean ratings.
    own_dialogues: int | None = None
    own_ratings: int | None = None
    mean_of_others: Number = None
    truth: Number = field(default_factory=nothing)
    truth_se: Number = field(default_factory=nothing)
    difference: Number = field(default_factory=nothing)  # less the logged replies
    difference_interval: Interval = field(default_factory=nothing)
    # Controls that are worth as much as a system.
    fooled_by: tuple[str, ...] = field(default_factory=no_rows)
    bleu_delex: Number = field(name="bleu-delex", default_factory=nothing)
    length: Number = field(default_factory=nothing)
    entropy_2: Number = field(name="entropy-2", default_factory=nothing)
    success: Number = field(default_factory=nothing)
    diagnostics: EstimateDiagnostics

    @property
    def gate_names(self) -> tuple[str, ...]:
        """The target, and the target with the rating."""
        return self.target, f"{self.target}:{self.rating}"

    @property
    def known_mean(self) -> float | None:
        """The true mean if it is known, else that of the target's own dialogues; None if neither is known."""
        return self.truth if self.truth is not None else self.logged


class AgentDifference(Part, frozen=True, kw_only=True):
    """By how much people would rate one agent above another; the first is a target."""

    between: ClassVar[str] = ", "  # between two names of estimators

    rating: str
    estimator: str  # two names if the agents were estimated by different ones
    agent: str
    minus: str
    rated: bool  # whether the second agent is a rated one
    estimate: Number
    interval: Interval
    p_above: Number  # probability that the first agent has the higher number; high counts as good
    # Expected loss of choosing the one with the higher estimate, on the scale of the rating.
    regret: Number


class KnownMeans(Part, frozen=True, kw_only=True):
    """What is known of the agents that were rated, or whose return is known."""

    rating: str
    of: str | None = None  # return, for the reward of a task
    scale: tuple[Number, Number] | None = field(default_factory=nothing)
    spread: Number = field(default_factory=nothing)  # standard deviation inside agents
    means: dict[str, Number]


class EstimatorCheck(Part, frozen=True, kw_only=True):
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


class CriticCheck(Part, frozen=True, kw_only=True):
    """Whether a critic tells systems from controls."""

    fooled: bool
    fooled_by: tuple[str, ...]
    worst_system: str | None
    margin: Number
    controls: dict[str, Number] = field(default_factory=no_numbers)
    taught: tuple[str, ...] = field(default_factory=no_rows)  # controls that it was trained with
    unvalued: tuple[str, ...] = field(default_factory=no_rows)
    logged: str | None = None
    logged_value: Number = None
    logged_return: Number = None
    possible: Number = None
    above_possible: tuple[str, ...] = field(default_factory=no_rows)
