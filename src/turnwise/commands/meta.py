"""Does a metric agree with people? At turn, dialogue and system level."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from turnwise.commands.agreement import MAX_ROWS, matrices, on_a_screen
from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Gated, Gating
from turnwise.errors import UsageError, counted
from turnwise.library.notes import Warned, common_notes, in_group, rater_notes
from turnwise.library.results import ResultOf, result
from turnwise.records import AgreementRecord, plain
from turnwise.report import text
from turnwise.report.documents import MetaDocument
from turnwise.report.fitting import Layout
from turnwise.settings.groups import (
    Drawing,
    Evaluating,
    LowerIsBetter,
    Rescaling,
    Restated,
    Resumption,
    Selecting,
)
from turnwise.settings.option import Names, NamesOrFunctions, Option
from turnwise.terminal import visible
from turnwise.types import MetaLevel

LEVEL = 0.05  # differences are printed up to this adjusted p
MAX_DIFFERENCES = 6  # rows of the table of differences
STATISTICS = ("pearson", "spearman", "kendall", "pairwise")
# What the tables below the main one show first.
DIFFERENCES = Layout(
    names=("metric_a", "metric_b", "dimension", "level", "statistic"),
    results=("difference", "p_adjusted"),
    others=("p",),
)
LENGTHS = Layout(
    names=("metric", "dimension", "group"), results=("near", "far", "p"), others=("n_near", "n_far")
)
CASES = Layout(names=("dimension", "group"), results=("n",), prose=("replies", "for example"))
RATERS = Layout(
    names=("rater", "dimension", "level"), results=("kappa",), prose=("reason",), others=("ratings",)
)
# Cases of normalised scores. High is 3/4 of the scale and more, low 1/4 and less: 4 and 2 on a scale of 1 to 5.
KINDS = {
    "good": "people: high",
    "missed": "people high, every other metric low",
    "rescued": "of these, the first metric high",
    "failed": "people high, the first metric low",
    "beaten": "of these, another metric high",
    "fooled": "people low and another metric too, the first high",
}


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
        found = common_notes(document, self.findings, limits=_limits, shared=True)
        return [*found, *rater_notes(at_pairs, lambda record: f"preference:{record.dimension}", shared=True)]


@dataclass(frozen=True, kw_only=True)
class MetaEvaluate(Gated, Rescaling, Drawing, LowerIsBetter, Selecting, Evaluating):
    """Does a metric agree with people? At turn, dialogue and system level.

    Correlations are signed: a metric that ranks backwards is negative. Each is shown over all items, inside agents
    and inside contexts, beside the agreement of one rater with the others. The table shows one statistic; -v, -o and
    --format json have the others, the intervals inside agents and contexts, the ceiling of a perfect metric, the
    estimate without each system, and how much data --precision would need.

    \b
      turnwise meta rated.jsonl -m bleu-4,rouge-l
      turnwise meta rated.jsonl -m length --level system --dimension all
    """

    command: ClassVar[str] = "meta"
    resumption: ClassVar[Resumption] = "rows"
    function: ClassVar[str] = "meta_evaluate"
    restated: ClassVar[Restated] = {"lower_is_better": {"record_default": True}}

    metrics: Annotated[
        NamesOrFunctions,
        Option(
            "Metrics, separated by commas. Without any, the result is the agreement of the raters among themselves.",
            flags="-m --metric", metavar="NAMES", repeatable=True, record=None,
        ),
    ] = ()  # fmt: skip
    level: Annotated[
        MetaLevel | None,
        Option("`pair` compares with preferences. Default: every level that the ratings have."),
    ] = None
    dimension: Annotated[
        str | None,
        Option(
            "What people rated; `all` gives a result for each. Default: overall, else the only one.", metavar="D"
        ),
    ] = None  # fmt: skip
    statistics: Annotated[
        Names,
        Option("`turnwise ls statistics` explains them.", flags="--statistic", metavar="NAMES"),
    ] = STATISTICS
    precision: Annotated[
        float,
        Meta(ge=1e-6, lt=1),
        Option("Half-width of an interval for which the needed amount of data is reported."),
    ] = 0.05
    differences: Annotated[
        bool,
        Option(
            "Test every two metrics against each other; with many metrics this takes most of the time.",
            flags="--differences/--no-differences",
        ),
    ] = True  # fmt: skip
    intervals: Annotated[
        bool,
        Option(
            "Resample for intervals: a thousand times the work of the estimate itself.",
            flags="--intervals/--no-intervals",
        ),
    ] = True  # fmt: skip
    length_bias: Annotated[
        bool,
        Option(
            "Also test whether a metric favours replies as long as their reference, where people do not.",
            record_default=False,
        ),
    ] = False  # fmt: skip
    normalised: Annotated[
        bool,
        Option(
            "Also count where the first metric finds good replies that the others miss, and the reverse.",
            record_default=False,
        ),
    ] = False  # fmt: skip
    screen: Annotated[
        bool,
        Option("Leave out raters who fail attention checks or agree with nobody; prints who and why."),
    ] = False
    stable_raters: Annotated[
        bool | None,
        Option(
            "Whether a rater's name is one person throughout. Default: inferred from the names.",
            flags="--stable-raters/--positional-raters",
        ),
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        """As in `Measuring`; statistics without a name raise `UsageError`."""
        super().__post_init__()
        if not self.statistics:
            raise UsageError("`statistics` names nothing")

    @property
    def lower_dimensions(self) -> tuple[str, ...]:
        """As in `Command`: ratings that are compared as metrics have the direction of the data."""
        return ()

    @classmethod
    def on_command_line(cls, screen: Gating, given: dict[str, Any]) -> int:
        """As in `Gated`; a gate without a metric raises `UsageError`."""
        if screen.gates and not given.get("metrics"):
            raise UsageError(
                "a --gate applies to the agreement of a metric with people; name the metric with -m"
            )
        return super().on_command_line(screen, given)

    def run(self) -> Agreement:
        """Measure the agreement of the metrics with people, or without metrics that of the raters."""
        from turnwise.run.scoring.meta import meta
        from turnwise.run.scoring.raters import raters

        with opened(self) as ready:
            outcome = meta(ready) if ready.metrics else raters(ready)
            return result(Agreement, outcome, ready.files, figures=self.figures)

    def show(self, agreement: Agreement, screen: Gating) -> int:
        """Print the part of the agreement that fits a screen, and with -v all of it."""
        document = agreement.document
        rows: Sequence[AgreementRecord] = document.results
        left_out = whole = ""
        if not screen.verbose and self.statistics == STATISTICS:
            rows, left_out = on_a_screen(rows)
        if not screen.verbose and len(rows) > MAX_ROWS:
            whole = matrices([row for row in rows if row.estimate is not None])
        made = (_differences, _raters, _length_biases, _disagreements)
        sections = [of(document, screen) for of in made]
        after = "\n".join(part for part in (left_out, *sections) if part)
        return screen.conclude(agreement, rows=rows, whole=whole, after=after)


def _limits(record: AgreementRecord) -> Iterator[str]:
    """Yield the lines on what limits one agreement."""
    if record.in_training:
        yield Warned(
            f"{record.metric} learned from {record.in_training} items here: its agreement with people says nothing "
            "about new ones"
        )
    if record.uneven:
        fewest, most = record.uneven
        yield Warned(
            f"{record.metric}{in_group(record)} depends on the number of items, and agents have {fewest} to {most}: "
            "their order may be that of these numbers; compare agents with about equally many"
        )


def _differences(document: MetaDocument, screen: Gating) -> str:
    """The table of metrics that differ at adjusted p up to .05, or a sentence that none do; empty without tests."""
    tested = [(row.p_adjusted, row) for row in document.differences if row.p_adjusted is not None]
    by_p = sorted(tested, key=lambda pair: pair[0])
    shown = [row for p_adjusted, row in by_p if p_adjusted <= LEVEL]
    if not shown:
        return f"\nno two metrics were shown to differ ({counted(len(tested), 'test')})" if tested else ""
    head = ["metric_a", "metric_b", "dimension", "level", "statistic", "difference", "p", "p_adjusted"]
    rows = [
        [text.p_value(getattr(row, name)) if name.startswith("p") else getattr(row, name) for name in head]
        for row in shown
    ]
    share = f"{len(shown)} of {counted(len(tested), 'test')}, adjusted"
    rest = f"\n({len(rows) - MAX_DIFFERENCES} more with -o)" if len(rows) > MAX_DIFFERENCES else ""
    return (
        f"\nmetrics that differ ({share}):\n{screen.table(rows[:MAX_DIFFERENCES], head, DIFFERENCES)}{rest}"
    )


def _length_biases(document: MetaDocument, screen: Gating) -> str:
    """The table of the test of length bias; empty if it was not asked for."""
    head = ["metric", "dimension", "group", "near", "far", "p", "n_near", "n_far"]
    rows = [
        [text.p_value(getattr(row, name)) if name == "p" else getattr(row, name) for name in head]
        for row in document.length_bias
    ]
    title = "mean score of replies within 6 words of their reference, and of others:"
    return f"\n{title}\n{screen.table(rows, head, LENGTHS)}" if rows else ""


def _disagreements(document: MetaDocument, screen: Gating) -> str:
    """The table of cases in which the first metric and the others differ, on people's scale; empty if it was
    not asked for.
    """
    cases = document.normalised
    rows = [[row.dimension, row.group, KINDS[row.kind], row.n, ", ".join(row.examples)] for row in cases]
    if not rows:
        return ""
    title = visible(f"{cases[0].metric} against {', '.join(cases[0].others)}, on people's scale:")
    head = ["dimension", "group", "replies", "n", "for example"]
    return f"\n{title}\n{screen.table(rows, head, CASES)}"


def _raters(document: MetaDocument, screen: Gating) -> str:
    """The table of raters that --screen left out, or a sentence that none were; empty if it was not asked for."""
    dropped = [row for row in document.raters if row.dropped]
    if not dropped:
        return f"\nno rater was left out ({len(document.raters)} screened)" if document.raters else ""
    head = ["rater", "dimension", "level", "reason", "ratings", "kappa"]
    table = screen.table([[getattr(row, name) for name in head] for row in dropped], head, RATERS)
    return f"\nraters left out:\n{table}"


COMMAND = MetaEvaluate
meta_evaluate = function(MetaEvaluate)
__all__ = ["Agreement", "meta_evaluate"]
