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

MADE_UP, RATED, RATED_LICENCE = "demo.jsonl", "ji2022.jsonl.gz", "JI2022-LICENSE"  # in `turnwise.data`
TRUTH = 50  # times the dialogues: conversations behind an agent's true mean, whose error is then a seventh of theirs


@dataclass(frozen=True, kw_only=True)
class InFolder(Command):
    """The folder that the demo writes to."""

    output: Annotated[
        PathLike, Option("The folder to write to.", flags="-o --output", metavar="DIR")
    ] = field(default="turnwise-demo", kw_only=False)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DemoCorpus(InFolder):
    """Write the two corpora of the documentation: the command `turnwise demo --corpus`.

    demo.jsonl is made up: 40 dialogues of four agents, rated by three people, whose figures mean nothing. Its path is
    returned. Beside it, ji2022.jsonl.gz has 280 dialogues of seven bots, rated by the people who talked to them (Ji et
    al. 2022), and JI2022-LICENSE its licence. The rest of `turnwise demo` shows the command line and has no function.
    """

    command: ClassVar[str] = "demo"
    function: ClassVar[str] = "demo_corpus"

    def run(self) -> Path:
        """Write them."""
        from importlib.resources import as_file, files

        folder = Path(self.output)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (MADE_UP, RATED, RATED_LICENCE):
            with as_file(files("turnwise.data") / name) as corpus:
                shutil.copyfile(corpus, folder / name)
        return folder / MADE_UP

    def show(self, path: Path, _: Quiet) -> None:
        """Say what was written."""
        say(f"{path}: 40 made-up dialogues of four agents, rated by three made-up people")
        say(
            f"{path.with_name(RATED)}: 280 dialogues of seven bots, rated by the people who talked to them "
            f"(Ji et al. 2022, {RATED_LICENCE})"
        )


@dataclass(frozen=True, kw_only=True)
class Playing(Quiet):
    """Settings of the command line of `demo`."""

    quiet: Annotated[bool, Option("No progress bar.", flags="-q --quiet")] = False
    corpus: Annotated[
        bool, Option("Only write the embedded corpora, demo.jsonl and ji2022.jsonl.gz, to DIR, and stop.")
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
        """Play the steps, or write the corpora."""
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
