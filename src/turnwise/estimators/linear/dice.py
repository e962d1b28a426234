"""DICE in closed form: the ratio of the target's and the logs' stationary distributions, linear in features.

ENIGMA's chain (Jiang et al. 2021, section 3.1): a dialogue is padded with pseudo states up to T, one turn more than
the longest has, and then begins anew. With zeta = Phi w and nu = Phi theta its saddle point (eq. 6) is solved by
w ~ inv(A inv(C) A' + kappa C) b, scaled to mean 1: A = Phi'Delta/n, C = Phi'Phi/n, b = the mean of Phi, Delta the
features of the next state and the target's reply there less those here. The pads' part of the sums follows from how
long the dialogues are. The value is sum(zeta r)/sum(zeta) over last turns; without that post-normalisation it is
sum(zeta r)/N. Unlike the paper's squared output, zeta may be negative; `negative` says how often it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.estimators.linear.contributions import Linear, ess
from turnwise.estimators.linear.design import Question
from turnwise.estimators.linear.moments import LENGTHS
from turnwise.types import Card, Floats


@dataclass(frozen=True)
class LinearDice(Linear):
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

    def solve(self, question: Question) -> tuple[Floats, Mapping[str, float]]:
        zeta = question.last @ self._weights(question)
        total = (
            zeta.mean() if self.normalised else (1.0 if self.padded else question.logged.points / len(zeta))
        )
        looked = {
            "mean_ratio": float(zeta.mean()),
            "negative": float(np.mean(zeta < 0)),
            "ess": ess(np.maximum(zeta, 0.0)),
        }
        return zeta * question.reward / total, looked

    def value(self, question: Question) -> float:
        """From sums alone."""
        w, sums = self._weights(question), question.logged
        total = float(w @ (sums.last.sum(axis=0) @ question.map))
        if not self.normalised:
            total = sums.dialogues if self.padded else sums.points
        return float(w @ question.arrived) / total

    def _weights(self, question: Question) -> Floats:
        """(d,) of the ratio in the features, without those of pads."""
        a, c, b = padded(question) if self.padded else looped(question)
        return ratio(a, c, b, self.kappa)[: len(question.gram)]


def ratio(a: Floats, c: Floats, b: Floats, kappa: float) -> Floats:
    """(d,) w of zeta = Phi w, with mean 1."""
    # The turns' features add up to the 1: of several solutions the shortest is taken.
    inverse = np.linalg.pinv(c, rcond=1e-10, hermitian=True)
    w = np.linalg.pinv(a @ inverse @ a.T + kappa * c, rcond=1e-13, hermitian=True) @ b
    return w / (b @ w)


def padded(question: Question) -> tuple[Floats, Floats, Floats]:
    """A, C and b of the padded chain; pads 2 to T are the last T - 1 features."""
    d, n = len(question.gram), question.logged.dialogues
    longest = min(question.longest, LENGTHS)
    last = question.logged.last[:longest] @ question.map  # (T - 1, d) by length 1 to T - 1
    waiting = np.cumsum(
        question.logged.lengths[:longest]
    )  # (T - 1,) dialogues that stand at pad 2, 3, ..., T
    c = np.zeros((d + longest, d + longest))
    a = np.zeros_like(c)
    pads = np.arange(d, d + longest)
    c[:d, :d] = question.gram
    c[pads, pads] = waiting
    a[:d, :d] = question.onward - question.gram
    a[:d, pads] = last.T
    a[pads, pads] = -waiting
    a[pads[:-1], pads[1:]] = waiting[:-1]
    a[pads[-1], :d] = n * question.first.mean(axis=0)  # from the last pad a dialogue begins
    b = np.concatenate([logged_total(question), waiting])
    rows = n * (longest + 1)
    return a / rows, c / rows, b / rows


def looped(question: Question) -> tuple[Floats, Floats, Floats]:
    """As `padded`, of the chain that begins anew where a dialogue ends: example 1 of the paper says why not."""
    rows = question.logged.points
    last = question.logged.last.sum(axis=0) @ question.map
    start = question.first.mean(axis=0)
    a = question.onward - question.gram + np.outer(last, start)
    return a / rows, question.gram / rows, logged_total(question) / rows


def logged_total(question: Question) -> Floats:
    """(d,) the sum of features over logged points."""
    return question.map.T @ question.logged.total
