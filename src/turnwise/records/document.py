"""The content of results.json: one type for each command, with its results, its sections and their origin."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import msgspec
from msgspec import field

from turnwise.records.agreement import (
    AgreementRecord,
    DisagreementCount,
    LengthBias,
    MetricDifference,
    ScreenedRater,
)
from turnwise.records.comparison import ChangeRecord, DifferenceRecord, PreferenceFit
from turnwise.records.gaming import (
    EditEffect,
    FeatureTendency,
    GamingVerdict,
    HardeningRound,
    KeptAgreement,
    MetricDiagnosis,
    PeopleScore,
    StrategyRecord,
    TuningRepetition,
)
from turnwise.records.planning import LabelDraw, MeanRecord, PlanRecord, PowerCurve
from turnwise.records.record import Part, Record, no_counts, no_keys, no_rows, no_texts, nothing
from turnwise.records.scores import Forecast, JudgePrompt, ScoreRecord, ToolRecord
from turnwise.records.unrated import CriticCheck, EstimateRecord, EstimatorCheck, KnownMeans

SCHEMA_VERSION: Literal[1] = 1


def current_version() -> Literal[1]:
    """The version of the schema that is written."""
    return SCHEMA_VERSION


class InputFile(Part, frozen=True, kw_only=True):
    """A file that was read, with its checksum."""

    path: str
    sha256: str


class RunSettings(Part, frozen=True, kw_only=True):
    """The settings of a run that can change a number."""

    metrics: tuple[str, ...] = field(default_factory=no_rows)
    selection: dict[str, Any] = field(default_factory=no_keys)  # of `logs.items.items.Selection`
    real: Any = field(default_factory=nothing)
    model: str | None = field(default_factory=nothing)
    db: Any = field(default_factory=nothing)
    seed: int | None = field(default_factory=nothing)
    draws: int | None = field(default_factory=nothing)
    options: dict[str, Any] = field(default_factory=no_keys)  # of the command


class Origin(Part, frozen=True, kw_only=True):
    """Where the numbers come from: enough to have them again."""

    turnwise: str
    commit: str | None
    python: str
    packages: dict[str, str | None]
    inputs: tuple[InputFile, ...]
    settings: RunSettings


class UnseenParts(Part, frozen=True, kw_only=True):
    """Content parts of the data that text metrics do not see: images, audio, files."""

    replies: int  # with such a part in themselves or in their contexts
    n_replies: int  # all replies that have text
    parts: dict[str, int]  # by kind


class Document(Part, frozen=True, kw_only=True, tag_field="command"):
    """The content of results.json."""

    schema_version: Literal[1] = field(default_factory=current_version)
    results: tuple[Record, ...]
    notes: tuple[str, ...] = ()  # what was left out or pooled
    # rating:DIMENSION or preference:DIMENSION -> raters, none of whom is a person
    automatic_raters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unseen_parts: UnseenParts | None = None
    origin: Origin

    @property
    def command(self) -> str:
        """The command that made it, such as `score`."""
        return str(self.__struct_config__.tag)

    @property
    def has_other_answer(self) -> bool:
        """Whether what was asked for is not in the results, as in a dry run."""
        return False


class ScoreDocument(Document, frozen=True, kw_only=True, tag="score"):
    """Scores of agents, or what a dry run says of judges."""

    results: tuple[ScoreRecord, ...]
    forecast: tuple[Forecast, ...] = ()  # of a dry run: what judges would be asked, and what it would cost
    prompts: tuple[JudgePrompt, ...] = ()  # of --show-prompt: what judges are sent for one item
    tools: tuple[ToolRecord, ...] = ()  # of metrics of tool calls: each tool of each agent

    @property
    def has_other_answer(self) -> bool:
        """As in `Document`."""
        return bool(self.forecast or self.prompts)


class MetaDocument(Document, frozen=True, kw_only=True, tag="meta"):
    """Agreement of metrics with people, or of raters among themselves."""

    results: tuple[AgreementRecord, ...]
    differences: tuple[MetricDifference, ...] = field(default_factory=no_rows)
    raters: tuple[ScreenedRater, ...]
    length_bias: tuple[LengthBias, ...] = field(default_factory=no_rows)
    normalised: tuple[DisagreementCount, ...] = field(default_factory=no_rows)


class CompareDocument(Document, frozen=True, kw_only=True, tag="compare"):
    """Differences between agents."""

    results: tuple[DifferenceRecord, ...]
    # By people's ratings, beside those by metrics.
    people: tuple[DifferenceRecord, ...] = field(default_factory=no_rows)
    preferences: tuple[PreferenceFit, ...] = field(default_factory=no_rows)
    forecast: tuple[Forecast, ...] = ()
    prompts: tuple[JudgePrompt, ...] = ()
    tools: tuple[ToolRecord, ...] = ()

    @property
    def has_other_answer(self) -> bool:
        """As in `Document`."""
        return bool(self.forecast or self.prompts)


class DiffDocument(Document, frozen=True, kw_only=True, tag="diff"):
    """Changes between two runs."""

    results: tuple[ChangeRecord, ...]
    # Old and new -> metrics that only it has.
    metrics_in_one_run: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Old or new -> why its texts could not be read.
    texts_missing: dict[str, str] = field(default_factory=no_texts)


class CalibrateDocument(Document, frozen=True, kw_only=True, tag="calibrate"):
    """Mean ratings of agents from scores and some ratings, or what was drawn to be rated."""

    results: tuple[MeanRecord, ...]
    plan: LabelDraw | None = None

    @property
    def has_other_answer(self) -> bool:
        """As in `Document`."""
        return self.plan is not None


class PowerDocument(Document, frozen=True, kw_only=True, tag="power"):
    """How much data shows a difference."""

    results: tuple[PlanRecord, ...]
    curves: tuple[PowerCurve, ...]


class AttackDocument(Document, frozen=True, kw_only=True, tag="attack"):
    """An attack on a metric, or the hardening of one."""

    results: tuple[StrategyRecord, ...]
    verdict: GamingVerdict | None = field(default_factory=nothing)
    people: PeopleScore | None = None
    tendencies: tuple[FeatureTendency, ...] = field(default_factory=no_rows)
    perturbations: tuple[EditEffect, ...] = field(default_factory=no_rows)
    diagnosis: MetricDiagnosis | None = None
    repetitions: tuple[TuningRepetition, ...] = field(default_factory=no_rows)
    tried: int | None = None  # strategies that were scored at least once
    unsearched: bool | None = None  # the budget was too small for a search
    unjudged: int | None = None  # strategies that were not tested
    errors: dict[str, int] = field(default_factory=no_counts)  # why -> replies without a score
    calls: int | None = None
    hardened: str | None = None  # name of the hardened metric
    robust: bool | None = None
    summary: str | None = None
    told: str | None = None  # the name of `summary` before version 0.2
    rounds: tuple[HardeningRound, ...] = ()
    agreement: tuple[KeptAgreement, ...] = field(default_factory=no_rows)


class OpeDocument(Document, frozen=True, kw_only=True, tag="ope"):
    """Estimates for agents that nobody rated."""

    results: tuple[EstimateRecord, ...]
    known: tuple[KnownMeans, ...] = ()
    validation: tuple[EstimatorCheck, ...] = ()
    critics: dict[str, CriticCheck] = field(default_factory=no_keys)

    @property
    def rewarded_by_task(self) -> bool:
        """Whether the return of a task reward is estimated, and not a rating by people."""
        return any(one.kind for one in self.results) or any(one.of == "return" for one in self.known)


class StatisticRecord(Record, frozen=True, kw_only=True):
    """A number of a trained model on replies that it was not trained on."""

    names: ClassVar[tuple[str, ...]] = ("metric", "statistic")

    metric: str | None = field(default_factory=nothing)
    statistic: str | None = field(default_factory=nothing)


class TrainedModelFolder(Part, frozen=True, kw_only=True):
    """The folder of a trained model."""

    folder: str
    kind: str
    digest: str


class TrainDocument(Document, frozen=True, kw_only=True, tag="train"):
    """What `turnwise train --format json` prints: numbers of replies that were held out."""

    results: tuple[StatisticRecord, ...]
    model: TrainedModelFolder | None = None
    # One point for each epoch; its keys depend on the trainer.
    curve: tuple[dict[str, Any], ...] = field(default_factory=no_rows)


AnyDocument: TypeAlias = (
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

_DECODER = msgspec.json.Decoder(AnyDocument)
COMMANDS: Mapping[str, type[Document]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyDocument)
}


def decoded(data: bytes) -> AnyDocument:
    """The document of a results.json; raises `msgspec.DecodeError`. Keys that are not known are passed over."""
    document: AnyDocument = _DECODER.decode(data)
    return document


def plain(part: Part) -> dict[str, Any]:
    """A document or a part of one as objects of JSON: in a record, what it is about comes first."""
    made: dict[str, Any] = _flat(msgspec.to_builtins(part, str_keys=True))
    if isinstance(part, Record):
        return _named_first(part, made)
    if isinstance(part, Document):
        records = zip(part.results, made["results"], strict=True)
        return {**made, "results": [_named_first(kind, record) for kind, record in records]}
    return made


def _named_first(kind: Record, record: dict[str, Any]) -> dict[str, Any]:
    """The object of a record, with the fields first that say what it is about."""
    return {name: record[name] for name in kind.names if name in record} | record


def _flat(value: Any) -> Any:
    """The value with the keys of `more` among those of the object that has it, at any depth.

    Intervals stay tuples, which tables write in brackets; all other tuples become lists.
    """
    if isinstance(value, dict):
        more = value.pop("more", {})
        return {key: _flat(part) for key, part in (value | more).items()}
    if not isinstance(value, list | tuple) or _is_interval(value):
        return value
    return [_flat(part) for part in value]


def _is_interval(value: Sequence[Any]) -> bool:
    """Whether a value is a pair of numbers, one of which may be unknown."""
    return (
        isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, float | None) for end in value)
    )
