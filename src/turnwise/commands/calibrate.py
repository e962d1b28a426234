"""Mean ratings of agents from a metric's scores on everything and people's ratings on some."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Printing
from turnwise.errors import UsageError, counted, setting
from turnwise.library.notes import automatic_raters, document_notes, item_notes, notes
from turnwise.library.results import ResultOf, result
from turnwise.logs.items.selection import ItemChoice
from turnwise.records import MeanRecord, plain
from turnwise.report import text
from turnwise.report.documents import CalibrateDocument
from turnwise.report.fitting import Layout
from turnwise.settings.groups import Evaluating, Grouping, Rescaling
from turnwise.settings.option import Count, Option

SHOWN = 6  # differences that the table shows whether or not they were shown to be there
NAMED = 4  # pairs that were not told apart that are named below the table
LEVEL = 0.05  # adjusted p up to which the table shows more differences than that


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


@dataclass(frozen=True, kw_only=True)
class Calibrate(Rescaling, Grouping, Evaluating):
    """Mean ratings of agents from a metric's scores on everything and people's ratings on some.

    The metric scores every item; people rated some of each agent. The estimate is the mean rating of all items of the
    agent, and of one agent minus another. Its interval is narrower than that of the ratings alone where the metric
    agrees with people, and no wider elsewhere: width_ratio shows by how much. Where nobody knows how the rated items
    were drawn the estimate is refused (exit 4), and the table shows how far it depends on that.

    \b
      turnwise calibrate logs.jsonl -m turnwise --labels random
      turnwise calibrate logs.jsonl -m length --labels weights:meta.weight
    """

    command: ClassVar[str] = "calibrate"
    screen_class = Printing

    to: Annotated[
        str | None,
        Option("What people rated. Default: rating:overall, else the only one.", metavar="rating:DIMENSION"),
    ] = None
    labels: Annotated[
        str,
        Option(
            "How the rated items were drawn. KEY, such as meta.weight, holds the inverse probability of each.",
            metavar="random|weights:KEY|unknown",
        ),
    ]  # fmt: skip
    level: Annotated[
        Literal["turn", "dialogue"] | None, Option("What was rated. Default: the only one that was.")
    ] = None
    fit: Annotated[
        Literal["none", "linear", "isotonic"],
        Option("Map scores to ratings first, by a function that is cross-fitted on the ratings."),
    ] = "none"
    plan: Annotated[
        Count | None,
        Option(
            "Draw N dialogues to rate next, by the metric's expected error: plan.jsonl and rest.jsonl in -o.",
            metavar="N", record_default=False,
        ),
    ] = None  # fmt: skip
    items: Annotated[
        ItemChoice | None,
        Option(
            "Which replies count. Default: the last ones where only last ones are rated, else all.", record=None
        ),
    ] = None  # fmt: skip

    def __post_init__(self) -> None:
        """As in `Measuring`; raises `UsageError` where it is not clear how labels were drawn."""
        super().__post_init__()
        check_labels(self.labels)

    @property
    def drawn(self) -> Literal["random", "weights", "unknown"]:
        """How the labels were drawn, without the key of the weights."""
        if self.labels in ("random", "unknown"):
            return "random" if self.labels == "random" else "unknown"
        return "weights"

    @property
    def weights_key(self) -> str:
        """The key of the weights, such as meta.weight; empty where labels have none."""
        kind, _, key = self.labels.partition(":")
        return key if kind == "weights" else ""

    def run(self) -> Calibration:
        """Estimate the mean ratings, and with `plan` draw what to rate next."""
        from turnwise.run.scoring.calibrate import run

        self._check_plan()
        with opened(self) as ready:
            return result(Calibration, run(ready), ready.files, figures=self.figures)

    def _check_plan(self) -> None:
        """Raise `UsageError` for a plan without a folder, of several metrics or groups, or for an unknown draw."""
        if self.plan is None:
            return
        plan = setting("--plan")
        if self.output is None:
            raise UsageError(f"{plan} writes plan.jsonl and rest.jsonl: name a folder with {setting('-o')}")
        if self.by or len(self.metrics) > 1:
            raise UsageError(
                f"{plan} draws from all dialogues by the error of one metric: leave out {setting('--by')}, and name "
                "one metric"
            )
        if self.labels == "unknown":
            raise UsageError(
                f"{plan} adds to labels whose draw is known; with {setting('--labels', 'unknown')}, plan without their "
                "ratings"
            )

    def show(self, calibration: Calibration, screen: Printing) -> int:
        """Print the means, the differences that are there, and where the drawn dialogues are."""
        document = calibration.document
        # A difference that is refused for the draw of its labels has no p, but the sensitivity analysis: always
        # printed.
        every = [row for row in document.results if row.minus]
        differences = [row for row in every if row.status != "refused"]
        impossible = [row for row in every if row.status == "refused" and row.labels_alone is None]
        unshown: list[Any] = []
        if len(differences) > SHOWN and not screen.verbose:
            unshown = [row for row in differences if row.p_adjusted is None or row.p_adjusted > LEVEL]
        without = impossible if len(impossible) > SHOWN and not screen.verbose else []
        rows = [row for row in document.results if row not in [*unshown, *without]]
        after = ""
        if unshown:
            after += f"\nnot told apart: {_pairs(unshown)}; -v lists all"
        if without:
            after += f"\n{len(without)} differences have no estimate, as an agent has too few ratings; -v lists all"
        if plan := document.plan:
            after += (
                f"\n{plan.drawn} dialogues to rate are in {self.output}/plan.jsonl, the others in rest.jsonl; after "
                f"rating: turnwise calibrate RATED {self.output}/rest.jsonl --labels weights:{plan.key}"
            )
        return screen.conclude(calibration, rows=rows, after=after)


def _pairs(differences: Sequence[Any]) -> str:
    """The first pairs of agents of these differences, with the metric where there are several, and how many more."""
    several = len({row.metric for row in differences}) > 1
    pairs = [f"{row.agent} and {row.minus}{f' by {row.metric}' * several}" for row in differences]
    more = [f"{len(pairs) - NAMED} more pairs"] if len(pairs) > NAMED else []
    return ", ".join([*pairs[:NAMED], *more])


def check_labels(labels: str) -> None:
    """Raise `UsageError` unless the text says how labels were drawn."""
    kind, _, key = labels.partition(":")
    if labels not in ("random", "unknown") and not (kind == "weights" and key):
        raise UsageError(
            f"{setting('--labels', labels)}: expected how the rated items were drawn: random, unknown, or weights:KEY, "
            "where KEY, such as meta.weight, holds the inverse of the probability of each"
        )


COMMAND = Calibrate
calibrate = function(Calibrate)
__all__ = ["Calibration", "calibrate"]
