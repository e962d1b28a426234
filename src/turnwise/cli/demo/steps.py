"""The steps of `turnwise demo`: command lines, as a user types them."""

import logging
import shlex
import sys
import textwrap
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from turnwise.terminal import columns, say

if TYPE_CHECKING:
    from turnwise.report.claims import Claim
    from turnwise.report.runs import Run

BOTS: Final = "ji2022.jsonl.gz"
NEW: Final = "biencoder_p"  # the bot whose ratings are hidden: the first of the seven by name
PLAIN: Final = "length,distinct-2"  # metrics without a model
LEARNED: Final = "maude,turnwise"
PRIOR: Final = "reactions[without=ji2022]"  # as it was fitted before it saw these ratings
MODEL, WITHOUT = "minilm", "hashing"  # encoder of texts, and what there is without it
REFUSED: Final = 4  # an answer too
NARROWEST, WIDEST = 40, 110  # columns of what is printed: longer lines are hard to read on any terminal


class Step(NamedTuple):
    """One command of the demo: what it writes, the question it answers, and its command line."""

    to: str  # what it writes: a folder of results, or logs
    question: str
    line: str  # {folder}, {metrics} and {model} are filled in
    learned: bool = False  # left out without the models


STEPS: Final = (
    Step(
        "best",
        "People talked to seven bots and rated them. Which is best?",
        f"compare {{folder}}/{BOTS} -m rating:overall --pair none",
    ),
    Step(
        "persona",
        "Did a persona help?",
        f"compare {{folder}}/{BOTS} -m rating:overall --agents polyencoder,polyencoder_p --pair none",
    ),
    Step(
        "trust",
        "Which metric can be believed on these dialogues? None has learned from their ratings",
        f"meta {{folder}}/{BOTS} -m {{metrics}},{PRIOR} --dimension overall --level dialogue --statistic spearman",
    ),
    Step(
        "gamed",
        "Can maude be gamed, a metric of whether a reply fits?",
        "attack maude --contexts {folder}/people.jsonl --count 60 --budget 2000 --no-perturb",
        learned=True,
    ),
    Step(
        "attack",
        "And turnwise?",
        "attack turnwise --contexts {folder}/people.jsonl --count 60 --budget 2000 --no-perturb",
        learned=True,
    ),
    Step(
        "unrated",
        f"What would people say of {NEW}, if nobody had rated it? Its ratings are uncovered afterwards",
        f"ope {{folder}}/rated.jsonl {{folder}}/new.jsonl --target {NEW} --rating overall "
        "--truth {folder}/uncovered.json",
    ),
    Step(
        "unrated-all",
        "How often is that right? Each bot is left out in turn",
        f"ope {{folder}}/{BOTS} --all --rating overall",
    ),
    Step(
        "ratings",
        "How many ratings show a difference of ten points, and does a metric save some?",
        f"power {{folder}}/{BOTS} -m rating:overall --difference 10 --unpaired{{beside}}",
    ),
    Step(
        "assistants",
        "People ranked answers of today's assistants. Which metric agrees with them?",
        "meta {folder}/assistants.jsonl.gz -m {metrics} --level pair",
    ),
    Step(
        "reliable",
        "Does an agent that books flights succeed every time? gpt-4o, four trials of each task",
        "reliability {folder}/airline.jsonl.gz -m rating:reward --k 1-4",
    ),
    Step(
        "booking.jsonl",
        "A check where the truth is known: made-up agents sell flights",
        "simulate booking --family graded --agents 12 --dialogues 20 --samples 2 --truth 1000",
    ),
    Step(
        "made-up",
        "Each seller is estimated from what it would have said, and compared with the truth",
        "ope {folder}/booking.jsonl --all --rating reward --truth {folder}/booking.truth.json --model {model} "
        "--estimator robust",
    ),
)


