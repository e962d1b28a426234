"""From rows of `Points` to the features of a Q function: what a reply is expected to bring about.

Frozen sentence vectors place replies by how they are worded, and agents word the same act differently. So a ridge
regression is fitted from (reply, its surface, last user turn) to what then happened (next user turn, whether the
dialogue ended, the end's reward); its predictions are the features, beside surface, user turn, history and turn. How
strong the ridge is, is chosen by leaving one agent out: what carries over from agent to agent is what is wanted.
"""

from collections.abc import Sequence

import numpy as np

from turnwise.estimators.linear.moments import Logged
from turnwise.estimators.linear.points import Layout
from turnwise.types import Floats

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


def feature_map(layout: Layout, sums: Logged, strength: float) -> Floats:
    """(p, d): features are rows times this, each scaled to unit root mean square over logged points; the 1 is last."""
    predicted = np.zeros((layout.width, sums.xy.shape[1]))
    given = inputs(layout)
    predicted[given] = predictor(sums, given, strength)
    kept = [*_columns(layout.surface), *_columns(layout.user), *_columns(layout.history)]
    kept += [*_columns(layout.turn), *_columns(layout.decision), *_columns(layout.one)]
    raw = np.hstack([predicted, np.eye(layout.width)[:, kept]])
    size = np.sqrt(np.einsum("pd,pq,qd->d", raw, sums.xx, raw, optimize=True) / sums.points)
    alive = size > 1e-9
    alive[-1] = True
    size[-1] = 1.0
    scaled: Floats = raw[:, alive] / size[alive]
    return scaled


def predictor(sums: Logged, given: Sequence[int], strength: float) -> Floats:
    """(inputs, k) ridge coefficients, the intercept, which is last, not penalised."""
    penalty = np.full(len(given), strength)
    penalty[-1] = 1e-9 * max(sums.points, 1.0)
    gram = sums.xx[np.ix_(given, given)]
    found = np.linalg.solve(gram + np.diag(penalty), sums.xy[given])
    return np.asarray(found, dtype=np.float64)


def inputs(layout: Layout) -> list[int]:
    """Columns from which what follows is predicted."""
    return [
        *_columns(layout.reply),
        *_columns(layout.surface),
        *_columns(layout.user),
        *_columns(layout.one),
    ]


def chosen_strength(layout: Layout, by_agent: Sequence[Logged]) -> float:
    """The ridge with the least error on agents left out, each outcome in units of its variance."""
    if len(by_agent) < 2:
        return STRENGTHS[2]
    given = inputs(layout)
    size = np.maximum(summed(by_agent).yy, 1e-12)
    errors = np.zeros(len(STRENGTHS))
    for place, one in enumerate(by_agent):
        rest = summed([*by_agent[:place], *by_agent[place + 1 :]])
        gram = one.xx[np.ix_(given, given)]
        for at, strength in enumerate(STRENGTHS):
            w = predictor(rest, given, strength)
            missed = one.yy - 2 * np.sum(w * one.xy[given], axis=0) + np.sum(w * (gram @ w), axis=0)
            errors[at] += np.sum(missed / size)
    return STRENGTHS[int(np.argmin(errors))]


def summed(parts: Sequence[Logged]) -> Logged:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _columns(part: slice) -> list[int]:
    return list(range(part.start, part.stop))
