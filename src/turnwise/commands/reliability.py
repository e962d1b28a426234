"""How often do several trials of a task pass: pass^k and pass@k, and where the noise is."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Printing
from turnwise.errors import counted
from turnwise.library.notes import SHOWN, in_group
from turnwise.library.results import Result, ResultOf, result
from turnwise.records import PassRecord
from turnwise.report.documents import ReliabilityDocument
from turnwise.report.fitting import Layout
from turnwise.settings.groups import Drawing, Evaluating, Grouping, LowerIsBetter, Resumption
from turnwise.settings.option import Names, Option, Pairs, as_pairs
from turnwise.terminal import visible

LARGEST = 1000  # trials
K: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST)]
DIFFERENCES = Layout(
    names=("metric", "group", "agent_a", "agent_b"),
    results=("estimate", "interval", "verdict"),
    others=("a", "b"),
)
SOURCES = Layout(names=("source",), results=("share",), others=("variance", "levels"))
ADDITIONS = Layout(
    names=("twice as many",), results=("standard_error",), others=("at_best", "smallest_difference")
)


def parsed_range(text: str) -> tuple[int, ...]:
    """Whole numbers separated by commas, or ranges such as `1-4`; anything else raises `ValueError`."""
    numbers: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            raise ValueError(f"`{text}` is not a list of numbers, such as 1-4 or 1,2,8")
        numbers |= dict.fromkeys(range(int(first), min(int(last or first), LARGEST) + 1))
    if not numbers or not all(1 <= number <= LARGEST for number in numbers):
        raise ValueError(f"`{text}` has numbers outside 1 to {LARGEST}, or none")
    return tuple(numbers)


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


@dataclass(frozen=True, kw_only=True)
class MeasureReliability(Drawing, LowerIsBetter, Grouping, Evaluating):
    """How often do several trials of a task pass: pass^k and pass@k, and where the noise is.

    pass^k is the share of tasks of which k trials all pass, pass@k that of which one or more of k pass; both without
    bias from any number of trials, with intervals over tasks. Records say of which task they are a trial
    (docs/format.md), as those of tau-bench, tau2, Inspect, promptfoo and MT-bench do. Two agents are compared.

    \b
      turnwise reliability runs.jsonl
      turnwise reliability runs.jsonl -m rating:reward --k 1-4
      turnwise reliability runs.jsonl -m rating:score --threshold 7
    """

    command: ClassVar[str] = "reliability"
    screen_class = Printing
    resumption: ClassVar[Resumption] = "rows"

    metrics: Annotated[
        Names,
        Option(
            "Metrics that say whether a trial passed, separated by commas. Default: the ratings of the data.",
            flags="-m --metric", metavar="NAMES", repeatable=True, record=None,
        ),
    ] = ()  # fmt: skip
    k: Annotated[
        Sequence[K],
        Option(
            "Numbers of trials, e.g. 1-4 or 1,2,8. Default: 1 to the number that half of the tasks have, at most 8.",
            metavar="K-K", parse=parsed_range,
        ),
    ] = ()  # fmt: skip
    threshold: Annotated[
        float | None,
        Option(
            "A trial passes from this value on, or up to it if low is good. Default: values must be 0 or 1.",
            metavar="X",
        ),
    ] = None  # fmt: skip
    agents: Annotated[Names, Option("The agents. Two are compared. Default: all.", metavar="NAMES")] = ()
    failures: Annotated[
        Literal["left-out", "failed"],
        Option("Whether trials in which the infrastructure failed are left out, or count as not passed."),
    ] = "left-out"
    failed: Annotated[
        Pairs | None,
        Option(
            "Trials with this value failed for reasons outside the agent, e.g. meta.status=timeout. Repeatable.",
            metavar="KEY=VALUE", repeatable=True,
        ),
    ] = None  # fmt: skip

    @property
    def failed_pairs(self) -> tuple[tuple[str, str], ...]:
        """Keys and values of `failed`."""
        return as_pairs(self.failed or ())

    def run(self) -> Reliability:
        """Count the trials."""
        from turnwise.run.scoring.reliability import reliability as run

        with opened(self) as ready:
            return result(Reliability, run(ready), ready.files, figures=self.figures)

    def show(self, found: Reliability, screen: Printing) -> int:
        """Print the shares of tasks, the differences of two agents, and where the values vary."""
        parts = [_differences(found, screen), *_noise(found, screen)]
        return screen.conclude(found, after="\n".join(filter(None, parts)))


def _differences(found: Reliability, screen: Printing) -> str:
    """The table of differences; empty without any."""
    records = found.document.differences
    if not records:
        return ""
    columns = (
        "metric",
        "agent_a",
        "agent_b",
        "group",
        "a",
        "b",
        "estimate",
        "interval",
        "p_adjusted",
        "verdict",
    )
    return f"\nagent_a minus agent_b, on the tasks of both:\n{screen.records_table(records, columns, DIFFERENCES)}"


def _noise(found: Reliability, screen: Printing) -> list[str]:
    """For each agent and metric the shares of variance, and what to add first."""
    parts = []
    for noise in found.document.noise:
        about = visible(" ".join(filter(None, [noise.metric, "of", noise.agent, noise.group])))
        table = screen.records_table(noise.sources, ("source", "variance", "share", "levels"), SOURCES)
        rows = [
            [one.twice, one.standard_error, one.at_best, one.smallest_difference] for one in noise.additions
        ]
        head = ["twice as many", "standard_error", "at_best", "smallest_difference"]
        parts.append(f"\nwhere values of {about} vary:\n{table}\n\n{screen.table(rows, head, ADDITIONS)}")
    return parts


def reliability_notes(document: ReliabilityDocument) -> list[str]:
    """Lines on tasks with too few trials, on trials that failed for reasons outside the agent, and on what to add."""
    found = []
    for record in document.results:
        about = f"{record.metric} of {record.agent}{in_group(record)}"
        if record.failures:
            total = counted(sum(record.failures.values()), "trial")
            why = ", ".join(f"{reason} ({count})" for reason, count in islice(record.failures.items(), SHOWN))
            how = "left out" if "failures:left-out" in record.signature else "count as not passed"
            found.append(f"note: {about}: {total} failed for reasons outside the agent, {how}: {why}")
        if record.short and record.estimate is not None:
            tasks = f"{record.short} of {counted(record.short + record.n_clusters, 'task')}"
            found.append(
                f"note: {about}: {tasks} left out for k {record.k}: fewer than {counted(record.k or 0, 'trial')}"
            )
    for noise in document.noise:
        gains = {one.twice: one for one in noise.additions}
        if noise.first is None:
            continue
        ends = ", ".join(f"{one.standard_error:.3f} with twice as many {name}" for name, one in gains.items())
        about = f"{noise.metric} of {noise.agent}{f' in {noise.group}' if noise.group else ''}"
        found += [
            f"note: {about}: add {noise.first} first: the standard error of the mean is {noise.standard_error:.3f}, "
            f"and {ends}",
            f"note: {about}: a second agent with as many values is told apart in 4 of 5 studies if it differs by "
            f"{noise.smallest_difference:.2f}, on the same tasks by {noise.smallest_on_same_tasks:.2f} if they are as "
            "hard for both",
        ]
    return list(dict.fromkeys(found))


COMMAND = MeasureReliability
reliability = function(MeasureReliability)
__all__ = ["Reliability", "reliability"]
