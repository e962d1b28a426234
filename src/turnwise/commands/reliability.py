"""How often do several trials of a task pass: pass^k and pass@k, and where the noise is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Printing
from turnwise.library.results import ADJUSTED, cells, result
from turnwise.library.results import Reliability as Result
from turnwise.records import plain
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
    keys=ADJUSTED,
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


@dataclass(frozen=True, kw_only=True)
class Reliability(Drawing, LowerIsBetter, Grouping, Evaluating):
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

    def run(self) -> Result:
        """Count the trials."""
        from turnwise.run.scoring.reliability import reliability as run

        with opened(self) as ready:
            return result(Result, run(ready), ready.files, figures=self.figures)

    def show(self, found: Result, screen: Printing) -> int:
        """Print the shares of tasks, the differences of two agents, and where the values vary."""
        parts = [_differences(found, screen), *_noise(found, screen)]
        return screen.conclude(found, after="\n".join(filter(None, parts)))


def _differences(found: Result, screen: Printing) -> str:
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


def _noise(found: Result, screen: Printing) -> list[str]:
    """For each agent and metric the shares of variance, and what to add first."""
    parts = []
    for noise in found.document.noise:
        about = visible(" ".join(filter(None, [noise.metric, "of", noise.agent, noise.group])))
        sources = [plain(one) | {"levels": round(one.levels or 0)} for one in noise.sources]
        head, rows = cells(sources, ("source", "variance", "share", "levels"), SOURCES)
        table = screen.table(rows, head, SOURCES)
        if not noise.additions:
            parts.append(f"\nwhere values of {about} vary:\n{table}")
            continue
        rows = [
            [one.twice, one.standard_error, one.at_best, one.smallest_difference] for one in noise.additions
        ]
        head = ["twice as many", "standard_error", "at_best", "smallest_difference"]
        parts.append(f"\nwhere values of {about} vary:\n{table}\n\n{screen.table(rows, head, ADDITIONS)}")
    return parts


COMMAND = Reliability
reliability = function(Reliability)
__all__ = ["reliability"]
