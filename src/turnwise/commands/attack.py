"""How can a metric be gamed? Searches for replies that it scores above people's."""

import os
import sys
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import Meta, structs

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Printing
from turnwise.commands.train import Train
from turnwise.errors import TurnwiseError, UsageError, counted, unknown
from turnwise.library.results import ResultOf, result
from turnwise.records import Document, StrategyRecord
from turnwise.report.documents import AttackDocument
from turnwise.report.fitting import Layout
from turnwise.report.text import number
from turnwise.settings.data import Data
from turnwise.settings.groups import (
    Command,
    Drawing,
    Formatted,
    Limiting,
    Modelling,
    OneMetric,
    Selecting,
    Showing,
    Working,
    Writing,
)
from turnwise.settings.option import Count, Names, Option, PathLike, Paths, Positive, settings
from turnwise.terminal import say, visible

Stage = Literal["baselines", "search", "samples", "rl"]
SHOWN = 12  # strategies in the table; results.json has all
REASONS = 3  # reasons for missing scores that are printed; results.json has more
STRONG = 0.3  # correlations from this one on are printed


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Attack(ResultOf[StrategyRecord]):
    """Strategies against a metric, the strongest first."""

    columns: ClassVar[tuple[str, ...]] = (
        "kind", "score", "interval", "gain", "gain_interval", "beats_human", "fraud", "description",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("kind",),
        results=("gain", "gain_interval", "fraud"),
        keys={"fraud": ("significant",)},
        prose=("description",),
        others=("score", "beats_human", "interval"),
    )

    document: AttackDocument

    @classmethod
    def fits(cls, document: Document) -> bool:
        """As in `Result`."""
        return isinstance(document, AttackDocument) and not document.rounds

    @property
    def gameable(self) -> bool:
        """Whether a strategy was shown to score above people."""
        return self.document.verdict is not None and self.document.verdict.gameable


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hardened(ResultOf[StrategyRecord]):
    """The best fraud that is left against a hardened metric, for each file that was attacked."""

    columns: ClassVar[tuple[str, ...]] = (
        "group", "strategy", "estimate", "human_score", "gain", "fraud",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("group", "strategy"),
        results=("estimate", "human_score", "fraud"),
        keys={"fraud": ("significant",)},
        others=("gain",),
    )

    document: AttackDocument

    @classmethod
    def fits(cls, document: Document) -> bool:
        """As in `Result`."""
        return isinstance(document, AttackDocument) and bool(document.rounds)

    @property
    def robust(self) -> bool:
        """Whether nothing that was found scores above people."""
        return bool(self.document.robust)

    @property
    def metric(self) -> str:
        """The name of the hardened metric, for `metrics=`."""
        return str(self.document.hardened)


