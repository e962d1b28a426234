"""What linear estimators are made of: a question in features in, per-dialogue contributions out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.estimators.linear.design import Question, design
from turnwise.types import Card, Episodes, Estimate, Floats, Signature


@dataclass(frozen=True)
class Linear(ABC):
    card: ClassVar[Card]
    name: ClassVar[str]

    model: str = "minilm"  # encoder of texts

    @property
    def signature(self) -> Signature:
        from turnwise.estimators.vectors import encoder

        own = ((key, str(value)) for key, value in vars(self).items() if key != "model")
        return Signature(self.name, tuple(own), (encoder(self.model).signature,))

    @abstractmethod
    def solve(self, question: Question) -> tuple[Floats, Mapping[str, float]]:
        """(N,) contributions, whose mean is the value, and diagnostics."""

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        return self.estimates(leave_out(episodes, {target}), [target], rng=rng)[0]

    def estimates(
        self, episodes: Episodes, targets: Sequence[str], /, *, rng: np.random.Generator
    ) -> list[Estimate]:
        """Of each target, from the dialogues that it did not hold; what they share is made once."""
        made = design(episodes, self.model)
        return [self._estimate(made.question(target)) for target in targets]

    def _estimate(self, question: Question) -> Estimate:
        contributions, diagnostics = self.solve(question)
        return Estimate(
            value=float(contributions.mean()),
            contributions=contributions,
            level=float(question.reward.mean()),
            diagnostics=diagnostics,
        )


def ess(weights: Floats) -> float:
    """Effective sample size (Kish): how many equally weighted dialogues would vary as much."""
    total = float(np.sum(weights**2))
    return float(np.sum(weights)) ** 2 / total if total > 0 else 0.0
