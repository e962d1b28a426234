"""The content of results.json: one type for each command, with its results, its sections and their origin."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
from msgspec import field

from turnwise.records.agreement import (
    AgreementRecord,
    DisagreementCount,
    LengthBias,
    MetricDifference,
    ScreenedRater,
)
from turnwise.records.comparison import ChangeRecord, DifferenceRecord, PreferenceFit, RankedAgent
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
from turnwise.records.play import PlayEnds, PlayRecord, RankCheck, RealismRecord
from turnwise.records.record import Part, Record, no_counts, no_keys, no_rows, no_texts, nothing
from turnwise.records.reliability import NoiseRecord, PassRecord
from turnwise.records.scores import Forecast, JudgePrompt, ScoreRecord, ToolRecord
from turnwise.records.unrated import AgentDifference, CriticCheck, EstimateRecord, EstimatorCheck, KnownMeans

if TYPE_CHECKING:
    from turnwise.report.claims import Claim
    from turnwise.report.figure import Figure

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

    question: ClassVar[str] = ""  # what a report calls its section; "" if reports leave it out

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

    def claims(self) -> "Iterable[Claim]":
        """What a report concludes from it, if its command is not one of those in `report.claims`."""
        return ()

    def figures(self) -> "Iterable[Figure]":
        """The figures of its section, if it is not one of those in `report.figures`; without any, its estimates are
        listed.
        """
        return ()


class ScoreDocument(Document, frozen=True, kw_only=True, tag="score"):
    """Scores of agents, or what a dry run says of judges."""

    question: ClassVar[str] = "How good are the replies?"

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

    question: ClassVar[str] = "Which metric can be believed?"

    results: tuple[AgreementRecord, ...]
    differences: tuple[MetricDifference, ...] = field(default_factory=no_rows)
    raters: tuple[ScreenedRater, ...]
    length_bias: tuple[LengthBias, ...] = field(default_factory=no_rows)
    normalised: tuple[DisagreementCount, ...] = field(default_factory=no_rows)


class CompareDocument(Document, frozen=True, kw_only=True, tag="compare"):
    """Differences between agents."""

    question: ClassVar[str] = "Which agent is better?"

    results: tuple[DifferenceRecord, ...]
    # The agents by each metric, best first, where more than two were compared.
    leaderboard: tuple[RankedAgent, ...] = ()
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

    question: ClassVar[str] = "What changed between two runs?"

    results: tuple[ChangeRecord, ...]
    # Old and new -> metrics that only it has.
    metrics_in_one_run: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Old or new -> why its texts could not be read.
    texts_missing: dict[str, str] = field(default_factory=no_texts)


class CalibrateDocument(Document, frozen=True, kw_only=True, tag="calibrate"):
    """Mean ratings of agents from scores and some ratings, or what was drawn to be rated."""

    question: ClassVar[str] = "What would people say of everything?"

    results: tuple[MeanRecord, ...]
    plan: LabelDraw | None = None

    @property
    def has_other_answer(self) -> bool:
        """As in `Document`."""
        return self.plan is not None


class PowerDocument(Document, frozen=True, kw_only=True, tag="power"):
    """How much data shows a difference."""

    question: ClassVar[str] = "How many are enough?"

    results: tuple[PlanRecord, ...]
    curves: tuple[PowerCurve, ...]


class ReliabilityDocument(Document, frozen=True, kw_only=True, tag="reliability"):
    """How often several trials of a task pass, with differences between agents and the sources of noise."""

    question: ClassVar[str] = "How often does it succeed?"

    results: tuple[PassRecord, ...]
    # Of pass^k between two agents, on the tasks of both.
    differences: tuple[DifferenceRecord, ...] = field(default_factory=no_rows)
    noise: tuple[NoiseRecord, ...] = field(default_factory=no_rows)


class AttackDocument(Document, frozen=True, kw_only=True, tag="attack"):
    """An attack on a metric, or the hardening of one."""

    question: ClassVar[str] = "Can it be gamed?"

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

    question: ClassVar[str] = "What would people say of an agent that nobody has rated?"

    results: tuple[EstimateRecord, ...]
    known: tuple[KnownMeans, ...] = ()
    validation: tuple[EstimatorCheck, ...] = ()
    differences: tuple[AgentDifference, ...] = ()
    road: str | None = None  # what targets were estimated from: replies, dialogues or both
    critics: dict[str, CriticCheck] = field(default_factory=no_keys)

    @property
    def answers(self) -> tuple[EstimateRecord, ...]:
        """For each target and rating the first estimate that is not there for comparison alone; else the first one."""
        found: dict[tuple[str, str], EstimateRecord] = {}
        for one in sorted(self.results, key=lambda record: record.beside):
            found.setdefault((one.target, one.rating), one)
        pairs = dict.fromkeys((one.target, one.rating) for one in self.results)
        return tuple(found[pair] for pair in pairs)

    @property
    def compared_answers(self) -> tuple[AgentDifference, ...]:
        """The differences between these estimates, and of these from rated agents."""
        names = {(one.rating, one.estimator) for one in self.answers}
        return tuple(
            one
            for one in self.differences
            if all((one.rating, name) in names for name in one.estimator.split(one.between))
        )

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


class PlayDocument(Document, frozen=True, kw_only=True, tag="play"):
    """How agents did with simulated users, and how real these are."""

    question: ClassVar[str] = "How do agents fare with simulated users?"

    results: tuple[PlayRecord, ...]
    ends: tuple[PlayEnds, ...]
    realism: tuple[RealismRecord, ...] = field(default_factory=no_rows)
    ranks: tuple[RankCheck, ...] = field(default_factory=no_rows)


class _Tagged(Part, frozen=True):
    """The command of a results.json, without the rest."""

    command: str


def document_types() -> dict[str, type[Document]]:
    """Command -> type of its document, of this module and of the commands' modules that are loaded."""
    return {str(kind.__struct_config__.tag): kind for kind in Document.__subclasses__()}


def document_type(command: str) -> type[Document] | None:
    """The type of a command's document, whose module is loaded if it declares one; None if no command has this name."""
    if command not in document_types() and command.isidentifier():
        module = f"turnwise.commands.{command}"  # by its name, because commands are in a layer above
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    return document_types().get(command)


def decoded(data: bytes) -> Document:
    """The document of a results.json; raises `msgspec.DecodeError`. Keys that are not known are passed over."""
    command = msgspec.json.decode(data, type=_Tagged).command
    kind = document_type(command)
    if kind is None:
        raise msgspec.ValidationError(f"`{command}` is no command that has results")
    return msgspec.json.decode(data, type=kind)


def plain(part: Part) -> dict[str, Any]:
    """A document or a part of one as objects of JSON: in a record, what it is about comes first."""
    made: dict[str, Any] = _flat(msgspec.to_builtins(part, str_keys=True, enc_hook=_number))
    if isinstance(part, Record):
        return _named_first(part, made)
    if isinstance(part, Document):
        records = zip(part.results, made["results"], strict=True)
        return {**made, "results": [_named_first(kind, record) for kind, record in records]}
    return made


def _number(value: Any) -> Any:
    """A number of numpy as Python's; anything else raises `TypeError`."""
    if not hasattr(value, "item"):
        raise TypeError(f"{type(value).__name__} cannot stand in a result")
    return value.item()


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
