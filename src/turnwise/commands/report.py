"""Tables and figures of finished runs, as one self-contained HTML file; also Markdown and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from turnwise.commands.function import function
from turnwise.commands.screen import Quiet
from turnwise.errors import UsageError, counted
from turnwise.settings.groups import Command, Restated, Resumption
from turnwise.settings.option import Option, Paths, split_paths
from turnwise.terminal import json_escape, say, say_document, visible


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


def print_schema() -> None:
    """Print the JSON Schema of results.json."""
    from turnwise.report.schema import published

    say_document(published(), escape=json_escape)


@dataclass(frozen=True, kw_only=True)
class Reporting(Quiet):
    """Settings of the command line of `report`."""

    style: Annotated[
        Literal["markdown"] | None,
        Option(
            "Print the conclusions and a folded table of each run, short enough for a comment on a pull request. "
            "Files are then written only with -o.",
            flags="--format",
        ),
    ] = None
    schema: Annotated[
        bool, Option("Print the JSON Schema of results.json, and nothing else.", prints=print_schema)
    ] = False
    restated: ClassVar[Restated] = {"quiet": {"help": "Do not print what was written."}}


@dataclass(frozen=True, kw_only=True)
class MakeReport(Command):
    """Tables and figures of finished runs, as one self-contained HTML file; also Markdown and JSON.

    DIR is what `score`, `meta`, `compare`, `diff`, `calibrate`, `power`, `attack` or `ope` wrote with -o, or a folder
    that holds several of them. Markdown has its pictures as SVG files in a folder beside it.

    \b
      turnwise report out -o report.html
      turnwise report out/score out/meta -o report.md -o report.json
      turnwise report out --format markdown >> "$GITHUB_STEP_SUMMARY"
    """

    command: ClassVar[str] = "report"
    function: ClassVar[str] = "make_report"
    screen_class = Reporting
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "never"

    folders: Annotated[
        Paths, Option("Folders that runs wrote, or folders that hold several of them.", flags="DIR...")
    ] = field(kw_only=False)
    output: Annotated[
        Paths,
        Option(
            "report.html, report.md or report.json: the name decides the form. Repeatable; () in Python writes none.",
            flags="-o --output", metavar="FILE", repeatable=True,
        ),
    ] = "report.html"  # fmt: skip
    title: Annotated[str, Option("The heading of the report.")] = "turnwise report"

    @classmethod
    def on_command_line(cls, screen: Reporting, given: dict[str, Any]) -> int:
        """As in `Command`; what is printed as Markdown is written only to files that are named."""
        unnamed: dict[str, Any] = {"output": ()} if screen.style else {}
        return super().on_command_line(screen, unnamed | given)

    def run(self) -> Report:
        """Make the report and write it."""
        from turnwise.library.comment import comment
        from turnwise.report.report import report, write
        from turnwise.report.runs import find_runs

        folders = split_paths(self.folders)
        if not folders:
            raise UsageError("name the folders of finished runs, as -o wrote them: turnwise report DIR...")
        made = report(folders, title=self.title)
        return Report(
            title=self.title,
            claims=tuple(map(str, made.claims)),
            n_figures=len(made.figures),
            written={path: tuple(write(made, Path(path))) for path in split_paths(self.output)},
            comment=comment(made, find_runs(folders)),
        )

    def show(self, report: Report, screen: Reporting) -> None:
        """Print the conclusions as Markdown, if that is asked for, and what was written."""
        if screen.style:
            say_document(report.comment, escape=visible)
        if report.written and not screen.quiet:
            say(str(report), err=True)


COMMAND = MakeReport
make_report = function(MakeReport)
__all__ = ["Report", "make_report"]
