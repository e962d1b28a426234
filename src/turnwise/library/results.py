"""The results of runs. A result prints as its table, and a notebook shows the table and figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import get_annotations
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, get_args

import msgspec

from turnwise.errors import REFUSED, UNMEASURED, MissingExtra, counted
from turnwise.library.notes import (
    Warned,
    automatic_raters,
    change_notes,
    coverage,
    document_notes,
    item_notes,
    notes,
    of_own_ratings,
    others_without_a_result,
    reliability_notes,
    strength_notes,
    unseen_parts,
    verdict_notes,
    whole_scales,
)
from turnwise.library.rater_notes import rater_notes
from turnwise.records import (
    AgreementRecord,
    AttackDocument,
    CalibrateDocument,
    ChangeRecord,
    CompareDocument,
    DiffDocument,
    DifferenceRecord,
    Document,
    EstimateRecord,
    MeanRecord,
    MetaDocument,
    OpeDocument,
    PassRecord,
    PlanRecord,
    PowerDocument,
    Record,
    ReliabilityDocument,
    ScoreDocument,
    ScoreRecord,
    StatisticRecord,
    StrategyRecord,
    TrainDocument,
    plain,
)
from turnwise.report import text
from turnwise.report.figure import Figure
from turnwise.report.fitting import Layout, sized
from turnwise.report.run_files import RunFiles
from turnwise.terminal import visible

if TYPE_CHECKING:
    import pandas
    import polars

PLAIN = {int, float, str, bool, NoneType}  # types that a cell of a table can have
AnyResult = TypeVar("AnyResult", bound="Result")
AnyRecord = TypeVar("AnyRecord", bound=Record)


def result(kind: type[AnyResult], document: Document, files: RunFiles | None, *, figures: bool) -> AnyResult:
    """The document of a run as a result of type `kind`; with `figures` and the files of the run, it has the figures
    that a report of them shows.
    """
    if not figures or files is None:
        return kind(document=document)
    from turnwise.report.report import figures as drawn
    from turnwise.report.runs import RunOf

    return kind(document=document, drawn=tuple(drawn(RunOf(document.command, files, document))))


def _columns_of(kind: type[Document]) -> tuple[tuple[str, ...], Layout]:
    """The columns for the records of a document: what they are about, the estimate, numbers and texts of their own,
    counts.
    """
    (record,) = [get_args(one.type)[0] for one in msgspec.structs.fields(kind) if one.name == "results"]
    of_all = {one.name for one in msgspec.structs.fields(Record)}
    own = tuple(
        one.name
        for one in msgspec.structs.fields(record)
        if one.name not in (*of_all, *record.names) and set(get_args(one.type) or (one.type,)) <= PLAIN
    )
    results, counts = ("estimate", "interval"), ("n_items", "n_clusters")
    layout = Layout(names=record.names, results=results, others=("p", *own, *counts))
    return (*record.names, *results, "p", *own, *counts), layout


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """The results of a command. Iterates as one dict a result, with the keys of results.json."""

    columns: ClassVar[
        tuple[str, ...]
    ] = ()  # of the table, in this order; made from the records if not stated
    layout: ClassVar[Layout] = Layout(names=(), results=())  # what matters most; the same

    def __init_subclass__(cls) -> None:
        """Make the columns of a type that states none from the records of its document."""
        super(Result, cls).__init_subclass__()
        kind = get_annotations(cls).get("document")
        if kind is not None and "columns" not in vars(cls):
            cls.columns, cls.layout = _columns_of(kind)

    document: Document  # the content of results.json
    drawn: tuple[Figure, ...] = ()  # the figures that a report would show

    @property
    def findings(self) -> tuple[Record, ...]:
        """The records of what was asked for, without others that are shown for comparison."""
        return tuple(record for record in self.document.results if not record.beside)

    @property
    def exit_code(self) -> int:
        """0 unless nothing that was asked has an estimate: then 4 if it was refused, else 3.

        Dialogues that `calibrate` drew for rating are an answer too, and so is what a dry run shows.
        """
        if self.document.has_other_answer or any(one.estimate is not None for one in self.findings):
            return 0
        return REFUSED if any(one.status == "refused" for one in self.findings) else UNMEASURED

    def records(self) -> list[dict[str, Any]]:
        """One dict a result, as in results.json."""
        return list(plain(self.document)["results"])

    def notes(self) -> list[str]:
        """Lines on what was not scored and why, on what was left out, and on what limits the results."""
        document = self.document
        return [
            *notes(self.findings), *unseen_parts(document), *automatic_raters(document), *document_notes(document)
        ]  # fmt: skip

    def figures(self) -> list[Figure]:
        """The figures that a report would show; empty if the run was made with `figures=False`."""
        return list(self.drawn)

    def to_pandas(self) -> "pandas.DataFrame":
        """The records as a pandas DataFrame, one row a result; `MissingExtra` without pandas."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("`to_pandas`", "pandas") from None
        return pandas.DataFrame(self.records())

    def to_polars(self) -> "polars.DataFrame":
        """The records as a polars DataFrame, one row a result; `MissingExtra` without polars."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("`to_polars`", "tables") from None
        return polars.DataFrame(self.records(), infer_schema_length=None, strict=False)

    def table(self) -> str:
        """The table of the results, as wide as the terminal; a line below it names the columns that were left out."""
        head, rows = cells(self.records(), self.columns, self.layout)
        return sized(rows, head, self.layout)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.document.results)

    def __str__(self) -> str:
        return "\n".join([self.table(), *map(visible, self.notes())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table and the figures of these results, as a notebook shows them."""
        from turnwise.report import page  # slow to import

        return page.notebook(*cells(self.records(), self.columns, self.layout), self.figures())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResultOf(Result, Generic[AnyRecord]):
    """The results of a command whose records are of one type."""

    @property
    def findings(self) -> tuple[AnyRecord, ...]:
        """As in `Result`."""
        records = cast("tuple[AnyRecord, ...]", self.document.results)
        return tuple(record for record in records if not record.beside)


