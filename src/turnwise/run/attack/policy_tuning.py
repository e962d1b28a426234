"""The third stage of an attack: a language model is tuned to maximise the metric, in several repetitions."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from turnwise.attacks.context import Context
from turnwise.attacks.converged_strategy import ConvergedStrategy, converged_strategy, policy_candidates
from turnwise.attacks.strategy import Candidate
from turnwise.attacks.target import Target
from turnwise.records import TuningCurves, TuningRepetition, finite
from turnwise.report.run_files import write
from turnwise.run.resume.progress_journal import Journal
from turnwise.settings.option import as_text
from turnwise.types import digest

if TYPE_CHECKING:
    from turnwise.attacks.rl import Settings, TunedPolicy
    from turnwise.commands.attack import Attacking

CURVES = "curves.json"  # in the output folder
SETTING_NAMES = ("epochs", "updates", "batch", "learning_rate", "kl", "entropy", "repetitions", "minutes")


@dataclass(slots=True)
class PolicyTuning:
    """The stage as a function without arguments: tunes all repetitions and returns the candidates of the best one.

    The records of all repetitions, best first, are then in `repetitions` and in `curves.json` of the output folder.
    """

    spec: "Attacking"
    metric: str  # signature of the metric
    target: Target
    search_on: Sequence[Context]
    test_on: Sequence[Context]
    report: Callable[[str], None]
    repetitions: list[TuningRepetition] = field(default_factory=list)

    def __call__(self) -> list[Candidate]:
        """Tune the repetitions that are not in the journal; return the candidates of the one with the highest reward.

        Every second search context is for training, the others choose the epoch. The target's budget grows by the
        calls.
        """
        from turnwise.agents.language_model import language_model
        from turnwise.attacks.rl import Settings, TunedPolicy

        settings = Settings(**{name: getattr(self.spec, name) for name in SETTING_NAMES})
        train_on, track_on = self.search_on[::2], self.search_on[1::2]
        agent = language_model(as_text(self.spec.policy), longest=self.spec.longest)
        asked_of = (self.metric, self.spec.options, self.spec.seed, str(agent.signature))
        key = digest(repr(asked_of), *(digest(one.item.id, one.human) for one in self.search_on))
        path = None if self.spec.folder is None else self.spec.folder / "repetitions.jsonl"
        inputs = self._inputs(settings, agent, train_on, track_on)
        found: list[tuple[TunedPolicy, ConvergedStrategy]] = []
        with Journal(path, key, reuse=self.spec.reuse) as journal, self.spec.executor() as workers:
            left = [number for number in range(settings.repetitions) if number not in journal]
            for number, done in workers.in_order(_repetition, inputs, left, model=True):
                journal.put(number, done)
            for number in range(settings.repetitions):
                tuned, calls = msgspec.convert(journal.get(number), tuple[TunedPolicy, int])
                self.target.calls += calls
                # `converged_strategy` scores the policy's replies and its most frequent reply again.
                self.target.budget += calls + 2 * len(track_on)
                found.append((tuned, converged_strategy(track_on, tuned.replies, self.target)))
        found.sort(key=lambda one: -one[0].reward)
        self.repetitions = [_repetition_record(*one) for one in found]
        if self.spec.files is not None:
            write(self.spec.files, CURVES, {"policy": self.spec.policy, "settings": asdict(settings),
                                                      "repetitions": self.repetitions})  # fmt: skip
        best, strategy = found[0]
        return policy_candidates(strategy, best.replies)

    def _inputs(
        self, settings: "Settings", agent: Any, train_on: Sequence[Context], track_on: Sequence[Context]
    ) -> "_RepetitionInputs":
        """The inputs of all repetitions, whose target has its own budget and, in workers, no journal of calls."""
        in_process = self.spec.on == "local" and (self.spec.jobs or 1) == 1
        target = Target(
            self.target.score, settings.calls(len(train_on), len(track_on)),
            timeout=self.target.timeout, lower_is_better=self.target.lower_is_better,
        )  # fmt: skip
        # In this process metric calls are journalled and progress is reported; workers do neither.
        if in_process:
            target.remembered, target.remember = self.target.remembered, self.target.remember
        else:
            target.remember = _ignore
        return _RepetitionInputs(
            target, settings, as_text(self.spec.policy), self.spec.longest, self.spec.seed,
            tuple(train_on), tuple(track_on), tuple(self.test_on),
            agent if in_process else None, self.report if in_process else None,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _RepetitionInputs:
    """The inputs of a repetition. Each repetition calls the metric anew, so that none depends on the others."""

    target: Target
    settings: "Settings"
    policy: str
    longest: int
    seed: int
    train_on: tuple[Context, ...]
    track_on: tuple[Context, ...]
    test_on: tuple[Context, ...]
    agent: Any  # None: the worker loads it
    report: Callable[[str], None] | None


def _repetition(inputs: _RepetitionInputs, number: int) -> "tuple[TunedPolicy, int]":
    """Tune the policy once; returns the result and the number of metric calls. `number` counts repetitions from 0."""
    from turnwise.agents.language_model import language_model
    from turnwise.attacks.rl import tune

    agent = inputs.agent or language_model(inputs.policy, longest=inputs.longest)
    one = inputs.target
    target = Target(
        one.score, one.budget, timeout=one.timeout, lower_is_better=one.lower_is_better,
        remembered=one.remembered, remember=one.remember,
    )  # fmt: skip
    tuned = tune(
        agent, target, train_on=inputs.train_on, track_on=inputs.track_on, reply_on=inputs.test_on,
        settings=inputs.settings, seed=inputs.seed, repetition=number, report=inputs.report or _ignore,
    )  # fmt: skip
    return tuned, target.calls


def _ignore(_: object) -> None:
    """Do nothing; replaces progress reports and the journal of calls in worker processes."""


def _repetition_record(tuned: "TunedPolicy", found: ConvergedStrategy) -> TuningRepetition:
    """The record of a repetition: a row of the paper's Table 4, with the curves of its Figure 2."""
    return TuningRepetition(
        repetition=tuned.repetition,
        reward=finite(tuned.reward),
        response_frequency=found.measures.response_frequency,
        lexical_variety=found.measures.lexical_variety,
        bleu=found.measures.bleu,
        jaccard=found.measures.jaccard,
        inferred=found.inferred,
        final=found.final,
        description=found.description,
        most_frequent=found.most_frequent,
        most_frequent_reward=finite(found.fixed_reward),
        best_epoch=tuned.best_epoch,
        stopped=tuned.stopped,
        curves=TuningCurves(
            **{name: tuple(map(finite, curve)) for name, curve in asdict(tuned.curves).items()}
        ),
        examples=tuple(tuned.replies.values())[:5],
    )
