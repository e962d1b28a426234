"""Seven bots that people rated, and every question about them; ends with a report."""

import shutil
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any, ClassVar

from turnwise.commands.function import function
from turnwise.commands.screen import Quiet
from turnwise.settings.groups import Command, Restated, Resumption
from turnwise.settings.option import Option, PathLike
from turnwise.terminal import say

# Files in `turnwise.data`, with what is in them.
CORPORA = {
    "demo.jsonl": "40 made-up dialogues of four agents, rated by three made-up people",
    "ji2022.jsonl.gz": "280 dialogues of seven bots, rated by the people who talked to them (Ji et al. 2022, MIT)",
    "assistants.jsonl.gz": "142 answers of assistants and people, ranked by people (OpenAssistant, Apache-2.0)",
    "airline.jsonl.gz": "four trials of gpt-4o on each of 50 tasks (tau-bench, MIT)",
}
LICENCES = ("JI2022-LICENSE", "TAU-BENCH-LICENSE")


@dataclass(frozen=True, kw_only=True)
class InFolder(Command):
    """The folder that the demo writes to."""

    output: Annotated[
        PathLike, Option("The folder to write to.", flags="-o --output", metavar="DIR")
    ] = field(default="turnwise-demo", kw_only=False)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DemoCorpus(InFolder):
    """Write the corpora of the documentation: the command `turnwise demo --corpus`.

    demo.jsonl is made up: 40 dialogues of four agents, rated by three people, whose figures mean nothing. Its path is
    returned. The others are excerpts of published data: ji2022.jsonl.gz (seven bots, rated by the people who talked to
    them; Ji et al. 2022), assistants.jsonl.gz (answers that people ranked; OpenAssistant) and airline.jsonl.gz (trials
    of gpt-4o; tau-bench), with their licences. The rest of `turnwise demo` shows the command line and has no function.
    """

    command: ClassVar[str] = "demo"
    function: ClassVar[str] = "demo_corpus"

    def run(self) -> Path:
        """Write them."""
        folder = Path(self.output)
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*CORPORA, *LICENCES):
            with as_file(files("turnwise.data") / name) as corpus:
                shutil.copyfile(corpus, folder / name)
        return folder / next(iter(CORPORA))

    def show(self, path: Path, _: Quiet) -> None:
        """Say what was written."""
        for name, what in CORPORA.items():
            say(f"{path.with_name(name)}: {what}")


@dataclass(frozen=True, kw_only=True)
class Playing(Quiet):
    """Settings of the command line of `demo`."""

    restated: ClassVar[Restated] = {"quiet": {"help": "No progress bar."}}
    corpus: Annotated[bool, Option("Only write the corpora that ship to DIR, and stop.")] = False


@dataclass(frozen=True, kw_only=True)
class Demo(InFolder):
    """Seven bots that people rated, and every question about them; ends with a report.

    Which bot is best, did a persona help, which metric can be believed, can it be gamed, what would people say of a bot
    that nobody rated, how many ratings are enough: each is one command on an excerpt of published ratings (Ji et al.
    2022). Then answers of assistants that people ranked, trials of gpt-4o on tasks, and a check in a made-up world
    whose truth is known. An interrupted demo resumes.

    \b
      turnwise demo -o demo
      turnwise demo --corpus -o demo
    """

    command: ClassVar[str] = "demo"
    screen_class = Playing
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "always"

    @classmethod
    def on_command_line(cls, screen: Playing, given: dict[str, Any]) -> int:
        """Play the steps, or write the corpora."""
        demo = cls(**given)
        corpora = DemoCorpus(demo.output)
        path = corpora.run()
        if screen.corpus:
            corpora.show(path, screen)
            return 0
        from turnwise.cli.demo.steps import Player

        return Player(Path(demo.output), screen.quiet).play()


COMMAND = Demo
demo_corpus = function(DemoCorpus)
__all__ = ["demo_corpus"]