def result_type(document: Document) -> type[Result]:
    """The type of result that has documents of this kind; the columns of one that no command declares are made from
    the records.
    """
    if isinstance(document, AttackDocument) and document.rounds:
        return Hardened
    known: list[type[Result]] = [*Result.__subclasses__(), *ResultOf.__subclasses__()]
    return next((kind for kind in known if get_annotations(kind).get("document") is type(document)), Result)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scores(ResultOf[ScoreRecord]):
    """A score for each metric, agent and group, with its interval."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent", "group", "estimate", "interval", "n_items", "n_clusters",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "agent", "group"), results=("estimate", "interval"), others=("n_items", "n_clusters")
    )

    document: ScoreDocument

    @property
    def tools(self) -> list[dict[str, Any]]:
        """What the calls of each tool of each agent were like, if a metric of tool calls was asked for; else empty."""
        return [plain(record) for record in self.document.tools]

    def notes(self) -> list[str]:
        """As in `Result`, and on what was left out or scored together, and estimates of few items."""
        return [*Result.notes(self), *coverage(self.document.results)]


# Columns of comparisons: the interval that belongs to the verdict, and what is of one comparison alone.
ADJUSTED = {
    "interval": ("interval_adjusted", "interval"), "interval_alone": ("interval",), "p_alone": ("p",)
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(ResultOf[DifferenceRecord]):
    """The difference of every two agents for each metric and group: agent_a minus agent_b."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent_a", "agent_b", "group", "a", "b", "ties", "both_bad", "estimate", "interval",
        "p_adjusted", "interval_alone", "p_alone", "effect_size",
        "n_items", "n_clusters", "unpaired_a", "unpaired_b", "verdict",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "group", "agent_a", "agent_b"),
        results=("estimate", "interval", "verdict"),
        others=(
            "p_adjusted", ("a", "b"), "n_items", "ties", ("unpaired_a", "unpaired_b"), "effect_size", "n_clusters",
            "both_bad",
            "interval_alone", "p_alone",
        ),
        keys=ADJUSTED,
    )  # fmt: skip

    document: CompareDocument

    shared_agent: str | None = None  # the agent of all files, in place of which their names are used

    @property
    def leaderboard(self) -> list[dict[str, Any]]:
        """The agents by each metric, best first, one dict an agent; empty where two agents were compared."""
        return [plain(row) for row in self.document.leaderboard]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """What the calls of each tool of the two agents were like, if a metric of tool calls was asked for."""
        return [plain(record) for record in self.document.tools]

    @property
    def strengths(self) -> list[dict[str, Any]]:
        """Bradley-Terry strengths, one dict an agent, for each dimension of preferences; empty without preferences."""
        return [
            {"metric": fit.metric, "group": fit.group, **plain(strength)}
            for fit in self.document.preferences
            for strength in fit.strengths
        ]

    def notes(self) -> list[str]:
        """As in `Result`, on what was left out, on preferences by few raters, and on strengths that could not be found
        or compared.
        """
        document = self.document
        found = [*Result.notes(self), *coverage(document.results)]
        found += [*rater_notes(document.results), *verdict_notes(document.results)]
        if self.shared_agent is not None:
            found.append(
                f"note: all files have the agent `{self.shared_agent}`, so that agents are named after the files"
            )
        return [*found, *strength_notes(document.preferences)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Changes(ResultOf[ChangeRecord]):
    """The change of each metric from an old run to a new run of the same agent: new minus old."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent", "group", "old", "new", "estimate", "interval", "p_adjusted", "interval_alone",
        "p_alone", "effect_size", "n_items", "n_clusters", "only_old", "only_new", "verdict",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "agent", "group"),
        results=("estimate", "interval", "p_adjusted", "verdict"),
        others=(
            ("old", "new"),
            "n_items",
            ("only_old", "only_new"),
            "effect_size",
            "n_clusters",
            "interval_alone",
            "p_alone",
        ),
        keys=ADJUSTED,
    )

    document: DiffDocument

    @property
    def flips(self) -> list[dict[str, Any]]:
        """The items that changed most, one dict an item, for each metric, agent and group: rises first, then falls."""
        return [
            {"metric": record.metric, "agent": record.agent, "group": record.group, **plain(flip)}
            for record in self.document.results
            for flip in record.flips
        ]

    def notes(self) -> list[str]:
        """As in `Result`, and on what only one of the runs has."""
        return [*Result.notes(self), *verdict_notes(self.document.results), *change_notes(self.document)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Agreement(ResultOf[AgreementRecord]):
    """The agreement of metrics with people, or of raters among themselves."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "dimension", "group", "level", "statistic", "estimate", "interval", "p", "within_agents",
        "within_contexts", "one_rater", "n_items", "n_tied", "n_clusters", "n_raters", "raters_are",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "dimension", "group", "level", "statistic"),
        results=("estimate", "interval"),
        others=(
            "within_agents",
            "one_rater",
            "p",
            "within_contexts",
            "n_items",
            "n_raters",
            "n_clusters",
            "n_tied",
            "raters_are",
        ),
    )

    document: MetaDocument

    @property
    def differences(self) -> list[dict[str, Any]]:
        """The tests of every two metrics against each other on Pearson and Spearman, one dict a test; empty if
        none was made.
        """
        return [plain(one) for one in self.document.differences]

    @property
    def raters(self) -> list[dict[str, Any]]:
        """What `screen=True` found about each rater, one dict a report; empty without it."""
        return [plain(one) for one in self.document.raters]

    def notes(self) -> list[str]:
        """As in `Result`, on what was left out, and on preferences by few raters."""
        document = self.document
        at_pairs = [one for one in document.results if one.level == "pair" and one.metric]
        return [*Result.notes(self), *rater_notes(at_pairs)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimates(ResultOf[EstimateRecord]):
    """The estimated mean rating of each target, by each estimator."""

    columns: ClassVar[tuple[str, ...]] = (
        "target", "rating", "estimator", "estimate", "interval", "difference", "raw", "mean_of_others", "logged",
        "own_dialogues", "own_ratings", "n_items", "n_clusters", "bleu-delex", "length", "entropy-2", "success",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("target", "rating", "estimator"),
        results=("estimate", "interval"),
        even_empty=("estimate",),
        others=(
            "difference", "mean_of_others", "logged", "own_dialogues", "own_ratings", "success", "bleu-delex",
            "n_items", "n_clusters", "raw", "length", "entropy-2",
        ),
    )  # fmt: skip

    document: OpeDocument

    @property
    def validation(self) -> list[dict[str, Any]]:
        """With `all_agents=True`, how far each estimator is from the known means, one dict a rating and estimator; else
        empty.
        """
        return [plain(one) for one in self.document.validation]

    def notes(self) -> list[str]:
        """As in `Result`, and on estimators beside the asked ones that have no estimate, and on intervals that say
        nothing.
        """
        records = self.document.results
        return [
            *Result.notes(self), *others_without_a_result(records), *whole_scales(records), *of_own_ratings(records)
        ]  # fmt: skip


SURPRISING = 0.01  # p below which labels that are said to be random look as if they were not


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(ResultOf[MeanRecord]):
    """The mean rating of each agent and the differences between agents, from scores and a few ratings."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "rating", "group", "agent", "minus", "estimate", "interval", "p", "p_adjusted", "labels_alone",
        "labels_alone_interval", "width_ratio", "if_random", "if_tilted", "turning_tilt", "gap", "n_labels", "n_items",
        "n_clusters",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "rating", "group", "agent", "minus"),
        results=("estimate", "interval"),
        others=(
            "p_adjusted", "if_random", "if_tilted", "turning_tilt", "width_ratio", "labels_alone", "n_labels",
            "labels_alone_interval", "gap", "n_items", "n_clusters", "p",
        ),
    )  # fmt: skip

    document: CalibrateDocument

    @property
    def plan(self) -> dict[str, Any]:
        """What `plan` drew: how many dialogues of which agent, and the key of their weights; empty without it."""
        return {} if self.document.plan is None else plain(self.document.plan)

    def means(self) -> list[dict[str, Any]]:
        """The records of the agents' means."""
        return [plain(record) for record in self.document.results if record.agent and not record.minus]

    def differences(self) -> list[dict[str, Any]]:
        """The records of the differences between agents."""
        return [plain(record) for record in self.document.results if record.minus]

    def notes(self) -> list[str]:
        """As for every result, with one line for all that was refused for one reason; agents whose scores could not be
        used, and agents whose rated items have other scores than the rest.
        """
        document = self.document
        refused = Counter(one.reason for one in document.results if one.status == "refused")
        many = {reason for reason, count in refused.items() if count > 1}
        found = item_notes(document.results)
        others = notes([one for one in document.results if one.reason not in many])
        found += [line for line in others if line not in found]
        found += [
            f"note: {counted(refused[reason], 'estimate')} refused: {reason}"
            for reason in sorted(map(str, many))
        ]
        found += [*_unused_scores(document), *document_notes(document), *automatic_raters(document)]
        for record in document.results:
            about = record.diagnostics
            if about and about.gap and about.gap_p is not None and about.gap_p < SURPRISING:
                found.append(
                    f"note: {record.metric}: the rated items of {record.agent} score {abs(about.gap):.2f} standard "
                    f"deviations {'above' if about.gap > 0 else 'below'} the others (p {text.p_value(about.gap_p)}); "
                    "were they drawn at random?"
                )
        return found


def _unused_scores(document: CalibrateDocument) -> list[str]:
    """A line for each metric that says of how many agents the scores were not used, and why for the first."""
    agents: dict[str, list[MeanRecord]] = {}
    for record in document.results:
        if record.unused:
            agents.setdefault(record.metric, []).append(record)
    lines = []
    for metric, of in agents.items():
        more = f" and {counted(len(of) - 1, 'more agent')}" if len(of) > 1 else ""
        lines.append(f"note: {metric}: the ratings alone count for {of[0].agent}{more}: {of[0].unused}")
    return lines


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Power(ResultOf[PlanRecord]):
    """The dialogues that show a difference, or the smallest difference that dialogues show, for each design."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "design", "scores", "turns", "raters", "people", "difference", "dialogues", "between", "ratings",
        "scored_items", "cost",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "design", "scores", "turns", "raters", "people"),
        results=("difference", "dialogues"),
        others=("cost", "ratings", "between", "scored_items"),
    )

    document: PowerDocument

    def notes(self) -> list[str]:
        """As for every result, on a key that would pair more of the pilot's items, on the raters of the pilot, and on
        scores of a metric that learned from the pilot.
        """
        records = self.document.results
        few = [
            f"note: {one.metric}: planned for the pilot's {counted(one.people or 0, 'rater')}; --people N plans for "
            "another number"
            for one in records
            if one.people_of_pilot
        ]
        better = [
            f"note: {one.metric}: the pilot's replies are paired by their context; --pair {one.better_pair_key} "
            f"makes {counted(one.better_pair_key_pairs or 0, 'pair')} instead of {one.pairs}"
            for one in records
            if one.better_pair_key
        ]
        trained = [
            Warned(
                f"{one.scores} learned from {one.scores_in_training} items here: its agreement with people says "
                "nothing about new ones, so that it may save fewer ratings than planned"
            )
            for one in records
            if one.scores_in_training
        ]
        return [*Result.notes(self), *dict.fromkeys([*trained, *few, *better])]

    def cheapest(self) -> dict[str, Any] | None:
        """The record of the design that costs least as a dict; without prices None."""
        return None if self.cheapest_record is None else plain(self.cheapest_record)

    @property
    def cheapest_record(self) -> PlanRecord | None:
        """The record of the design that costs least; without prices None."""
        priced = [(record.cost, record) for record in self.findings if record.cost is not None]
        return min(priced, key=lambda pair: pair[0], default=(None, None))[1]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reliability(ResultOf[PassRecord]):
    """How often several trials of a task pass, for each agent, statistic and k."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent", "group", "statistic", "k", "estimate", "interval", "n_items", "n_clusters", "short",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "agent", "group", "statistic", "k"),
        results=("estimate", "interval"),
        others=("n_clusters", "n_items", "short"),
    )

    document: ReliabilityDocument

    def notes(self) -> list[str]:
        """As in `Result`, on tasks with too few trials, on failures of the infrastructure, and on what to add first."""
        return [*Result.notes(self), *reliability_notes(self.document)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Attack(ResultOf[StrategyRecord]):
    """Strategies against a metric, the strongest first."""

    columns: ClassVar[tuple[str, ...]] = (
        "kind", "score", "interval", "gain", "gain_interval", "beats_human", "fraud", "description",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("kind",),
        results=("gain", "gain_interval", "fraud"),
        keys={"fraud": ("significant",)},
        prose=("description",),
        others=("score", "beats_human", "interval"),
    )

    document: AttackDocument

    @property
    def gameable(self) -> bool:
        """Whether a strategy was shown to score above people."""
        return self.document.verdict is not None and self.document.verdict.gameable


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hardened(ResultOf[StrategyRecord]):
    """The best fraud that is left against a hardened metric, for each file that was attacked."""

    columns: ClassVar[tuple[str, ...]] = (
        "group", "strategy", "estimate", "human_score", "gain", "fraud",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("group", "strategy"),
        results=("estimate", "human_score", "fraud"),
        keys={"fraud": ("significant",)},
        others=("gain",),
    )

    document: AttackDocument

    @property
    def robust(self) -> bool:
        """Whether nothing that was found scores above people."""
        return bool(self.document.robust)

    @property
    def metric(self) -> str:
        """The name of the hardened metric, for `metrics=`."""
        return str(self.document.hardened)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trained(ResultOf[StatisticRecord]):
    """A trained model: its folder, and what it was measured at on replies that it was not trained on."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "statistic", "estimate", "interval", "n_items", "n_clusters",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "statistic"), results=("estimate", "interval"), others=("n_items", "n_clusters")
    )

    document: TrainDocument

    @property
    def folder(self) -> Path:
        """The folder of the model."""
        return Path("" if self.document.model is None else self.document.model.folder)

    def __str__(self) -> str:
        return f"{Result.__str__(self)}\nwritten to {self.folder}".lstrip("\n")

    __repr__ = __str__


LEFT_OUT = ("unpaired_a", "unpaired_b", "only_old", "only_new")  # columns of counts


def cells(
    records: Sequence[Mapping[str, Any]], columns: Sequence[str], layout: Layout
) -> tuple[list[str], list[list[Any]]]:
    """The columns in which some record has a value, in the given order, and a row of these columns for each record.

    A column of counts of what was left out is shown if one of them is not 0, one of the layout's `even_empty` always.
    """
    empty = {name: (None, 0) if name in LEFT_OUT else (None,) for name in columns}
    rows = [{name: _value(record, layout.keys.get(name, (name,))) for name in columns} for record in records]
    shown = [
        name
        for name in columns
        if name in layout.even_empty or any(row[name] not in empty[name] for row in rows)
    ]
    return shown, [[_cell(name, row[name]) for name in shown] for row in rows]


def _value(record: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The value of the first of these keys that has one; None if none has."""
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _cell(column: str, value: Any) -> Any:
    """The value; in the columns `p`, `p_alone` and `p_adjusted` as text such as `<.001`."""
    return text.p_value(value) if column in ("p", "p_alone", "p_adjusted") else value
