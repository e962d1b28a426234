"""Write the scores of a run for other tools, or as a table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from turnwise.commands.function import function
from turnwise.commands.screen import Quiet
from turnwise.errors import counted
from turnwise.run.exported_scores import Form
from turnwise.settings.groups import Formatted, Restated, Resumption
from turnwise.settings.option import Option, PathLike, Paths, split_paths
from turnwise.terminal import say
from turnwise.types import Dialogue


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedScores:
    """What `export_scores` wrote."""

    path: str
    n_scores: int
    n_unscored: int  # items without a score of a metric
    left_out: Mapping[str, int] = field(default_factory=dict)  # why a score was not written -> how many

    def __str__(self) -> str:
        lines = [f"{self.path}: {counted(self.n_scores, 'score')} written"]
        if self.n_unscored:
            lines.append(f"note: {counted(self.n_unscored, 'item')} without a score")
        return "\n".join([*lines, *(f"not written: {why}: {count}" for why, count in self.left_out.items())])


@dataclass(frozen=True, kw_only=True)
class Exporting(Quiet):
    """Settings of the command line of `export`."""

    restated: ClassVar[Restated] = {"quiet": {"help": "Do not print what was written."}}


@dataclass(frozen=True, kw_only=True)
class Export(Formatted):
    """Write the scores of a run for other tools, or as a table.

    DIR is what `score` or `compare` wrote with -o. Other tools know their own ids: they are looked up in the logs that
    were scored, by --from as the run read them.

    \b
      turnwise score --from langfuse traces.json -m turnwise -o out
      turnwise export out --to langfuse --from langfuse -o scores.jsonl
      turnwise export out -o scores.csv
    """

    command: ClassVar[str] = "export"
    function: ClassVar[str] = "export_scores"
    screen_class = Exporting
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "never"
    source: ClassVar[str] = "logs"

    run_folder: Annotated[PathLike, Option("The folder of a finished run.", flags="DIR")] = field(
        kw_only=False
    )
    to: Annotated[
        Form,
        Option(
            "What takes the scores: a tidy table (.csv or .parquet), Langfuse, LangSmith, OpenTelemetry's events, or "
            "Inspect AI's precomputed_scores."
        ),
    ] = "tidy"
    logs: Annotated[
        Paths, Option("The logs that were scored. Default: those that the run names.", metavar="FILE", repeatable=True)
    ] = ()  # fmt: skip
    output: Annotated[PathLike, Option("The file to write.", flags="-o --output", metavar="FILE")]

    def run(self) -> ExportedScores:
        """Write the scores."""
        from turnwise.run.exported_scores import export

        folder = Path(self.run_folder)
        done = export(folder, self.to, Path(self.output), self._dialogues)
        return ExportedScores(
            path=str(self.output),
            n_scores=done.scores,
            n_unscored=done.unscored,
            left_out=dict(done.left_out),
        )

    def _dialogues(self) -> Iterator[Dialogue]:
        """The dialogues of the logs."""
        from turnwise.library.data import files
        from turnwise.logs.foreign import read_all
        from turnwise.run.exported_scores import inputs_of

        paths = split_paths(self.logs) or tuple(inputs_of(Path(self.run_folder)))
        with files(paths, reader=self.reader, mapping=self.mapping) as stored:
            yield from read_all(stored.paths, command=None)

    def show(self, done: ExportedScores, screen: Exporting) -> None:
        """Say what was written."""
        if not screen.quiet:
            say(str(done), err=True)


COMMAND = Export
export_scores = function(Export)
__all__ = ["ExportedScores", "export_scores"]