@dataclass(frozen=True, kw_only=True)
class Tuning(Command):
    """Settings of the stages `samples` and `rl`."""

    policy: Annotated[
        PathLike,
        Option("samples, rl: the language model, causal or encoder-decoder.", metavar="NAME|DIR"),
    ] = "smollm2"
    samples: Annotated[
        int,
        Meta(ge=2),
        Option(
            "samples: replies in each context, of which the metric chooses; a beam search goes on.",
        ),
    ] = 8
    epochs: Annotated[Count, Option("rl: the reward is tracked after each. The paper has 15.")] = 5
    updates: Annotated[
        Count, Option("rl: updates of the policy in an epoch. The paper has 500.")
    ] = 20  # fmt: skip
    batch: Annotated[int, Meta(ge=2), Option("rl: replies in an update.")] = 16
    repetitions: Annotated[
        Count, Option("rl: trainings from the start, of which the best is kept. The paper has 10.")
    ] = 1
    learning_rate: Annotated[Positive, Option("rl: learning rate of the policy.")] = 1e-5
    kl: Annotated[
        float,
        Meta(ge=0),
        Option("rl: penalty for a nat per token of divergence from the untuned model; the paper has 0."),
    ] = 0.05
    entropy: Annotated[float, Meta(ge=0), Option("rl: reward for a nat of entropy of the words.")] = 0.0
    longest: Annotated[int, Meta(ge=2), Option("samples, rl: tokens of a reply, at most.")] = 40
    minutes: Annotated[
        Positive | None,
        Option("rl: minutes after which a repetition ends with what it has. Default: no limit."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Attacking(
    Tuning, Showing, Limiting, Working, Drawing, Modelling, Writing, Selecting, Formatted, OneMetric
):
    """Settings of an attack."""

    command: ClassVar[str] = "attack"
    source: ClassVar[str] = "contexts"

    contexts: Annotated[
        Data,
        Option(
            "Dialogues of people, in which the strategies must reply. Repeatable.",
            metavar="DATA", repeatable=True, checked=False, record=None,
        ),
    ] = field(kw_only=False)  # fmt: skip
    count: Annotated[
        int, Meta(ge=40), Option("Number of contexts: half to search on, half to test on.")
    ] = 200  # fmt: skip
    budget: Annotated[
        int,
        Meta(ge=500),
        Option(
            "Metric calls; one call is one reply scored. Perturbations, samples and rl come on top.",
        ),
    ] = 20_000
    stages: Annotated[
        Names,
        Option(
            "baselines, search, samples (of a language model, chosen by the metric), rl (tunes the language model; "
            "slow without a GPU).",
            metavar="NAMES",
        ),
    ] = ("baselines", "search")
    perturb: Annotated[
        bool,
        Option(
            "Also report how the score changes under edits that keep the meaning, and under damaged contexts.",
            flags="--perturb/--no-perturb",
        ),
    ] = True
    timeout: Annotated[
        Positive,
        Option(
            "Time after which a reply is unscored; after ten of these the metric is given up.",
            metavar="SECONDS",
        ),
    ] = 120.0
    card: Annotated[bool, Option("Write the frauds on the card of the trained model that is attacked.")] = (
        False
    )

    def __post_init__(self) -> None:
        """As in `Checked`; no stage, or an unknown one, raises `UsageError`."""
        super().__post_init__()
        known = get_args(Stage)
        if not self.stages:
            raise UsageError("`stages` names nothing")
        for name in self.stages:
            if name not in known:
                raise unknown("stage", name, known)

    def report(self, line: str) -> None:
        """Print a line on the progress to standard error, if progress is shown and that is a terminal."""
        if self.progress and sys.stderr.isatty():
            say(line, err=True)


@dataclass(frozen=True, kw_only=True)
class Hardening(Command):
    """Settings of `harden` beside those of an attack."""

    rounds: Annotated[Count, Option("harden: rounds, at most.")] = 4
    learn_from: Annotated[
        Paths,
        Option(
            "harden: dialogues to train on. Default: those of the contexts that are not attacked. Repeatable.",
            metavar="DATA", repeatable=True,
        ),
    ] = ()  # fmt: skip
    taught: Annotated[
        int,
        Meta(ge=100),
        Option("harden: turns at which frauds are taught; encoding their texts takes time on a CPU."),
    ] = 2000
    agree_with: Annotated[
        Paths,
        Option(
            "harden: rated replies, to measure the change of the agreement with people. Repeatable.",
            metavar="RATED", repeatable=True,
        ),
    ] = ()  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AttackScreen(Printing, Hardening):
    """Settings of the command line, which runs `harden` with --harden."""

    harden: Annotated[
        bool,
        Option(
            "Train usr-ret, maude, att or guarded[metric=NAME] on the frauds found, and attack again, until nothing "
            "found scores above people."
        ),
    ] = False
    gate: Annotated[
        bool,
        Option(
            "Fail (exit 1) if the metric can be gamed, or if too little was searched; with --harden, unless nothing "
            "found scores above people."
        ),
    ] = False

    @property
    def hardening(self) -> dict[str, Any]:
        """The settings of `harden` alone."""
        return {one.name: getattr(self, one.name) for one in settings(Hardening)}


@dataclass(frozen=True, kw_only=True)
class AttackMetric(Attacking):
    """How can a metric be gamed? Searches for replies that it scores above people's.

    METRIC is any name of `turnwise ls metrics`, with settings in brackets, a `module:function` or an http
    address. Strategies are searched on one half of the contexts and tested on the other: a metric is gameable
    when a strategy's gain over people has an interval above zero, at a level shared among all that were
    tested.

    \b
      turnwise attack length --contexts dialogues.jsonl
      turnwise attack usr-ret --contexts dialogues.jsonl -o out --gate
      turnwise attack mymetrics:score --contexts dialogues.jsonl --budget 5000
    """

    screen_class = AttackScreen

    @classmethod
    def on_command_line(cls, screen: AttackScreen, given: dict[str, Any]) -> int:
        """As in `Command`; with --harden runs `harden`, for which a missing -o raises `UsageError`.

        A call of the metric that still hangs ends with the process.
        """
        from turnwise.attacks.target import has_running_call

        try:
            if not screen.harden:
                code = super().on_command_line(screen, given)
            elif given.get("output"):
                code = Harden.on_command_line(screen, given | screen.hardening)
            else:
                raise UsageError("--harden writes a model: give its folder with -o")
        except TurnwiseError as error:
            if not has_running_call():
                raise
            say(f"turnwise: error: {error}", err=True)
            code = error.exit_code
        if has_running_call():
            # A metric call that hangs in native code would crash the interpreter while it shuts down.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        return code

    def run(self) -> Attack:
        """Attack the metric."""
        from turnwise.run.attack.command import run_attack

        with opened(self) as ready:
            outcome = run_attack(ready, report=ready.report)
            return result(Attack, outcome, ready.files, figures=self.figures)

    def show(self, attack: Attack, screen: AttackScreen) -> int:
        """Print the strongest strategies and the verdict; 1 if --gate fails."""
        rows = [_short(row) for row in attack.document.results[:SHOWN]]
        code = screen.conclude(attack, rows=rows, after=_summary(attack.document))
        return code or (1 if screen.gate and (attack.gameable or attack.document.unsearched) else 0)


@dataclass(frozen=True, kw_only=True)
class Harden(Hardening, Attacking):
    """Train a metric on the frauds that an attack found and attack it again, until nothing found scores above people.

    Metrics with a trained head can be hardened, usr-ret, maude and att, and any metric of single replies as
    `guarded[metric=NAME]`. The command is `turnwise attack --harden`.
    """

    function: ClassVar[str] = "harden"

    output: Annotated[
        PathLike,
        Option(
            "Folder for the models, one for each round, and results.json; an interrupted run resumes there.",
            flags="-o --output", metavar="DIR", record=None,
        ),
    ] = field()  # fmt: skip

    @property
    def folder(self) -> Path:
        """The folder of `output`."""
        return Path(self.output)

    def run(self) -> Hardened:
        """Harden the metric."""
        from turnwise.run.attack.harden import harden as run

        with opened(self) as ready:
            outcome = run(ready, report=ready.report)
            return result(Hardened, outcome, ready.files, figures=self.figures)

    def show(self, hardened: Hardened, screen: AttackScreen) -> int:
        """Print what is left of the frauds and the rounds; 1 if --gate fails."""
        code = screen.conclude(hardened, after=_rounds(hardened.document))
        return code or (1 if screen.gate and not hardened.robust else 0)

    def training(self, kind: str, lesson: Path, folder: Path, **settings: Any) -> Train:
        """The training of a guard of this kind on a file of dialogues."""
        return Train(
            metric=kind,
            data=(str(lesson),),
            seed=self.seed,
            output=str(folder),
            model=self.model,
            settings=settings,
        )


def _short(row: StrategyRecord, width: int = 72) -> StrategyRecord:
    """The row with its description cut to `width` characters, and the number of compared contexts if it is not all."""
    text = row.description or ""
    text = text if len(text) <= width else f"{text[: width - 1]}…"
    if unscored := sum(row.unscored.values()):
        text += f" (compared in {row.n_items} of {row.n_items + unscored} contexts)"
    return structs.replace(row, description=text)


def _summary(document: AttackDocument) -> str:
    """The lines under the table: the verdict, what the scores correlate with, and replies of the worst fraud;
    empty without a verdict.
    """
    verdict = document.verdict
    people, rest = document.people, len(document.results) - SHOWN
    if verdict is None or people is None:
        return ""
    named = people.agent == "human"
    lines = [
        "",
        f"people score {number(people.score)}; {document.tried} strategies in {document.calls} calls",
        *([] if named else ["no agent is called `human`: the replies of all agents are used as people's"]),
    ]
    if document.unsearched and not verdict.gameable:
        from turnwise.attacks.attack import MIN_SEARCH_CALLS

        lines.append(
            f"too little was searched for a verdict: after testing, --budget leaves fewer than {MIN_SEARCH_CALLS} "
            "calls; raise it (the default is 20,000), or lower --count"
        )
    if document.unjudged:
        lines.append(f"not tested: {document.unjudged} strategies, because of the budget or missing scores")
    lines += [
        f"no score for {times} replies: {why}" for why, times in islice(document.errors.items(), REASONS)
    ]
    if rest > 0:
        lines.append(f"{rest} more in results.json (-o) or with --format json")
    if verdict.gameable:
        worst_one = _cut(verdict.description or "", 200)
        lines.append(f"GAMEABLE: {counted(verdict.frauds, 'fraud')} above people; the worst {worst_one}")
        worst = next(row for row in document.results if row.strategy == verdict.worst)
        for context, reply in worst.transcript:
            lines += [f"  context: {_cut(context)}", f"  reply:   {_cut(reply)}"]
    else:
        lines.append(f"no strategy was shown to score above people ({verdict.judged} tested)")
    if verdict.note:
        lines.append(f"but {verdict.note}")
    lines += [
        f"rl, repetition {one.repetition + 1}: reward {one.curves.reward[0]:.3f} -> {one.reward:.3f}; "
        f"{one.final}: {one.description}" + (f"; stopped: {one.stopped}" if one.stopped else "")
        for one in document.repetitions
    ]
    lines += [
        f"{one.description} ({one.correlation:+.2f})"
        for one in document.tendencies
        if abs(one.correlation or 0) >= STRONG
    ]
    lines += [
        f"{one.name}: {one.change:+.2f} sd on average, {one.raised:.0%} rise, {one.lowered:.0%} fall"
        for one in document.perturbations
    ]
    return "\n".join(map(visible, lines))


def _rounds(document: AttackDocument) -> str:
    """The lines under the table of --harden: each round, the change of the agreement with people, and the
    conclusion.
    """
    lines = [""]
    for one in document.rounds:
        for attacked in one.attacked:
            lines.append(
                f"round {one.round}, {attacked.contexts}: people {attacked.people:.3f}, best strategy "
                f"{attacked.score:.3f} ({_cut(attacked.description, 60)})"
            )
            if attacked.edits:
                edits = ", ".join(attacked.edits)
                lines.append(
                    f"  people's own replies, edited, score above people: {edits}; this is not taught"
                )
    lines += [
        f"{one.rated}, {one.dimension}: Spearman {number(one.before)} -> {number(one.after)}"
        for one in document.agreement
    ]
    lines.append(f"{document.summary}; the metric is now {document.hardened}")
    return "\n".join(map(visible, lines))


def _cut(text: str, width: int = 100) -> str:
    """The text in one line, cut to `width` characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= width else f"{plain[: width - 1]}…"


COMMAND = AttackMetric
attack = function(AttackMetric)
harden = function(Harden)
__all__ = ["Attack", "Hardened", "attack", "harden"]