@dataclass
class Player:
    """The steps of the demo, run in one folder that has the corpora."""

    folder: Path
    quiet: bool

    def play(self) -> int:
        """Run all steps and write the report; stops with the exit code of the first step that fails, else returns 0."""
        from turnwise.cli.demo.stage import stage

        stage(self.folder / BOTS, self.folder, new=NEW, dimension="overall")
        steps = steps_here()
        if len(steps) < len(STEPS):
            _say(
                f"left out, because they need a model that is not here: {LEARNED}; texts are encoded by "
                f"`{WITHOUT}`. To have them: pip install 'turnwise[models]' and turnwise fetch {MODEL}"
            )
            say()
        # An attack tries replies longer than is read.
        logging.getLogger("turnwise.encode").setLevel(logging.ERROR)
        for number, step in enumerate(steps, start=1):
            _say(f"[{number}/{len(steps)}] {step.question}")
            line = words(step, self.folder)
            if (
                code := self._simulate_once(line, step.to)
                if step.to.endswith(".jsonl")
                else self._run(line, step.to)
            ):
                return code
            for claim in self._claims(step)[:1]:
                _say(f"-> {claim}")
            say()
        self._report(steps)
        return 0

    def _simulate_once(self, line: list[str], file: str) -> int:
        """Simulate logs, unless the same command has written them before; returns the exit code."""
        key = self.folder / f"{Path(file).stem}.made"
        wanted = shlex.join(line)
        if key.exists() and key.read_text() == wanted:
            _say(f"{self.folder / file} is there already")
            return 0
        code = self._run(line, file)
        if not code:
            key.write_text(wanted)
        return code

    def _run(self, line: list[str], to: str) -> int:
        """Run a command line, with its table in a file; returns its exit code, or 0 for a refusal, which is a
        result.
        """
        from turnwise.cli.common.group import IN_DEMO, run

        whole = [*line, "-o", str(self.folder / to)]
        _command(whole)
        step = IN_DEMO.set(True)
        with (
            (self.folder / f"{Path(to).stem}.txt").open("w", encoding="utf-8") as file,
            redirect_stdout(file),
        ):
            code = run([*whole, *(["-q"] if self.quiet or not sys.stderr.isatty() else [])])
        IN_DEMO.reset(step)
        return 0 if code == REFUSED else code

    def _claims(self, step: Step) -> "list[Claim]":
        """The claims of a step, with what the steps before it know of its metrics; none of simulated logs."""
        from turnwise.report.claims import claims_of

        if step.to.endswith(".jsonl"):
            return []
        done = [one.to for one in STEPS if (self.folder / one.to / "results.json").exists()]
        return claims_of(_read(self.folder / step.to), [_read(self.folder / one) for one in done])

    def _report(self, steps: Sequence[Step]) -> None:
        """Write the report in three forms."""
        from turnwise.report.report import report, write

        folders = [str(self.folder / step.to) for step in steps if not step.to.endswith(".jsonl")]
        made = report(folders, title="turnwise demo, on published data")
        for form in ("html", "md", "json"):
            write(made, self.folder / f"report.{form}")
        say(f"The report: {self.folder / 'report.html'}")


def steps_here() -> tuple[Step, ...]:
    """The steps that can run with what is installed."""
    return STEPS if has_models() else tuple(step for step in STEPS if not step.learned)


def words(step: Step, folder: Path) -> list[str]:
    """The words of a step's command line, without `-o`."""
    ready = has_models()
    filled = step.line.format(
        folder="{folder}",
        metrics=f"{PLAIN},{LEARNED}" if ready else PLAIN,
        beside=" --with turnwise" if ready else "",
        model=MODEL if ready else WITHOUT,
    )
    return [word.format(folder=folder) for word in filled.split()]


def _read(folder: Path) -> "Run":
    """The finished run in a folder."""
    from turnwise.report.runs import find_runs

    return find_runs([str(folder)])[0]


def has_models() -> bool:
    """Whether learned metrics can run: the extra is installed and the weights of the encoder are here."""
    from turnwise.encode.models.catalogue import NotFetched, locate
    from turnwise.extras import is_installed

    if not is_installed("models"):
        return False
    try:
        locate(MODEL)
    except NotFetched:
        return False
    return True


def _width() -> int:
    """Columns of the terminal, kept between 40 and 110."""
    return max(NARROWEST, min(WIDEST, columns()))


def _say(words: str) -> None:
    """Print a paragraph, wrapped to the width of the terminal."""
    say(textwrap.fill(words, _width(), subsequent_indent="   ", break_on_hyphens=False))


def _command(words: Sequence[str]) -> None:
    """Print a command as a user types it, in lines that fit the terminal."""
    width = _width()
    lines = ["> turnwise"]
    for word in map(shlex.quote, words):
        if len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}"
    say("\n".join(lines))
