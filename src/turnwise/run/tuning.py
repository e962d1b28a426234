"""The third stage of an attack: a language model is tuned to please the metric, as often as asked."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from turnwise.probe.attack import Entry
from turnwise.probe.context import Context
from turnwise.probe.converged import Converged, converged, entries
from turnwise.probe.target import Target
from turnwise.report import results
from turnwise.run.journal import Journal
from turnwise.run.spec import Spec
from turnwise.types import digest

CURVES = "curves.json"
NAMES = ("epochs", "updates", "batch", "learning_rate", "kl", "entropy", "repetitions")


@dataclass(slots=True)
class Tuning:
    """Called by the attack when it is time; what came of it is read from it afterwards."""

    spec: Spec
    target: Target
    search_on: Sequence[Context]
    judge_on: Sequence[Context]
    report: Callable[[str], None]
    repetitions: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self) -> list[Entry]:
        from turnwise.agents.language_model import language_model
        from turnwise.probe.rl import Settings, Tuned, tune

        asked = dict(self.spec.options)
        settings = Settings(**{name: asked[name] for name in NAMES})
        train_on, track_on = self.search_on[::2], self.search_on[1::2]
        agent = language_model(asked["policy"], longest=asked["longest"])
        key = digest(repr(self.spec.options), str(agent.signature), *(one.item.id for one in self.search_on))
        path = None if self.spec.output is None else self.spec.output / "repetitions.jsonl"
        found: list[tuple[Tuned, Converged]] = []
        with Journal(path, key, reuse=self.spec.reuse) as journal:
            for repetition in range(settings.repetitions):
                if repetition in journal:
                    tuned, calls = msgspec.convert(journal.get(repetition), tuple[Tuned, int])
                    self.target.calls += calls
                    self.target.budget += calls
                else:
                    before = self.target.budget, self.target.calls
                    self.target.budget = before[1] + settings.calls(len(track_on)) // settings.repetitions
                    tuned = tune(
                        agent, self.target, train_on=train_on, track_on=track_on, answer=self.judge_on,
                        settings=settings, seed=self.spec.seed, repetition=repetition, report=self.report,
                    )  # fmt: skip
                    used = self.target.calls - before[1]
                    self.target.budget = before[0] + used
                    journal.put(repetition, (tuned, used))
                self.target.budget += 2 * len(
                    track_on
                )  # the policy's replies, and its most frequent one, again
                found.append((tuned, converged(track_on, tuned.replies, self.target)))
        found.sort(key=lambda one: -one[0].reward)
        self.repetitions = [_line(*one) for one in found]
        if self.spec.output is not None:
            results.write(self.spec.output / CURVES, {"policy": asked["policy"], "settings": asdict(settings),
                                                      "repetitions": self.repetitions})  # fmt: skip
        best, strategy = found[0]
        return entries(strategy, best.replies)


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
