"""Results of `turnwise attack` and of hardening a metric."""

from typing import ClassVar

from msgspec import field

from turnwise.records.record import Interval, Number, Part, Record, no_rows, nothing
from turnwise.types import Direction


class StrategyRecord(Record, frozen=True, kw_only=True):
    """What one way to game a metric came to."""

    names: ClassVar[tuple[str, ...]] = ("metric", "group", "strategy", "kind")

    metric: str
    group: str | None = None  # the attacked file, of a hardened metric
    strategy: str | None = field(default_factory=nothing)
    kind: str | None = None
    better: Direction | None = field(default_factory=nothing)
    description: str | None = None
    example: str | None = None
    gain: Number = field(default_factory=nothing)
    gain_interval: Interval = field(default_factory=nothing)
    beats_human: Number = field(default_factory=nothing)
    significant: bool | None = None
    # Last turn of a context, and the strategy's reply.
    transcript: tuple[tuple[str, str], ...] = field(default_factory=no_rows)
    people_said: tuple[str, ...] = field(default_factory=no_rows)
    # Of the strategy and of the person.
    transcript_scores: tuple[tuple[Number, Number], ...] = field(default_factory=no_rows)
    score: Number = field(default_factory=nothing)
    human_score: Number = field(default_factory=nothing)


class GamingVerdict(Part, frozen=True, kw_only=True):
    """Whether a metric can be gamed, and by what."""

    gameable: bool
    worst: str | None
    description: str | None
    gain: Number
    frauds: int
    judged: int
    note: str | None = field(default_factory=nothing)  # why the attack says little


class PeopleScore(Part, frozen=True, kw_only=True):
    """The mean score of people's replies, and whose replies these are."""

    agent: str
    score: Number
    interval: Interval = field(default_factory=nothing)


class FeatureTendency(Part, frozen=True, kw_only=True):
    """The correlation of the scores with a simple feature of the reply."""

    feature: str
    correlation: Number
    description: str


class EditEffect(Part, frozen=True, kw_only=True):
    """The effect of one edit on the scores of people's replies."""

    name: str
    touches: str  # reply or context
    change: Number  # mean change, in standard deviations of people's scores
    size: Number
    raised: Number  # share of replies whose score rose
    lowered: Number
    n: int


class MetricDiagnosis(Part, frozen=True, kw_only=True):
    """Properties of a metric on people's replies."""

    constant: bool
    noise: Number
    unscored: Number
    errors: dict[str, int]
    words: str | None = field(default_factory=nothing)


class TuningCurves(Part, frozen=True, kw_only=True):
    """One value for each epoch, starting with the untuned model."""

    reward: tuple[Number, ...] = ()
    train_reward: tuple[Number, ...] = ()
    lm_loss: tuple[Number, ...] = ()
    entropy: tuple[Number, ...] = ()
    kl: tuple[Number, ...] = ()
    response_frequency: tuple[Number, ...] = ()


class TuningRepetition(Part, frozen=True, kw_only=True):
    """One tuning of a language model on the metric."""

    repetition: int
    reward: Number
    response_frequency: Number
    lexical_variety: Number
    bleu: Number
    jaccard: Number
    inferred: str
    final: str
    description: str
    most_frequent: str
    most_frequent_reward: Number
    best_epoch: int
    stopped: str | None
    curves: TuningCurves
    examples: tuple[str, ...] = field(default_factory=no_rows)


class AttackedFile(Part, frozen=True, kw_only=True):
    """The result of one round's attack on one file."""

    contexts: str  # name of the file
    people: Number  # mean score of people's replies
    best: str  # strategy with the largest gain, significant or not
    description: str
    score: Number
    interval: Interval = field(default_factory=nothing)
    gain: float
    gain_interval: Interval = field(default_factory=nothing)
    gameable: bool  # a fraud has a significant gain
    # Edits of people's own replies with a significant gain, which are not used for training.
    edits: tuple[str, ...] = field(default_factory=no_rows)
    unsearched: str | None = field(default_factory=nothing)  # why the attack is not conclusive
    n_items: int
    n_clusters: int

    @property
    def robust(self) -> bool:
        """Whether a conclusive attack found no fraud as high as people, and no edit with a significant gain."""
        return self.unsearched is None and self.gain < 0 and not self.edits


class HardeningRound(Part, frozen=True, kw_only=True):
    """One round of a hardening: the attacks on all files."""

    round: int
    robust: bool
    attacked: tuple[AttackedFile, ...]
    metric: str
    taught: int  # templates that the metric was trained against before


class KeptAgreement(Part, frozen=True, kw_only=True):
    """The agreement of the metric with people before and after its hardening."""

    rated: str  # file
    dimension: str
    before: Number
    after: Number
    fell: Number
    n_items: int
