"""What the functions return that write files of dialogues or reports: a count of what is in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.errors import counted
from turnwise.report.fitting import HINT, Layout, sized
from turnwise.terminal import visible

SHOWN = 5  # failures that are printed


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """What `respond` wrote."""

    path: str
    n_dialogues: int
    n_points: int  # points at which a reply was asked for
    n_replies: int
    n_there: int  # points that had replies of this agent before
    failures: tuple[str, ...]  # where the agent failed, and why

    def __str__(self) -> str:
        answered = f"{self.n_points - len(self.failures)} of {counted(self.n_points, 'point')}"
        lines = [f"{self.path}: {counted(self.n_dialogues, 'dialogue')} written, replies at {answered}"]
        lines += [f"note: {failure}" for failure in self.failures[:SHOWN]]
        return "\n".join(map(visible, lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What `simulate` wrote: the logs and, unless `truth` was 0, each agent's true mean by dimension.

    Iterating gives one dict an agent of the truth; without the truth there are none.
    """

    path: str
    truth_path: str | None  # None: no truth was asked for
    n_dialogues: int
    truth: Mapping[str, Any]  # the content of the truth file

    def records(self) -> list[dict[str, Any]]:
        """One dict an agent: `agent`, and by dimension its true mean with standard error and number of
        dialogues; empty if no truth was asked for.
        """
        return [{"agent": agent, **scores} for agent, scores in self.truth["agents"].items()]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.truth["agents"])

    def table(self, *, wide: bool = False, hint: str = HINT) -> str:
        """The true means of the agents, one row each, with the largest standard error; "" without the truth.

        As wide as the terminal unless `wide`; `hint` says how to see columns that do not fit.
        """
        agents = self.truth["agents"]
        # A dimension on which none of an agent's dialogues has a score is not in its means.
        dimensions = list(dict.fromkeys(name for scores in agents.values() for name in scores))
        rows = [
            [
                agent,
                *(scores[name]["mean"] if name in scores else None for name in dimensions),
                max(about["se"] for about in scores.values()),
                max(about["n"] for about in scores.values()),
            ]
            for agent, scores in agents.items()
        ]
        layout = Layout(
            names=("agent",), results=tuple(dimensions[:1]), others=(*dimensions[1:], "se (largest)", "n")
        )
        head = ("agent", *dimensions, "se (largest)", "n")
        return sized(rows, head, layout, wide=wide, hint=hint) if rows else ""

    def __str__(self) -> str:
        """The table of the true means; without them, the file and its number of dialogues."""
        return self.table() or visible(f"{self.path}: {counted(self.n_dialogues, 'dialogue')}")
