"""Balancing weights, and the doubly robust estimator that corrects fitted Q with them. `robust` is the default.

Balancing. D_i sums, over a dialogue's turns, the features of the target's reply minus those of the logged one. Weights
w_i >= 0 of mean 1 under which the weighted mean of D is zero make the logged dialogues look like the target's own in
everything that the features show; the weighted mean of the ratings is then its value. They are the stationary ratio of
DICE under the pairing of a dialogue's turns, found as the minimum of
(1/4N) sum relu(lambda + D_i.v)^2 - lambda + (eta/2)|v|^2 with w = relu(.)/2, by Newton's method. The objective is
convex and smooth enough for about a dozen steps.

Doubly robust. The value is mean Q(s_1, a'_1) + sum(w TD) / sum(w), where TD of a dialogue is the sum of its temporal
differences. If Q is right, TD has mean 0 under any weights; if the weights are right, the weighted TD is exactly the
error of Q. The weights are kept closer to 1 than those of `balance` (eta 1 instead of .01), because they only correct
and extreme ones do harm. On the booking logs that settings were chosen on (papers/enigma.md), eta .3 to 3 did equally
well, .01 and 10 less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.estimators.linear.problem import Linear, Problem, ess
from turnwise.estimators.linear.regression import RIDGE, first_q, q_iterations
from turnwise.types import Card, Floats

STEPS = 50  # largest number of Newton steps
RIDGE_FACTORS = tuple(2**power for power in range(11))  # tried in turn where fitted Q diverges
# Gradient at which Newton's method stops: weights are then exact to as many digits. Also the change of Q, as a share of
# the range of ratings, that is rounding.
_SMALL = 1e-9


@dataclass(frozen=True)
class Balance(Linear):
    """The estimator `balance`: the weighted mean rating; `eta` penalises unequal weights."""

    name: ClassVar[str] = "balance"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Weighted mean of the logged ratings, under weights that balance the target's replies and the logged.",
        range="within the logged ratings",
        limits="Cannot leave the range of what was logged; where the target talks unlike all, weights go to a few.",
        citation="Hainmueller 2012, Entropy Balancing for Causal Effects",
    )

    eta: float = 0.01

    def solve(self, problem: Problem) -> tuple[Floats, Mapping[str, float]]:
        """(N,) each dialogue's weight times its rating, and diagnostics of the weights."""
        w, diagnostics = balanced(problem.shift, self.eta)
        return w * problem.reward, diagnostics


@dataclass(frozen=True)
class Robust(Linear):
    """The estimator `robust`: fitted Q with its error corrected by balancing weights."""

    name: ClassVar[str] = "robust"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating of the target: fitted Q at first turns, plus its weighted error on the logged dialogues.",
        range="that of the rating; not clipped",
        limits="Believe it as far as its calibration over the logged agents goes, and no further: it refuses "
        "where it cannot rank those.",
        citation="Jiang and Li 2016, Doubly Robust Off-policy Value Evaluation for Reinforcement Learning; "
        "Jiang et al. 2021, Towards Automatic Evaluation of Dialog Systems",
    )

    ridge: float = RIDGE
    eta: float = 1.0

    def solve(self, problem: Problem) -> tuple[Floats, Mapping[str, float]]:
        """(N,) Q at the first turn plus the weighted sum of temporal differences of each dialogue, and diagnostics."""
        v = _stable_q(problem, self.ridge)
        w, diagnostics = balanced(problem.shift, self.eta)
        # Temporal differences, summed over turns: reward + Q(next, target's) - Q(this, logged).
        missed = problem.reward + problem.shift @ v - problem.first @ v
        return first_q(problem, v) + w * missed, diagnostics


def _stable_q(problem: Problem, ridge: float) -> Floats:
    """(d,) coefficients of Q, with the smallest of 1, 2, 4, ... times the ridge at which the iteration converges.

    With few dialogues the iteration can grow without bound for a target that talks unlike the others. It diverges if
    its last step changes Q at first turns more than the step half way, the T-th, after which nothing is left to pass
    on in a dialogue of T turns. The mean of Q does not show it: on trained sellers it stayed within the logged ratings
    where the iteration's largest eigenvalue was 1.54 (papers/enigma-trained.md).
    """
    still = _SMALL * float(np.ptp(problem.reward))
    for factor in RIDGE_FACTORS:
        steps = q_iterations(problem, ridge * factor)
        half_way = _change(problem, steps, problem.longest)
        if _change(problem, steps, 2 * problem.longest) <= max(half_way, still):
            break
    return steps[-1]


def _change(problem: Problem, steps: list[Floats], number: int) -> float:
    """The root mean square change of Q at first turns in this step of the iteration, numbered from 1."""
    return float(np.sqrt(np.mean((problem.first @ (steps[number] - steps[number - 1])) ** 2)))


def balanced(shift: Floats, eta: float) -> tuple[Floats, Mapping[str, float]]:
    """(N,) weights of mean 1 under which the (N, d) `shift` is nearly 0 on average, and diagnostics.

    The diagnostics are of the weights before they are scaled to mean 1.
    """
    size = np.sqrt(np.mean(shift**2, axis=0))
    scaled = shift[:, size > 1e-9] / size[size > 1e-9]
    w = weights(scaled, eta)
    left = np.abs(w @ scaled) / len(w)  # remaining imbalance, in root mean squares of the shift
    diagnostics = {
        "ess": ess(w),
        "mean_ratio": float(w.mean()),
        "greatest_ratio": float(w.max()),
        "imbalance": float(left.max(initial=0.0)),
    }
    return w / w.mean(), diagnostics


def weights(scaled: Floats, eta: float) -> Floats:
    """(N,) the weights w at the minimum of the objective in the module's docstring.

    `scaled` (N, d) are the D_i, each column at unit root mean square.
    """
    n, d = scaled.shape
    rows = np.hstack([np.ones((n, 1)), scaled])
    damping = np.full(d + 1, eta)
    damping[0] = 0.0
    at = np.zeros(d + 1)
    at[0] = 2.0  # starts with all weights at 1

    def objective(x: Floats) -> float:
        """The objective at x, which holds lambda and then v."""
        active = np.maximum(rows @ x, 0.0)
        return float(active @ active / (4 * n) - x[0] + damping @ x**2 / 2)

    value = objective(at)
    for _ in range(STEPS):
        active = rows @ at
        on = active > 0
        slope = rows[on].T @ active[on] / (2 * n) + damping * at
        slope[0] -= 1.0
        if np.abs(slope).max() < _SMALL:
            break
        curve = rows[on].T @ rows[on] / (2 * n) + np.diag(damping + 1e-10)
        step = np.linalg.solve(curve, slope)
        length = 1.0
        while objective(at - length * step) > value - 1e-4 * length * float(slope @ step) and length > 1e-6:
            length /= 2
        at = at - length * step
        value = objective(at)
    found: Floats = np.maximum(rows @ at, 0.0) / 2
    return found
