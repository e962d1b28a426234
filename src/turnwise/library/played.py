"""The result of `play`: scores of agents, how dialogues ended, and how real the simulated users are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from turnwise.errors import counted, setting
from turnwise.library.notes import Warned
from turnwise.library.results import Result, ResultOf, cells
from turnwise.records import PlayRecord, plain
from turnwise.report.documents import PlayDocument
from turnwise.report.fitting import HINT, Layout, sized

ENDS = {
    "goal": "goal", "gave-up": "gave up", "script": "script over", "limit": "limit", "agent-fault": "agent fault",
    "simulator-fault": "simulator fault", "infrastructure-fault": "infrastructure fault",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Played(ResultOf[PlayRecord]):
    """How agents did with simulated users: a record for each agent and dimension of success."""

    columns: ClassVar[tuple[str, ...]] = (
        "agent",
        "dimension",
        "estimate",
        "interval",
        "n_items",
        "n_clusters",
    )
    layout: ClassVar[Layout] = Layout(
        names=("agent", "dimension"), results=("estimate", "interval"), others=("n_items", "n_clusters")
    )

    document: PlayDocument
    path: str  # of the log

    @property
    def exit_code(self) -> int:
        """0: dialogues were held, whether or not something was to hold at their end."""
        return 0

    def ends(self, *, wide: bool = False, hint: str = HINT) -> str:
        """A table of how the dialogues of each agent ended."""
        rows = [
            {"agent": one.agent, "dialogues": one.dialogues, **_named(one.ends)} for one in self.document.ends
        ]
        shown = ["agent", "dialogues", *(name for name in ENDS.values() if any(name in row for row in rows))]
        table = [[row.get(name, 0) for name in shown] for row in rows]
        return sized(table, shown, Layout(names=("agent",), results=tuple(shown[1:])), wide=wide, hint=hint)

    def realism(self, *, wide: bool = False, hint: str = HINT) -> str:
        """A table of how far simulated users are from real ones; "" without real dialogues."""
        columns = ("kind", "measure", "simulated", "real", "estimate", "interval", "floor", "floor_interval")
        layout = Layout(
            names=("kind", "measure"), results=("estimate", "interval", "floor"),
            others=("floor_interval", "simulated", "real"),
        )  # fmt: skip
        measured = [plain(record) for record in self.document.realism if record.estimate is not None]
        if not measured:
            return ""
        head, rows = cells(measured, columns, layout)
        return sized(rows, head, layout, wide=wide, hint=hint)

    def notes(self) -> list[str]:
        """As for every result; on faults that are not scored, on messages that were tried again, and on realism."""
        lines = Result.notes(self)
        for one in self.document.ends:
            if faults := sum(one.simulator_faults.values()):
                lines.append(
                    Warned(
                        f"{one.agent}: not scored: {counted(faults, 'dialogue')} that a fault of the simulated "
                        f"user ended ({_listed(one.simulator_faults)})"
                    )
                )
            if tried := sum(one.discarded.values()):
                lines.append(
                    f"note: {one.agent}: tried again, unseen by the agent: {counted(tried, 'message')} of the "
                    f"simulated user with a fault ({_listed(one.discarded)})"
                )
            if failed := one.ends.get("infrastructure-fault", 0):
                lines.append(
                    Warned(
                        f"{one.agent}: not scored: {counted(failed, 'dialogue')} lost to the infrastructure"
                    )
                )
        for reason in dict.fromkeys(one.reason for one in self.document.realism if one.reason):
            lines.append(f"note: {reason}")
        if not self.document.realism:
            lines.append(
                f"note: how real the simulated users are is not known: {setting('--real', 'LOGS')} compares them with "
                "people"
            )
        for check in self.document.ranks:
            agreeing = f"{check.agreeing_pairs} of {counted(check.pairs, 'pair')} of agents"
            lines.append(
                f"note: {check.against} of the simulation and {check.dimension} of the real dialogues order "
                f"{agreeing} alike"
            )
        return lines

    def __str__(self) -> str:
        parts = [self.table() if len(self) else "", self.ends(), self.realism(), *self.notes()]
        return "\n\n".join(parts[:3]).strip("\n") + "\n" + "\n".join(parts[3:])

    __repr__ = __str__


def _named(ends: Mapping[str, int]) -> dict[str, Any]:
    """Counts by the words for each end."""
    return {ENDS[end]: count for end, count in ends.items()}


def _listed(counts: Mapping[str, int]) -> str:
    """Counts by kind, in words."""
    parts: Sequence[str] = [f"{kind} {count}" for kind, count in counts.items()]
    return ", ".join(parts)
