"""The third stage of an attack: a language model is tuned to please the metric, as often as asked."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from turnwise.attacks.context import Context
from turnwise.attacks.converged import Converged, converged, entries
from turnwise.attacks.strategy import Entry
from turnwise.attacks.target import Target
from turnwise.report import results
from turnwise.run.resume.journal import Journal
from turnwise.run.spec import AttackSpec
from turnwise.types import digest

if TYPE_CHECKING:
    from turnwise.attacks.rl import Settings, Tuned

CURVES = "curves.json"
NAMES = ("epochs", "updates", "batch", "learning_rate", "kl", "entropy", "repetitions", "minutes")


@dataclass(slots=True)
class Tuning:
    """Called by the attack when it is time; what came of it is read from it afterwards."""

    spec: AttackSpec
    metric: str  # its signature
    target: Target
    search_on: Sequence[Context]
    judge_on: Sequence[Context]
    report: Callable[[str], None]
    repetitions: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self) -> list[Entry]:
        from turnwise.agents.language_model import language_model
        from turnwise.attacks.rl import Settings, Tuned

        settings = Settings(**{name: getattr(self.spec, name) for name in NAMES})
        train_on, track_on = self.search_on[::2], self.search_on[1::2]
        agent = language_model(self.spec.policy, longest=self.spec.longest)
        asked_of = (self.metric, self.spec.options, self.spec.seed, str(agent.signature))
        key = digest(repr(asked_of), *(digest(one.item.id, one.human) for one in self.search_on))
        path = None if self.spec.output is None else self.spec.output / "repetitions.jsonl"
        series = self._series(settings, agent, train_on, track_on)
        found: list[tuple[Tuned, Converged]] = []
        with Journal(path, key, reuse=self.spec.reuse) as journal, self.spec.executor() as workers:
            left = [number for number in range(settings.repetitions) if number not in journal]
            for number, done in workers.in_order(_repetition, series, left, model=True):
                journal.put(number, done)
            for number in range(settings.repetitions):
                tuned, calls = msgspec.convert(journal.get(number), tuple[Tuned, int])
                self.target.calls += calls
                # The policy's replies, and its most frequent one, are scored again.
                self.target.budget += calls + 2 * len(track_on)
                found.append((tuned, converged(track_on, tuned.replies, self.target)))
        found.sort(key=lambda one: -one[0].reward)
        self.repetitions = [_line(*one) for one in found]
        if self.spec.output is not None:
            results.write(self.spec.output / CURVES, {"policy": self.spec.policy, "settings": asdict(settings),
                                                      "repetitions": self.repetitions})  # fmt: skip
        best, strategy = found[0]
        return entries(strategy, best.replies)

    def _series(
        self, settings: "Settings", agent: Any, train_on: Sequence[Context], track_on: Sequence[Context]
    ) -> "_Series":
        alone = self.spec.on == "local" and (self.spec.jobs or 1) == 1
        target = Target(
            self.target.score, settings.calls(len(train_on), len(track_on)),
            timeout=self.target.timeout, lower_is_better=self.target.lower_is_better,
        )  # fmt: skip
        # Alone, what the metric says is remembered call by call, and progress told as it is made.
        if alone:
            target.remembered, target.remember = self.target.remembered, self.target.remember
        else:
            target.remember = _unsaid
        return _Series(
            target, settings, self.spec.policy, self.spec.longest, self.spec.seed,
            tuple(train_on), tuple(track_on), tuple(self.judge_on),
            agent if alone else None, self.report if alone else None,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Series:
    """What every repetition needs. Each asks the metric afresh, so that none depends on those before it."""

    target: Target
    settings: "Settings"
    policy: str
    longest: int
    seed: int
    train_on: tuple[Context, ...]
    track_on: tuple[Context, ...]
    judge_on: tuple[Context, ...]
    agent: Any  # None: to be loaded where the work is done
    report: Callable[[str], None] | None


def _repetition(series: _Series, number: int) -> "tuple[Tuned, int]":
    """What one repetition came to, and the calls it took."""
    from turnwise.agents.language_model import language_model
    from turnwise.attacks.rl import tune

    agent = series.agent or language_model(series.policy, longest=series.longest)
    one = series.target
    target = Target(
        one.score, one.budget, timeout=one.timeout, lower_is_better=one.lower_is_better,
        remembered=one.remembered, remember=one.remember,
    )  # fmt: skip
    tuned = tune(
        agent, target, train_on=series.train_on, track_on=series.track_on, answer=series.judge_on,
        settings=series.settings, seed=series.seed, repetition=number, report=series.report or _unsaid,
    )  # fmt: skip
    return tuned, target.calls


def _unsaid(_: object) -> None:
    """What a worker elsewhere would report or remember."""


def _line(tuned: Any, found: Converged) -> dict[str, Any]:
    """A line of the paper's Table 4, with the curves of its Figure 2."""
    return {
        "repetition": tuned.repetition,
        "reward": tuned.reward,
        **asdict(found.measures),
        "inferred": found.inferred,
        "final": found.final,
        "description": found.description,
        "most_frequent": found.most_frequent,
        "most_frequent_reward": found.fixed_reward,
        "best_epoch": tuned.best_epoch,
        "stopped": tuned.stopped,
        "curves": asdict(tuned.curves),
        "examples": list(tuned.replies.values())[:5],
    }
