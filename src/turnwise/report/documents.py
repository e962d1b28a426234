"""The documents of commands: what results.json holds, and what a report says of it.

A document names its question, its claims and its figures. The sections of a report are in the order of these types;
those of commands that declare their documents themselves follow.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec
from msgspec import field

from turnwise.records import (
    AgentDifference,
    AgreementRecord,
    ChangeRecord,
    CriticCheck,
    DifferenceRecord,
    DisagreementCount,
    Document,
    EditEffect,
    EstimateRecord,
    EstimatorCheck,
    FeatureTendency,
    Forecast,
    GamingVerdict,
    HardeningRound,
    JudgePrompt,
    KeptAgreement,
    KnownMeans,
    LabelDraw,
    LengthBias,
    MeanRecord,
    MetricDiagnosis,
    MetricDifference,
    NoiseRecord,
    Part,
    PassRecord,
    PeopleScore,
    PlanRecord,
    PlayEnds,
    PlayRecord,
    PowerCurve,
    PreferenceFit,
    RankCheck,
    RankedAgent,
    RealismRecord,
    ScoreRecord,
    ScreenedRater,
    StatisticRecord,
    StrategyRecord,
    ToolRecord,
    TrainedModelFolder,
    TuningRepetition,
)
from turnwise.records.record import no_counts, no_keys, no_rows, no_texts, nothing

if TYPE_CHECKING:
    from turnwise.report.claims import Claim
    from turnwise.report.figure import Figure
    from turnwise.report.runs import Run, RunOf

RATERS = "How far do people agree?"
AUTOMATIC_RATERS = "How far do the raters agree?"
RETURNS = "What would an agent return in the logged task?"


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

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterator[Claim]":
        """As in `Document`."""
        from turnwise.report.claims.agents import agent_claims
        from turnwise.report.claims.knowledge import knowledge
        from turnwise.report.claims.leaderboard import leaderboard_claims

        make = leaderboard_claims if self.leaderboard else agent_claims
        return make(run, knowledge(run, among))

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.differences import differences
        from turnwise.report.figures.judges import position_biases
        from turnwise.report.figures.leaderboards import leaderboards
        from turnwise.report.figures.preferences import strengths, win_rates
        from turnwise.report.figures.tools import by_tool
        from turnwise.report.figures.transcripts import flips

        return _made(run, leaderboards, differences, win_rates, position_biases, strengths, flips, by_tool)


class CalibrateDocument(Document, frozen=True, kw_only=True, tag="calibrate"):
    """Mean ratings of agents from scores and some ratings, or what was drawn to be rated."""

    question: ClassVar[str] = "What would people say of everything?"

    results: tuple[MeanRecord, ...]
    plan: LabelDraw | None = None

    @property
    def has_other_answer(self) -> bool:
        """As in `Document`."""
        return self.plan is not None

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterator[Claim]":
        """As in `Document`."""
        from turnwise.report.claims.plans import calibrate_claims

        return calibrate_claims(run)

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.calibration import calibration

        return _made(run, calibration)


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

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.dialogue import dialogue_scores
        from turnwise.report.figures.interval_lists import scores
        from turnwise.report.figures.judges import judge_agreement
        from turnwise.report.figures.precision_recall import precision_recall
        from turnwise.report.figures.reasons import reasons
        from turnwise.report.figures.tools import by_tool

        return _made(run, scores, reasons, judge_agreement, precision_recall, dialogue_scores, by_tool)


class MetaDocument(Document, frozen=True, kw_only=True, tag="meta"):
    """Agreement of metrics with people, or of raters among themselves."""

    question: ClassVar[str] = "Which metric can be believed?"

    results: tuple[AgreementRecord, ...]
    differences: tuple[MetricDifference, ...] = field(default_factory=no_rows)
    raters: tuple[ScreenedRater, ...]
    length_bias: tuple[LengthBias, ...] = field(default_factory=no_rows)
    normalised: tuple[DisagreementCount, ...] = field(default_factory=no_rows)

    @property
    def has_metrics(self) -> bool:
        """Whether it is about metrics, and not only about raters."""
        return any(record.metric for record in self.results)

    def question_of(self, run: "RunOf[Self]") -> str:
        """As in `Document`."""
        from turnwise.report.rated_by import rated_by

        if self.has_metrics:
            return self.question
        return RATERS if rated_by(run, self.results).are_people else AUTOMATIC_RATERS

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterator[Claim]":
        """As in `Document`."""
        from turnwise.report.claims.knowledge import attacks
        from turnwise.report.claims.metrics import metric_claims
        from turnwise.report.claims.raters import rater_claims

        return metric_claims(run, attacks(run, among)) if self.has_metrics else rater_claims(run)

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.agreements import agreements
        from turnwise.report.figures.heatmap import boxes, heatmaps
        from turnwise.report.figures.raters import raters
        from turnwise.report.figures.scatter import scatters
        from turnwise.report.figures.transcripts import disagreements

        return _made(run, agreements, heatmaps, disagreements, boxes, scatters, raters)


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

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterator[Claim]":
        """As in `Document`."""
        from turnwise.report.claims.gaming import gaming_claims

        return gaming_claims(run)

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.hardening import hardening
        from turnwise.report.figures.interval_lists import strategies
        from turnwise.report.figures.transcripts import frauds
        from turnwise.report.figures.tuning import tuning

        return _made(run, strategies, tuning, frauds, hardening)


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

    def question_of(self, run: "RunOf[Self]") -> str:
        """As in `Document`."""
        return RETURNS if self.rewarded_by_task else self.question

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterator[Claim]":
        """As in `Document`."""
        from turnwise.report.claims.unrated import unrated_claims

        return unrated_claims(run)

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.critic_values import system_values, turn_values
        from turnwise.report.figures.interval_lists import estimates
        from turnwise.report.figures.iterations import iterations
        from turnwise.report.figures.pairs import pairs
        from turnwise.report.regression import new_agents, regressions

        return _made(run, estimates, new_agents, regressions, iterations, pairs, system_values, turn_values)


class PowerDocument(Document, frozen=True, kw_only=True, tag="power"):
    """How much data shows a difference."""

    question: ClassVar[str] = "How many are enough?"

    results: tuple[PlanRecord, ...]
    curves: tuple[PowerCurve, ...]

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterator[Claim]":
        """As in `Document`."""
        from turnwise.report.claims.plans import power_claims

        return power_claims(run)

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.power_curves import power_curves

        return _made(run, power_curves)


class ReliabilityDocument(Document, frozen=True, kw_only=True, tag="reliability"):
    """How often several trials of a task pass, with differences between agents and the sources of noise."""

    question: ClassVar[str] = "How often does it succeed?"

    results: tuple[PassRecord, ...]
    # Of pass^k between two agents, on the tasks of both.
    differences: tuple[DifferenceRecord, ...] = field(default_factory=no_rows)
    noise: tuple[NoiseRecord, ...] = field(default_factory=no_rows)

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterator[Claim]":
        """As in `Document`."""
        from turnwise.report.claims.plans import reliability_claims

        return reliability_claims(run)

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.passes import noise, passes

        return _made(run, passes, noise)


class DiffDocument(Document, frozen=True, kw_only=True, tag="diff"):
    """Changes between two runs."""

    question: ClassVar[str] = "What changed between two runs?"

    results: tuple[ChangeRecord, ...]
    # Old and new -> metrics that only it has.
    metrics_in_one_run: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Old or new -> why its texts could not be read.
    texts_missing: dict[str, str] = field(default_factory=no_texts)

    def claims(self, run: "RunOf[Self]", among: "Sequence[Run]") -> "Iterator[Claim]":
        """As in `Document`."""
        from turnwise.report.claims.changes import change_claims

        return change_claims(run)

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.changes import changed_items, changes

        return _made(run, changes, changed_items)


class PlayDocument(Document, frozen=True, kw_only=True, tag="play"):
    """How agents did with simulated users, and how real these are."""

    question: ClassVar[str] = "How do agents fare with simulated users?"

    results: tuple[PlayRecord, ...]
    ends: tuple[PlayEnds, ...]
    realism: tuple[RealismRecord, ...] = field(default_factory=no_rows)
    ranks: tuple[RankCheck, ...] = field(default_factory=no_rows)
    # What scenarios of another tool ask for and is not looked at -> how often.
    left_out: dict[str, int] = field(default_factory=no_counts)

    def figures(self, run: "RunOf[Self]") -> "Iterator[Figure]":
        """As in `Document`."""
        from turnwise.report.figures.play import ends, fared, realisms

        return _made(run, fared, ends, realisms)


class TrainDocument(Document, frozen=True, kw_only=True, tag="train"):
    """What `turnwise train --format json` prints: numbers of replies that were held out."""

    results: tuple[StatisticRecord, ...]
    model: TrainedModelFolder | None = None
    # One point for each epoch; its keys depend on the trainer.
    curve: tuple[dict[str, Any], ...] = field(default_factory=no_rows)


def _made(run: "RunOf[Any]", *makers: "Callable[[RunOf[Any]], Iterator[Figure]]") -> "Iterator[Figure]":
    """The figures of these makers in their order."""
    for make in makers:
        yield from make(run)


class _Tagged(Part, frozen=True):
    """The command of a results.json, without the rest."""

    command: str


def document_types() -> dict[str, type[Document]]:
    """Command -> type of its document, of this module and of the commands' modules that are loaded."""
    return {str(kind.__struct_config__.tag): kind for kind in Document.__subclasses__()}


def document_type(command: str) -> type[Document] | None:
    """The type of a command's document, whose module is loaded if it declares one; None if no command has this name."""
    if command not in document_types():
        load(command)
    return document_types().get(command)


def load(command: str) -> None:
    """Load the module of a command, if there is one."""
    if not command.isidentifier():
        return
    module = f"turnwise.commands.{command}"  # by its name, because commands are in a layer above
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise


def decoded(data: bytes) -> Document:
    """The document of a results.json; raises `msgspec.DecodeError`. Keys that are not known are passed over."""
    command = msgspec.json.decode(data, type=_Tagged).command
    kind = document_type(command)
    if kind is None:
        raise msgspec.ValidationError(f"`{command}` is no command that has results")
    return msgspec.json.decode(data, type=kind)
