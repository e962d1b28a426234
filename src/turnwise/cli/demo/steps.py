"""The steps of `turnwise demo`: command lines, as a user types them."""

import logging
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from turnwise.terminal import columns, say

if TYPE_CHECKING:
    from turnwise.records import AgreementRecord
    from turnwise.report.claims import Claim
    from turnwise.report.runs import Run

# Agents of the family: the one that plays the people, and the one that nobody has rated.
PEOPLE, NEW = "lively-good", "plain-forgets"
PLAIN = ("rouge-l", "chrf", "distinct-2", "length")
WHOLE = "distinct-2"  # has no number for a single reply, so it cannot be attacked
LEARNED = ("usr-ret", "turnwise")
MODEL, WITHOUT = "minilm", "hashing"  # encoder of texts, and what there is without it
REFUSED = 4  # an answer too
NARROWEST, WIDEST = 40, 110  # columns of what is printed: longer lines are hard to read on any terminal


class Step(NamedTuple):
    """One command of the demo: what it writes, the question it answers, and its command line."""

    to: str  # what it writes: a folder of results, or logs
    question: str
    line: str  # names in braces are found out on the way


STEPS = (
    Step(
        "chat.jsonl",
        "Twelve agents chat, and are rated; one more is not",
        "simulate chat --family failings --agents 14 {size}",
    ),
    Step(
        "score",
        "How good are the replies? Classic metrics, distances between distributions, learned metrics",
        "score {logs} -m {metrics} -m {distances} --real {people} --draws 200",
    ),
    Step(
        "meta",
        "Which metric agrees with the raters?",
        "meta {logs} -m {metrics} --dimension overall --statistic spearman --draws 200",
    ),
    Step(
        "meta-distance",
        "Which distance between distributions agrees with the raters, agent by agent?",
        "meta {logs} -m {distances} --real {people} --level system --dimension overall --statistic spearman "
        "--no-intervals",
    ),
    Step(
        "attack",
        "Can {best} be gamed?",
        "attack {best} --contexts {people} --count 60 --budget 2000 --no-perturb",
    ),
    Step(
        "ope",
        "What would people say of {new}, whom nobody has rated?",
        "ope {logs} --target {new} --rating overall --truth {truth} --model {model} --estimator robust,fqe,dice-linear",
    ),
    Step(
        "booking.jsonl",
        "Twelve agents sell flights; the worth of each sale is known",
        "simulate booking --family graded --agents 12 {size}",
    ),
    Step(
        "ope-all",
        "How accurate are such estimates? Every seller is left out in turn and compared with the truth",
        "ope {sales} --all --rating reward --truth {worth} --model {model} --estimator robust",
    ),
    Step(
        "compare",
        "Is {first} better than {second}? The raters put these two first",
        "compare {logs} -m {best},{others} --as {first},{second} --limit 120",
    ),
)
SUMMARISED = (
    "meta",
    "attack",
    "ope",
    "ope-all",
    "compare",
)  # steps whose first sentence is printed at the end


@dataclass
class Player:
    """The steps of the demo, run in one folder."""

    folder: Path
    size: str  # size of the simulated worlds, as options
    quiet: bool

    def play(self) -> int:
        """Run all steps and write the report; stops with the exit code of the first step that fails, else returns 0."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _say(
            "Made-up agents chat with made-up people, and made-up raters judge them: the truth is known here, and no "
            "figure means anything about a real system."
        )
        if not has_models():
            _say(
                f"left out, because they need a model that is not here: {', '.join(LEARNED)}; texts are encoded by "
                f"`{WITHOUT}`. To have them: pip install 'turnwise[models]' and turnwise fetch {MODEL}"
            )
        logging.getLogger("turnwise.encode").setLevel(
            logging.ERROR
        )  # an attack tries replies longer than is read
        facts = self._facts()
        for number, step in enumerate(STEPS, start=1):
            say()
            _say(f"[{number}/{len(STEPS)}] {step.question.format_map(facts)}")
            line = [word for part in step.line.split() for word in _words(part, facts)]
            simulated = step.to.endswith(".jsonl")
            if code := self._simulate_once(line, step.to) if simulated else self._run(line, step.to):
                return code
            if not simulated:
                for claim in self._claims(step.to):
                    _say(f"-> {claim}")
            facts |= self._names_for_later_steps(step.to)
        self._report()
        return 0

    def _facts(self) -> dict[str, str]:
        """Name -> text for the names in braces of the steps that are known before the first one."""
        ready = has_models()
        files = {"logs": "logs.jsonl", "people": "people.jsonl", "truth": "chat.truth.json", "sales": "booking.jsonl",
                 "worth": "booking.truth.json"}  # fmt: skip
        model = MODEL if ready else WITHOUT
        return {
            **{name: str(self.folder / file) for name, file in files.items()},
            "size": self.size,
            "new": NEW,
            "model": model,
            "metrics": ",".join((*PLAIN, *(LEARNED if ready else ()))),
            "distances": f"fbd[model={model}],prd[model={model}]",
        }

    def _names_for_later_steps(self, name: str) -> dict[str, str]:
        """Name -> text for the names that later steps take from the finished step `name`; after the first
        simulation, also writes its logs.
        """
        from turnwise.cli.demo.stage import stage
        from turnwise.records import MetaDocument
        from turnwise.report.claims import ranked

        if name == "chat.jsonl":
            stage(self.folder / name, self.folder, people=PEOPLE, new=NEW)
        if name != "meta":
            return {}
        document = _read(self.folder / name).document
        found = document.results if isinstance(document, MetaDocument) else ()
        order = [one.metric for one in ranked(found) if one.metric != WHOLE]
        best = next((name for name in order if name in LEARNED), order[0])
        first, second = two_best(found)
        others = ",".join(metric for metric in ("rouge-l", "length") if metric != best)
        return {"best": best, "first": first, "second": second, "others": others}

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

    def _claims(self, name: str) -> "list[Claim]":
        """The claims of step `name`, with what the steps before it know of its metrics."""
        from turnwise.report.claims import claims_of

        done = [step.to for step in STEPS if (self.folder / step.to / "results.json").exists()]
        return claims_of(_read(self.folder / name), [_read(self.folder / one) for one in done])

    def _report(self) -> None:
        """Write the report in three forms, and print what follows from the results."""
        from turnwise.report.report import report, write

        folders = [str(self.folder / step.to) for step in STEPS if not step.to.endswith(".jsonl")]
        made = report(folders, title="turnwise demo: a made-up world")
        for form in ("html", "md", "json"):
            write(made, self.folder / f"report.{form}")
        say()
        _say("What follows")
        for name in SUMMARISED:
            for claim in self._claims(name)[:1]:
                _say(f"* {claim}")
        say(f"The report: {self.folder / 'report.html'}")


def two_best(records: "Sequence[AgreementRecord]") -> tuple[str, str]:
    """The two agents that people rate highest, the best first."""
    systems = next(one.systems for one in records if one.systems and one.dimension == "overall")
    first, second, *_ = sorted(systems, key=lambda one: -(one.people or 0.0))
    return first.agent, second.agent


def _words(part: str, facts: Mapping[str, str]) -> list[str]:
    """A part of a step's line with the names in braces replaced: one word, or several for `{size}`."""
    return facts["size"].split() if part == "{size}" else [part.format_map(facts)]


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
