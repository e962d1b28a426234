"""Check files of dialogues; every bad line is named with its place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Tables, print_json
from turnwise.errors import USAGE, Problem, counted
from turnwise.report.fitting import HINT, Layout, sized
from turnwise.settings.groups import Reading, Resumption
from turnwise.settings.option import Option
from turnwise.terminal import json_escape, say, say_document, say_lines, visible

if TYPE_CHECKING:
    from turnwise.logs.scan import Census, Dimension

SHOWN = 20  # problems that are kept; the rest are counted
NAMED = 3  # agents or dimensions that a line names
# What the table of files shows first.
HOLDINGS = Layout(
    names=("file",), results=("dialogues",), prose=("agents", "dimensions", "notes"), others=("messages",)
)


class RatedDimension(msgspec.Struct, frozen=True, kw_only=True):
    """How one dimension was rated."""

    turn_ratings: int
    dialogue_ratings: int
    raters: int
    scales: list[tuple[float, float] | None]
    good: list[Any]  # which end is good, as ratings say it


class FileContents(msgspec.Struct, frozen=True, kw_only=True):
    """What one file holds."""

    file: str
    problems: int
    dialogues: int
    messages: int
    agents: dict[str, int]
    dimensions: dict[str, RatedDimension]
    preferences: dict[str, int]
    references: bool
    alternatives: list[str]
    tool_calls: int
    parts: dict[str, int]
    sha256: str
    # Dialogues that preferences name and no file has -> the dialogue whose preference names it.
    missing_others: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What files hold, and what is wrong with them. Iterates as one dict a file."""

    files: tuple[FileContents, ...]
    problems: tuple[Problem, ...]  # the first ones
    n_problems: int  # all of them

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.n_problems

    def records(self) -> list[dict[str, Any]]:
        """One dict a file: its dialogues, messages, agents, rated dimensions and number of problems."""
        return [msgspec.to_builtins(one) for one in self.files]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.files)

    def table(self, *, wide: bool = False, hint: str = HINT) -> str:
        """A row with counts for each file without a problem; "" if every file has one.

        As wide as the terminal unless `wide`; `hint` says how to see columns that do not fit.
        """
        good = [_row(one) for one in self.files if not one.problems]
        head = ("file", "dialogues", "messages", "agents", "dimensions", "notes")
        return sized(good, head, HOLDINGS, wide=wide, hint=hint) if good else ""

    def __str__(self) -> str:
        more = self.n_problems - len(self.problems)
        lines = [self.table()] if self.table() else []
        problems = [visible(str(problem)) for problem in self.problems]
        return "\n".join([*lines, *problems, *([f"... and {more} more"] if more else [])])


def print_schema() -> None:
    """Print the JSON Schema of a line of the native format."""
    from turnwise.logs.schema import published

    say_document(published(), escape=json_escape)


@dataclass(frozen=True, kw_only=True)
class Printing(Tables):
    """Settings of the command line of `validate`."""

    schema: Annotated[
        bool,
        Option(
            "Print the JSON Schema of a line of the native format, and nothing else.", prints=print_schema
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Validate(Reading):
    """Check files of dialogues; every bad line is named with its place.

    What good files hold goes to standard output; the first 20 problems go to standard error, then a count.

    \b
      turnwise validate logs.jsonl more.jsonl.gz
    """

    command: ClassVar[str] = "validate"
    screen_class = Printing
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "never"

    def run(self) -> Validation:
        """Check the files."""
        from turnwise.logs.scan import survey

        problems = _Problems()
        files: list[FileContents] = []
        read: list[Census] = []
        with opened(self) as ready:
            for path in ready.paths:
                before = problems.count
                census = survey([path], problems.note)
                files.append(_contents(str(path), problems.count - before, census))
                read.append(census)
        # The other dialogue may be in a file that is read together with this one.
        files = [
            replace(
                file,
                missing_others={
                    other: this
                    for other, this in census.others.items()
                    if not any(other in each.ids for each in read)
                },
            )
            for file, census in zip(files, read, strict=True)
        ]
        return Validation(files=tuple(files), problems=tuple(problems.first), n_problems=problems.count)

    def show(self, validation: Validation, screen: Printing) -> int:
        """Print what good files hold, and the first problems."""
        if screen.style == "json":
            print_json(validation.records())
        elif table := screen.table_of(validation):
            say(table)
        say_lines(*map(str, validation.problems), err=True)
        if more := validation.n_problems - len(validation.problems):
            say(f"... and {more} more", err=True)
        return 0 if validation.ok else USAGE


class _Problems:
    """The first problems and the count of all of them, over several files."""

    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.count = 0

    def note(self, problem: Problem) -> None:
        """Count a problem, and keep it if it is among the first 20."""
        self.count += 1
        if self.count <= SHOWN:
            self.first.append(problem)


def _contents(file: str, problems: int, census: "Census") -> FileContents:
    """What one file holds."""
    return FileContents(
        file=file,
        problems=problems,
        dialogues=census.n_dialogues,
        messages=census.n_messages,
        agents=dict(census.agents.most_common()),
        dimensions={name: _rated(dimension) for name, dimension in census.dimensions.items()},
        preferences=dict(census.preferences),
        references=census.has_references,
        alternatives=list(census.alternatives),
        tool_calls=census.tool_calls,
        parts=dict(census.unseen.parts.most_common()),
        sha256=census.files[0].sha256,
    )


def _rated(dimension: "Dimension") -> RatedDimension:
    """How one dimension was rated."""
    return RatedDimension(
        turn_ratings=dimension.n_turn,
        dialogue_ratings=dimension.n_dialogue,
        raters=len(dimension.raters),
        scales=list(dimension.scales),
        good=list(dimension.directions),
    )


def _row(file: FileContents) -> list[Any]:
    """A row of the table of files: file, dialogues, messages, agents, dimensions with their scales, and notes."""
    agents = [f"{name} {count}" for name, count in file.agents.items()]
    dimensions = [f"{name}{_scale(about.scales)}" for name, about in file.dimensions.items()]
    notes = ["references"] if file.references else []
    if file.alternatives:
        notes.append(f"alternatives of {_several(file.alternatives)}")
    if preferences := file.preferences:
        count = counted(sum(preferences.values()), "preference")
        notes.append(f"{count} ({_several(list(preferences))})")
    if file.tool_calls:
        notes.append(counted(file.tool_calls, "tool call"))
    if file.parts:
        kinds = [f"{count} {kind}" for kind, count in file.parts.items()]
        notes.append(f"parts without text: {_several(kinds)}")
    if missing := file.missing_others:
        other, this = next(iter(missing.items()))
        notes.append(f"{_names(len(missing))} not here (`{other}`, in `{this}`)")
    if mixed := [name for name, about in file.dimensions.items() if len(about.scales) > 1]:
        notes.append(f"scales differ in {_several(mixed)}")
    counts = [file.dialogues, file.messages]
    return [file.file, *counts, _several(agents), _several(dimensions) or "-", "; ".join(notes) or "-"]


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


COMMAND = Validate
validate = function(Validate)
__all__ = ["Validation", "validate"]
