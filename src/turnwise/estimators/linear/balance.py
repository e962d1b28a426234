"""Weights for logged dialogues under which the target would have said what was said.

D_i sums, over a dialogue's turns, the features of the target's reply less those of the logged one. Weights w_i >= 0
of mean 1 that make the weighted mean of D vanish make the logged dialogues look like the target's own in all that the
features see; the weighted mean of the ratings is then its value. They are the stationary ratio of DICE under the
pairing of a dialogue's turns, found as the minimum of
(1/4N) sum relu(lambda + D_i.v)^2 - lambda + (eta/2)|v|^2 with w = relu(.)/2, by Newton's method: convex, and smooth
enough, so that it is done in a dozen steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.estimators.linear.contributions import Linear, ess
from turnwise.estimators.linear.design import Question
from turnwise.types import Card, Floats

STEPS = 50
_SMALL = 1e-9  # of a gradient: weights are then settled to as many digits


@dataclass(frozen=True)
class Balance(Linear):
    name: ClassVar[str] = "balance"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Weighted mean of the logged ratings, under weights that balance the target's replies and the logged.",
        range="within the logged ratings",
        limits="Cannot leave the range of what was logged; where the target talks unlike all, weights go to a few.",
        citation="Hainmueller 2012, Entropy Balancing for Causal Effects",
    )

    eta: float = 0.01

    def solve(self, question: Question) -> tuple[Floats, Mapping[str, float]]:
        w, looked = balanced(question.shift, self.eta)
        return w * question.reward, looked


def balanced(shift: Floats, eta: float) -> tuple[Floats, Mapping[str, float]]:
    """(N,) weights of mean 1, and how they came out."""
    size = np.sqrt(np.mean(shift**2, axis=0))
    scaled = shift[:, size > 1e-9] / size[size > 1e-9]
    w = weights(scaled, eta)
    left = np.abs(w @ scaled) / len(w)  # imbalance in root mean squares
    looked = {
        "ess": ess(w),
        "mean_ratio": float(w.mean()),
        "greatest_ratio": float(w.max()),
        "imbalance": float(left.max(initial=0.0)),
    }
    return w / w.mean(), looked


def weights(scaled: Floats, eta: float) -> Floats:
    n, d = scaled.shape
    rows = np.hstack([np.ones((n, 1)), scaled])
    damping = np.full(d + 1, eta)
    damping[0] = 0.0
    at = np.zeros(d + 1)
    at[0] = 2.0  # all weights 1

    def objective(x: Floats) -> float:
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
