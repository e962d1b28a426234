"""What the functions return that write files of dialogues or reports: a count of what is in them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from turnwise.errors import Problem, counted
from turnwise.report.fitting import HINT, Layout, sized
from turnwise.terminal import visible

SHOWN = 5  # failures that are printed
NAMED = 3  # agents or dimensions that a line names
# What the table of files shows first.
HOLDINGS = Layout(
    names=("file",), results=("dialogues",), prose=("agents", "dimensions", "notes"), others=("messages",)
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What `convert` wrote."""

    path: str
    n_dialogues: int
    dropped: Mapping[str, int] = field(default_factory=dict)  # what could not be kept -> how often
    reader: str = "native"  # the format that was read
    understood: tuple[str, ...] = ()  # messages by role, agents, ratings ..., a line each
    notes: tuple[str, ...] = ()  # what the reader assumed
    redacted: Mapping[str, int] | None = None  # placeholders written, by kind; None without `redact`

    def __str__(self) -> str:
        lines = [f"{self.path}: {counted(self.n_dialogues, 'dialogue')} written, read as {self.reader}"]
        lines += [*self.understood, *(f"note: {note}" for note in self.notes)]
        if self.redacted is not None:
            from turnwise.logs.redact import KINDS, NOT_COMPLETE

            kinds = [f"{self.redacted[kind]} {kind}" for kind in KINDS if self.redacted.get(kind)]
            lines.append(f"redacted: {', '.join(kinds) or 'nothing found'}; {NOT_COMPLETE}")
        lines += [f"not kept: {what}: {count}" for what, count in self.dropped.items()]
        return "\n".join(map(visible, lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What files hold, and what is wrong with them. Iterates as one dict a file."""

    files: tuple[Mapping[str, Any], ...]
    problems: tuple[Problem, ...]  # the first ones
    n_problems: int  # all of them

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.n_problems

    def records(self) -> list[dict[str, Any]]:
        """One dict a file: its dialogues, messages, agents, rated dimensions and number of problems."""
        return [dict(one) for one in self.files]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.files)

    def table(self, *, wide: bool = False, hint: str = HINT) -> str:
        """A row with counts for each file without a problem; "" if every file has one.

        As wide as the terminal unless `wide`; `hint` says how to see columns that do not fit.
        """
        good = [_holdings(one) for one in self.files if not one["problems"]]
        head = ("file", "dialogues", "messages", "agents", "dimensions", "notes")
        return sized(good, head, HOLDINGS, wide=wide, hint=hint) if good else ""

    def __str__(self) -> str:
        more = self.n_problems - len(self.problems)
        lines = [self.table()] if self.table() else []
        problems = [visible(str(problem)) for problem in self.problems]
        return "\n".join([*lines, *problems, *([f"... and {more} more"] if more else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `make_report` wrote."""

    title: str
    claims: tuple[str, ...]  # the sentences that the results support
    n_figures: int
    written: Mapping[str, tuple[Path, ...]]  # output -> the files that it consists of
    comment: str = ""  # Markdown for a pull request: the claims, and a folded table of each run

    def __str__(self) -> str:
        return "\n".join(
            visible(f"{output}: {counted(self.n_figures, 'figure')}{_pictures(files)}")
            for output, files in self.written.items()
        )


def _pictures(files: Sequence[Path]) -> str:
    """` and 2 pictures` for the files beside the report itself; empty if there are none."""
    return f" and {counted(len(files) - 1, 'picture')}" if len(files) > 1 else ""


def _holdings(record: Mapping[str, Any]) -> list[Any]:
    """A row of the table of files: file, dialogues, messages, agents, dimensions with their scales, and notes."""
    agents = [f"{name} {count}" for name, count in record["agents"].items()]
    dimensions = [f"{name}{_scale(about['scales'])}" for name, about in record["dimensions"].items()]
    notes = ["references"] if record["references"] else []
    if record["alternatives"]:
        notes.append(f"alternatives of {_several(record['alternatives'])}")
    if preferences := record["preferences"]:
        count = counted(sum(preferences.values()), "preference")
        notes.append(f"{count} ({_several(list(preferences))})")
    if record["tool_calls"]:
        notes.append(counted(record["tool_calls"], "tool call"))
    if record["parts"]:
        kinds = [f"{count} {kind}" for kind, count in record["parts"].items()]
        notes.append(f"parts without text: {_several(kinds)}")
    if missing := record["missing_others"]:
        other, this = next(iter(missing.items()))
        notes.append(f"{_names(len(missing))} not here (`{other}`, in `{this}`)")
    if mixed := [name for name, about in record["dimensions"].items() if len(about["scales"]) > 1]:
        notes.append(f"scales differ in {_several(mixed)}")
    counts = [record["dialogues"], record["messages"]]
    return [record["file"], *counts, _several(agents), _several(dimensions) or "-", "; ".join(notes) or "-"]


def _names(count: int) -> str:
    """How many records preferences name, as the beginning of a clause."""
    return "1 names a record that is" if count == 1 else f"{count} records that they name are"


def _scale(scales: Sequence[tuple[float, float] | None]) -> str:
    """` 1-5` if all ratings have one scale, else empty."""
    return f" {scales[0][0]:g}-{scales[0][1]:g}" if len(scales) == 1 and scales[0] else ""


def _several(names: Sequence[str]) -> str:
    """The first three names, and how many more there are."""
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])
