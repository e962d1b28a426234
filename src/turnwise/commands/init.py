"""Write turnwise.toml, a workflow for CI and a scenario, where they are not there yet."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from turnwise import __version__
from turnwise.commands.function import function
from turnwise.commands.screen import Quiet
from turnwise.commands.validate import Validate
from turnwise.errors import DataError
from turnwise.settings.groups import Command, Resumption
from turnwise.settings.option import Option, PathLike
from turnwise.settings.schema import CONFIG
from turnwise.terminal import say, say_lines

if TYPE_CHECKING:
    from turnwise.commands.validate import FileContents

WORKFLOW, SCENARIOS = ".github/workflows/turnwise.yml", "scenarios.yaml"
SCHEMA = "https://turnwise.github.io/turnwise/schemas/config.json"  # which tools/site_pages.py publishes
METRICS = ("length", "distinct-2")  # of any dialogues
_GATES = re.compile(r"^( +)(?:diff-)?gates: \|\n(?:\1  .*\n)+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialFiles:
    """What `init` wrote, what was there before, and what to do next."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...]  # they were there, and are unchanged
    next_command: str

    def __str__(self) -> str:
        """One line a file, and the next command."""
        lines = [
            *(f"{path}: written" for path in self.written),
            *(f"{path}: was there" for path in self.kept),
        ]
        return "\n".join([*lines, f"next: {self.next_command}"])


@dataclass(frozen=True, kw_only=True)
class Files(Quiet):
    """Settings of the command line of `init`."""

    quiet: Annotated[bool, Option("Print nothing.", flags="-q --quiet")] = False


@dataclass(frozen=True, kw_only=True)
class Init(Command):
    """Write turnwise.toml, a workflow for CI and a scenario, where they are not there yet.

    turnwise.toml has settings that every command finds by itself, .github/workflows/turnwise.yml evaluates pull
    requests, and scenarios.yaml is for `play`. A file that is there is never changed. With DATA, a file of dialogues,
    turnwise.toml names it and metrics that suit it.

    \b
      turnwise init
      turnwise init logs.jsonl
    """

    command: ClassVar[str] = "init"
    screen_class = Files
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "never"

    data: Annotated[
        PathLike | None, Option("A file of dialogues, which is read and not changed.", flags="[DATA]")
    ] = field(default=None, kw_only=False)  # fmt: skip
    into: Annotated[PathLike, Option("The folder to write to.", metavar="DIR")] = "."

    def run(self) -> InitialFiles:
        """Write the files that are not there; data that cannot be read raises `DataError` before."""
        contents = None if self.data is None else _contents(str(self.data))
        metrics = METRICS if contents is None or not contents.references else ("rouge-l", *METRICS)
        texts = {
            CONFIG: _config(self._shown_data(), contents, metrics),
            WORKFLOW: workflow(metrics),
            SCENARIOS: _template(SCENARIOS),
        }
        written, kept = _write(Path(self.into), texts)
        there = "" if Path(self.into) == Path() else f"cd {shlex.quote(str(self.into))} && "
        following = "turnwise play --agent MODULE:FUNCTION" if contents is None else "turnwise score"
        return InitialFiles(written=written, kept=kept, next_command=there + following)

    def show(self, result: InitialFiles, screen: Files) -> None:
        """Print what was written, and on standard error the next command."""
        if screen.quiet:
            return
        *lines, following = str(result).splitlines()
        say_lines(*lines)
        say(following, err=True)

    def _shown_data(self) -> str | None:
        """The path of the data as a command in the folder writes it."""
        if self.data is None:
            return None
        path = str(self.data)
        return path if os.path.isabs(path) else Path(os.path.relpath(path, self.into)).as_posix()


def workflow(metrics: tuple[str, ...], *, gates: bool = False) -> str:
    """The workflow of docs/ci.md with these metrics; without `gates` they are comments, for somebody to decide on."""
    text = (
        _template(Path(WORKFLOW).name).replace("VERSION", __version__).replace("METRICS", ",".join(metrics))
    )
    return text if gates else _GATES.sub(_commented, text)


def _commented(lines: re.Match[str]) -> str:
    """These lines as a comment in their place."""
    indent = lines[1]
    return "".join(f"{indent}# {line.removeprefix(indent)}" for line in lines[0].splitlines(keepends=True))


def _template(name: str) -> str:
    """A file of the package that `init` copies."""
    return (files("turnwise.data") / "init" / name).read_text(encoding="utf-8")


def _contents(path: str) -> "FileContents":
    """What a file of dialogues holds; a problem in it raises `DataError`."""
    checked = Validate(path).run()
    if checked.problems:
        raise DataError(*checked.problems)
    return checked.files[0]


def _config(data: str | None, contents: "FileContents | None", metrics: tuple[str, ...]) -> str:
    """The text of turnwise.toml."""
    rated = [] if contents is None else list(contents.dimensions)
    compared = [f"rating:{rated[0]}"] if rated else list(metrics)
    shared = '# data = "logs.jsonl"' if data is None else f"data = {json.dumps(data, ensure_ascii=False)}"
    dimension = json.dumps(rated[0] if rated else "overall", ensure_ascii=False)
    return f"""\
#:schema {SCHEMA}
# Settings of turnwise for this folder and those below it. A command that takes something from here says so on standard
# error. The command line counts more, and --no-config leaves this file out. Functions of the library do not read it.
# Keys are the long options of a command (turnwise COMMAND --help); paths are those of the working directory.

# Keys at the top are shared by all commands that have them.
{shared}
# seed = 0
# jobs = 2

[score]
metric = {json.dumps(list(metrics))}
# gate = ["length <= 60"]  # the exit code is 1 unless the whole interval meets it
# output = "out/score"

[compare]  # of several agents
metric = {json.dumps(compared, ensure_ascii=False)}

[meta]  # which metric agrees with people's ratings?
metric = {json.dumps(list(metrics))}
dimension = {dimension}

[play]
scenarios = "{SCENARIOS}"
output = "runs.jsonl"
# agent = "my_bot:reply"  # or "openai/gpt-4o", "ollama/llama3.2", an address
"""


def _write(folder: Path, texts: Mapping[str, str]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Write each text to its file in the folder; returns the files written, and those that were there."""
    written, kept = [], []
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8") as file:  # fails if it is there
                file.write(text)
        except FileExistsError:
            kept.append(path)
        else:
            written.append(path)
    return tuple(written), tuple(kept)


COMMAND = Init
init = function(Init)
__all__ = ["InitialFiles", "init"]
