"""Clusters of weighted points: k-means++ and Lloyd's algorithm, the same for the same seed.

Small on purpose. scikit-learn's needs seconds of import and threads whose sums differ in the last digit; here the
points are some hundreds to some tens of thousands in few dimensions.
"""

import numpy as np

from turnwise.types import Floats, Ints

_ROUNDS = 100  # Lloyd settles in ten to thirty


def kmeans(points: Floats, k: int, *, weights: Floats, rng: np.random.Generator) -> Ints:
    """(n,) the cluster of each of the `points` (n, d); no more clusters than points."""
    if len(points) <= k:
        return np.arange(len(points))
    squares = np.sum(points**2, axis=1)
    centres = _spread(points, squares, k, weights, rng)
    labels = _nearest(points, centres)
    for _ in range(_ROUNDS):
        centres = _means(points, squares, labels, k, weights)
        moved = _nearest(points, centres)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels


def _spread(points: Floats, squares: Floats, k: int, weights: Floats, rng: np.random.Generator) -> Floats:
    """Centres by k-means++ (Arthur and Vassilvitskii 2007): each with odds of its squared distance to the others."""
    chosen = [_draw(weights, rng)]
    nearest = np.full(len(points), np.inf)
    for _ in range(k - 1):
        centre = points[chosen[-1]]
        far = squares - 2 * (points @ centre) + squares[chosen[-1]]
        nearest = np.minimum(nearest, np.maximum(far, 0.0))
        nearest[chosen[-1]] = 0.0
        odds = weights * nearest
        chosen.append(_draw(odds if odds.any() else weights, rng))
    return points[chosen]


def _draw(odds: Floats, rng: np.random.Generator) -> int:
    heights = np.cumsum(odds)
    return int(np.searchsorted(heights, rng.random() * heights[-1], side="right").clip(max=len(odds) - 1))


def _nearest(points: Floats, centres: Floats) -> Ints:
    return np.asarray(np.argmin(np.sum(centres**2, axis=1) - 2 * (points @ centres.T), axis=1))


def _means(points: Floats, squares: Floats, labels: Ints, k: int, weights: Floats) -> Floats:
    """The mean of each cluster; an empty one moves to the point that is worst served."""
    member = np.zeros((k, len(points)))
    member[labels, np.arange(len(points))] = weights
    total = member.sum(axis=1)
    empty = total == 0
    means = (member @ points) / np.where(empty, 1.0, total)[:, None]
    if empty.any():
        own = means[labels]
        gaps = weights * (squares - 2 * np.sum(points * own, axis=1) + np.sum(own**2, axis=1))
        means[empty] = points[np.argsort(-gaps, kind="stable")[: np.count_nonzero(empty)]]
    return np.asarray(means)
