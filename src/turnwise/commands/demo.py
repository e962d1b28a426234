"""The whole loop on an embedded world: a dozen agents, their raters, and a report."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from turnwise.commands.function import function
from turnwise.commands.screen import Quiet
from turnwise.settings.groups import Command, Resumption, Seeding
from turnwise.settings.option import Option, PathLike
from turnwise.terminal import say

TRUTH = 50  # times the dialogues: conversations behind an agent's true mean, whose error is then a seventh of theirs


@dataclass(frozen=True, kw_only=True)
class InFolder(Command):
    """The folder that the demo writes to."""

    output: Annotated[
        PathLike, Option("The folder to write to.", flags="-o --output", metavar="DIR")
    ] = field(default="turnwise-demo", kw_only=False)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DemoCorpus(InFolder):
    """Write the small made-up corpus of the documentation: the command `turnwise demo --corpus`.

    It has 40 dialogues of four agents, rated by three people, and is written to demo.jsonl in the folder, whose path is
    returned. The figures that it gives mean nothing. The rest of `turnwise demo` shows the command line and has no
    function.
    """

    command: ClassVar[str] = "demo"
    function: ClassVar[str] = "demo_corpus"

    def run(self) -> Path:
        """Write it."""
        from importlib.resources import as_file, files

        folder = Path(self.output)
        folder.mkdir(parents=True, exist_ok=True)
        with as_file(files("turnwise.data") / "demo.jsonl") as corpus:
            shutil.copyfile(corpus, folder / "demo.jsonl")
        return folder / "demo.jsonl"

    def show(self, path: Path, _: Quiet) -> None:
        """Say what was written."""
        say(f"{path}: 40 made-up dialogues of four agents, rated by three made-up people")


@dataclass(frozen=True, kw_only=True)
class Playing(Quiet):
    """Settings of the command line of `demo`."""

    quiet: Annotated[bool, Option("No progress bar.", flags="-q --quiet")] = False
    corpus: Annotated[
        bool, Option("Only write the small embedded corpus to DIR/demo.jsonl, and stop.")
    ] = False  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Demo(Seeding, InFolder):
    """The whole loop on an embedded world: a dozen agents, their raters, and a report.

    Agents chat in a simulated world and are rated by simulated people. Metrics score them and are compared with the
    ratings, and the best metric is attacked. An agent that nobody rated is estimated, and the two best are compared.
    The truth is known, and no result says anything about a real system. An interrupted demo resumes.

    \b
      turnwise demo -o demo
      turnwise demo --corpus -o demo
    """

    command: ClassVar[str] = "demo"
    screen_class = Playing
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "always"

    dialogues: Annotated[int, Meta(ge=12), Option("Dialogues of each agent.", metavar="N")] = 20

    @classmethod
    def on_command_line(cls, screen: Playing, given: dict[str, Any]) -> int:
        """Play the steps, or write the corpus."""
        demo = cls(**given)
        if screen.corpus:
            corpus = DemoCorpus(demo.output)
            corpus.show(corpus.run(), screen)
            return 0
        return demo.play(quiet=screen.quiet)

    def play(self, *, quiet: bool) -> int:
        """Run the steps and write the report; returns the exit code of the first step that fails, else 0."""
        from turnwise.cli.demo.steps import Player

        size = f"--dialogues {self.dialogues} --samples 2 --truth {TRUTH * self.dialogues} --seed {self.seed}"
        return Player(Path(self.output), size, quiet).play()


COMMAND = Demo
demo_corpus = function(DemoCorpus)
__all__ = ["demo_corpus"]
