"""DICE in closed form: the ratio of the target's and the logs' stationary distributions, linear in features.

ENIGMA's chain (Jiang et al. 2021, section 3.1): a dialogue is padded with pseudo states up to T, one turn more than
the longest dialogue has, and then starts again. With zeta = Phi w and nu = Phi theta the saddle point (eq. 6) is
w ~ inv(A inv(C) A' + kappa C) b, scaled to mean 1: A = Phi'Delta/n, C = Phi'Phi/n, b = the mean of Phi, and Delta the
features of the next state with the target's reply minus those of the current state. The sums over pads follow from the
lengths of the dialogues. The value is sum(zeta r)/sum(zeta) over last turns; without that post-normalisation it is
sum(zeta r)/N. Unlike the paper's squared output, zeta may be negative; the diagnostic `negative` is the share of such
ratios.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.estimators.linear.problem import Linear, Problem, ess
from turnwise.estimators.linear.sums import LENGTHS
from turnwise.types import Card, Floats


@dataclass(frozen=True)
class LinearDice(Linear):
    """The estimator `dice-linear`.

    `normalised` is post-normalisation (eq. 7), without `padded` the chain has no pads.
    """

    name: ClassVar[str] = "dice-linear"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Logged ratings, weighted by the ratio of the target's and the logs' stationary distributions.",
        range="that of the rating; not clipped",
        limits="The ratio is linear in the features: right for targets like those logged. A mean ratio at last "
        "turns far from 1 is the alarm.",
        citation="Jiang et al. 2021, Towards Automatic Evaluation of Dialog Systems; "
        "Yang et al. 2020, Off-Policy Evaluation via the Regularized Lagrangian",
    )

    kappa: float = 0.01
    normalised: bool = True  # post-normalisation, eq. 7
    padded: bool = True

    def solve(self, problem: Problem) -> tuple[Floats, Mapping[str, float]]:
        """(N,) zeta times the rating at last turns, over the mean zeta if `normalised`, and diagnostics of zeta."""
        zeta = problem.last @ self._weights(problem)
        total = (
            zeta.mean() if self.normalised else (1.0 if self.padded else problem.logged.points / len(zeta))
        )
        diagnostics = {
            "mean_ratio": float(zeta.mean()),
            "negative": float(np.mean(zeta < 0)),
            "ess": ess(np.maximum(zeta, 0.0)),
        }
        return zeta * problem.reward / total, diagnostics

    def value(self, problem: Problem) -> float:
        """The value from sums alone; equal to the mean of the contributions of `solve`."""
        w, sums = self._weights(problem), problem.logged
        total = float(w @ (sums.last.sum(axis=0) @ problem.to_features))
        if not self.normalised:
            total = sums.dialogues if self.padded else sums.points
        return float(w @ problem.end_reward) / total

    def _weights(self, problem: Problem) -> Floats:
        """(d,) coefficients w of the ratio zeta = Phi w, without those of pads."""
        a, c, b = padded(problem) if self.padded else unpadded(problem)
        return ratio(a, c, b, self.kappa)[: len(problem.gram)]


def ratio(a: Floats, c: Floats, b: Floats, kappa: float) -> Floats:
    """(d,) w of zeta = Phi w, scaled so that zeta has mean 1; `a`, `c` and `b` as in the module's docstring."""
    # The turn indicators add up to the constant 1, so the solution is not unique: take the one of least norm.
    inverse = np.linalg.pinv(c, rcond=1e-10, hermitian=True)
    w = np.linalg.pinv(a @ inverse @ a.T + kappa * c, rcond=1e-13, hermitian=True) @ b
    return w / (b @ w)


def padded(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """A, C and b of the padded chain; pads 2 to T are the last T - 1 features."""
    d, n = len(problem.gram), problem.logged.dialogues
    longest = min(problem.longest, LENGTHS)
    last = problem.logged.last[:longest] @ problem.to_features  # (T - 1, d) by length 1 to T - 1
    waiting = np.cumsum(problem.logged.lengths[:longest])  # (T - 1,) number of dialogues at pad 2, 3, ..., T
    c = np.zeros((d + longest, d + longest))
    a = np.zeros_like(c)
    pads = np.arange(d, d + longest)
    c[:d, :d] = problem.gram
    c[pads, pads] = waiting
    a[:d, :d] = problem.next_gram - problem.gram
    a[:d, pads] = last.T
    a[pads, pads] = -waiting
    a[pads[:-1], pads[1:]] = waiting[:-1]
    a[pads[-1], :d] = n * problem.first.mean(axis=0)  # after the last pad a dialogue starts again
    b = np.concatenate([logged_total(problem), waiting])
    rows = n * (longest + 1)
    return a / rows, c / rows, b / rows


def unpadded(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """As `padded`, for a chain without pads; example 1 of the paper shows why its value is wrong."""
    rows = problem.logged.points
    last = problem.logged.last.sum(axis=0) @ problem.to_features
    start = problem.first.mean(axis=0)
    a = problem.next_gram - problem.gram + np.outer(last, start)
    return a / rows, problem.gram / rows, logged_total(problem) / rows


def logged_total(problem: Problem) -> Floats:
    """(d,) sum of features over logged points."""
    return problem.to_features.T @ problem.logged.total
