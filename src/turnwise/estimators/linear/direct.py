"""A reward model on the target's replies: no dynamics, only what such replies were rated on average.

A ridge regression of a dialogue's rating on the features of each of its turns, read at what the target would have
said. For single rated replies this is what a learned metric does. In dialogues it takes the logged states as they
come, and misses that the target would have led them elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.estimators.linear.contributions import Linear
from turnwise.estimators.linear.design import Question
from turnwise.estimators.linear.fqe import RIDGE, penalty
from turnwise.types import Card, Floats


@dataclass(frozen=True)
class Direct(Linear):
    name: ClassVar[str] = "direct"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean predicted rating of the target's replies at the logged points.",
        range="that of the rating; not clipped",
        limits="Knows replies and not conversations: an agent that gives up politely is rated as a polite one.",
        citation="Voloshin et al. 2019, Empirical Study of Off-Policy Policy Evaluation (direct method)",
    )

    ridge: float = RIDGE

    def solve(self, question: Question) -> tuple[Floats, Mapping[str, float]]:
        system = question.gram + np.diag(penalty(question, self.ridge))
        return question.mean @ np.linalg.solve(system, question.map.T @ question.logged.xr), {}

    def value(self, question: Question) -> float:
        """From sums alone."""
        return float(self.solve(question)[0].mean())
