"""Estimators by ridge regression on the features: fitted Q evaluation, its fixed point, and a reward model.

Q(s, a) = phi(s, a).v is the expected rating, undiscounted. Fitted Q (Le et al. 2019) repeats v <- b + G v, a ridge
regression of (reward at the end, otherwise the target's Q at the next turn) on the features, 2 T times for dialogues of
at most T turns; the matrix is factored once. The ridge is a tenth of the number of logged points, with features of unit
size: with 16 agents of 100 dialogues, shares of .05 to .2 ranked agents equally well, and .0005 failed on single
targets. LSTDQ (Lagoudakis and Parr 2003) solves for the fixed point, which may not exist or may lie far from where the
iteration ends; ENIGMA's figure 2 shows it stuck at 0. The value is the mean of the target's Q at first turns, each
clipped to the range of the logged ratings, because no reply can be worth more. The intercept is not penalised: a
penalty would bias the value towards 0.

The direct method is a ridge regression of a dialogue's rating on the features of each of its turns, applied to what the
target would have said. For single rated replies this is what a learned metric does. In dialogues it takes the logged
states as given and misses that the target would have led to other states.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from turnwise.estimators.linear.problem import Linear, Problem
from turnwise.types import Card, Floats

RIDGE = 0.1  # share of the number of logged points


@dataclass(frozen=True)
class Fqe(Linear):
    """The estimator `fqe`; `ridge` is a share of the number of logged points."""

    name: ClassVar[str] = "fqe"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating of the target: its fitted Q at the first turns of the logged dialogues.",
        range="that of the rating; clipped to the logged ratings",
        limits="As good as its features: what they do not tell apart is given the same Q. Errors add up over turns.",
        citation="Le et al. 2019, Batch Policy Learning under Constraints",
    )

    ridge: float = RIDGE

    def solve(self, problem: Problem) -> tuple[Floats, Mapping[str, float]]:
        """(N,) the target's fitted Q at first turns, clipped to the logged ratings; no diagnostics."""
        return first_q(problem, fitted_q(problem, self.ridge)), {}

    def value(self, problem: Problem) -> float:
        """The mean Q of `first` rows, each clipped to the ratings.

        For a problem of sums `first` is a single mean row, so that the mean Q is clipped instead of each dialogue's.
        """
        return float(first_q(problem, fitted_q(problem, self.ridge)).mean())


@dataclass(frozen=True)
class Lstdq(Linear):
    """The estimator `lstdq`: the fixed point of fitted Q, not clipped."""

    name: ClassVar[str] = "lstdq"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating of the target: the Q that is its own regression, at first turns.",
        range="that of the rating; not clipped, and anything where the fixed point is ill defined",
        limits="Unstable where the target leaves the logged dialogues: ENIGMA saw it stuck at 0.",
        citation="Lagoudakis and Parr 2003, Least-Squares Policy Iteration",
    )

    ridge: float = RIDGE

    def solve(self, problem: Problem) -> tuple[Floats, Mapping[str, float]]:
        """(N,) the target's Q at first turns by the fixed point, not clipped; no diagnostics."""
        system = problem.gram + np.diag(penalty(problem, self.ridge)) - problem.next_gram
        return problem.first @ np.linalg.lstsq(system, problem.end_reward)[0], {}

    def value(self, problem: Problem) -> float:
        """The mean of `solve`'s contributions.

        It holds also for a problem of sums, in which `first` is a single mean row.
        """
        return float(self.solve(problem)[0].mean())


@dataclass(frozen=True)
class Direct(Linear):
    """The estimator `direct`: ridge regression of a dialogue's rating on the features of each turn."""

    name: ClassVar[str] = "direct"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean predicted rating of the target's replies at the logged points.",
        range="that of the rating; not clipped",
        limits="Knows replies and not dialogues: an agent that gives up politely is rated as a polite one.",
        citation="Voloshin et al. 2019, Empirical Study of Off-Policy Policy Evaluation (direct method)",
    )

    ridge: float = RIDGE

    def solve(self, problem: Problem) -> tuple[Floats, Mapping[str, float]]:
        """(N,) the predicted rating of the target's replies, averaged over each dialogue; no diagnostics."""
        system = problem.gram + np.diag(penalty(problem, self.ridge))
        return problem.mean @ np.linalg.solve(system, problem.to_features.T @ problem.logged.xr), {}

    def value(self, problem: Problem) -> float:
        """The mean of `solve`'s contributions.

        It holds also for a problem of sums, in which `mean` is a single mean row.
        """
        return float(self.solve(problem)[0].mean())


def fitted_q(problem: Problem, ridge: float) -> Floats:
    """(d,) coefficients of Q after 2 T iterations from 0, with T the turns of the longest dialogue."""
    return q_iterations(problem, ridge)[-1]


def q_iterations(problem: Problem, ridge: float) -> list[Floats]:
    """The coefficients (d,) of Q before the first of 2 T iterations, which are 0, and after each."""
    factor = cho_factor(problem.gram + np.diag(penalty(problem, ridge)))
    b, step = cho_solve(factor, problem.end_reward), cho_solve(factor, problem.next_gram)
    found = [np.zeros_like(b)]
    for _ in range(2 * problem.longest):
        found.append(b + step @ found[-1])
    return found


def first_q(problem: Problem, v: Floats) -> Floats:
    """(N,) the target's Q at first turns, clipped to the range of the logged ratings."""
    return np.clip(problem.first @ v, problem.reward.min(), problem.reward.max())


def penalty(problem: Problem, ridge: float) -> Floats:
    """(d,) ridge penalty of each feature: `ridge` times the number of logged points; almost 0 for the constant."""
    shares = np.full(len(problem.gram), ridge)
    shares[-1] = 1e-9
    return shares * max(problem.logged.points, 1.0)
