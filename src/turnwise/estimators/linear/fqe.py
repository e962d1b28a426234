"""Q functions by least squares, undiscounted: fitted Q evaluation and its fixed point.

Q(s, a) = phi(s, a).v is the rating to come. Fitted Q (Le et al. 2019) repeats v <- b + G v, a ridge regression of
(reward at the end, else the target's Q at the next turn) on the features, 2 T times for dialogues of at most T turns:
the sums are factored once. The ridge is a tenth of the number of logged points, features having unit size: with 16
agents of 100 dialogues, shares of .05 to .2 ranked agents equally well, .0005 failed on single targets. LSTDQ
(Lagoudakis and Parr 2003) solves for the fixed point, which need not exist nor be near where the iteration stands;
ENIGMA's figure 2 shows it stuck at 0. The value is the mean of the target's Q at first turns, each within the range
of the logged ratings, as no reply can be worth more. The intercept is not penalised: penalised, it biases the value
towards 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from turnwise.estimators.linear.contributions import Linear
from turnwise.estimators.linear.design import Question
from turnwise.types import Card, Floats

RIDGE = 0.1  # as a share of the logged points


@dataclass(frozen=True)
class Fqe(Linear):
    name: ClassVar[str] = "fqe"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating of the target: its fitted Q at the first turns of the logged dialogues.",
        range="that of the rating; not clipped",
        limits="As good as its features: what they do not tell apart is given the same Q. Errors add up over turns.",
        citation="Le et al. 2019, Batch Policy Learning under Constraints",
    )

    ridge: float = RIDGE

    def solve(self, question: Question) -> tuple[Floats, Mapping[str, float]]:
        return started(question, fitted_q(question, self.ridge)), {}

    def value(self, question: Question) -> float:
        """From sums alone: the mean of Q is kept within the ratings, instead of each Q."""
        return float(started(question, fitted_q(question, self.ridge)).mean())


@dataclass(frozen=True)
class Lstdq(Linear):
    name: ClassVar[str] = "lstdq"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating of the target: the Q that is its own regression, at first turns.",
        range="that of the rating; not clipped, and anything where the fixed point is ill defined",
        limits="Unstable where the target leaves the logged dialogues: ENIGMA saw it stuck at 0.",
        citation="Lagoudakis and Parr 2003, Least-Squares Policy Iteration",
    )

    ridge: float = RIDGE

    def solve(self, question: Question) -> tuple[Floats, Mapping[str, float]]:
        system = question.gram + np.diag(penalty(question, self.ridge)) - question.onward
        return question.first @ np.linalg.lstsq(system, question.arrived)[0], {}

    def value(self, question: Question) -> float:
        return float(self.solve(question)[0].mean())


def fitted_q(question: Question, ridge: float) -> Floats:
    """(d,) the coefficients of Q after 2 T steps from 0."""
    factor = cho_factor(question.gram + np.diag(penalty(question, ridge)))
    b, step = cho_solve(factor, question.arrived), cho_solve(factor, question.onward)
    v = np.zeros_like(b)
    for _ in range(2 * question.longest):
        v = b + step @ v
    return v


def started(question: Question, v: Floats) -> Floats:
    """(N,) the target's Q at first turns."""
    return np.clip(question.first @ v, question.reward.min(), question.reward.max())


def penalty(question: Question, ridge: float) -> Floats:
    """(d,) what is added to the diagonal."""
    shares = np.full(len(question.gram), ridge)
    shares[-1] = 1e-9
    return shares * max(question.logged.points, 1.0)
