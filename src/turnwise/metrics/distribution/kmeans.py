"""Clusters of weighted points: k-means++ and Lloyd's algorithm or mini-batches, the same for the same seed.

Small on purpose. scikit-learn's needs seconds of import and threads whose sums differ in the last digit; here the
points are some hundreds to some tens of thousands in few dimensions.
"""

import numpy as np

from turnwise.types import Floats, Ints

_ROUNDS = 100  # Lloyd settles in ten to thirty
_STARTS, _PATIENCE = 10, 10  # of mini-batches


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


def mini_batches(points: Floats, k: int, *, weights: Floats, rng: np.random.Generator, size: int) -> Ints:
    """(n,) the cluster of each point by Sculley's (2010) mini-batches, with scikit-learn's settings.

    The best of 10 first choices; then centres move to the running mean of all points that batches of `size`, drawn
    with replacement, brought them, until 10 batches in a row lie no nearer than the best before. scikit-learn also
    moves centres that hardly ever win, which we do not.
    """
    if len(points) <= k:
        return np.arange(len(points))
    squares = np.sum(points**2, axis=1)
    starts = [_spread(points, squares, k, weights, rng) for _ in range(_STARTS)]
    centres = min(starts, key=lambda start: float(weights @ _least(points, squares, start))).copy()
    count = min(size, int(weights.sum()))
    total, best, waited = np.zeros(k), np.inf, 0
    for _ in range(int(_ROUNDS * weights.sum()) // count):
        drawn = _draw(weights, count, rng)
        labels = _nearest(points[drawn], centres)
        spread = float(np.sum((points[drawn] - centres[labels]) ** 2))
        member = np.zeros((k, count))
        member[labels, np.arange(count)] = 1.0
        total += member.sum(axis=1)
        centres += (member @ points[drawn] - member.sum(axis=1)[:, None] * centres) / np.maximum(total, 1)[
            :, None
        ]
        best, waited = (spread, 0) if spread < best else (best, waited + 1)
        if waited == _PATIENCE:
            break
    return _nearest(points, centres)


def _least(points: Floats, squares: Floats, centres: Floats) -> Floats:
    """(n,) squared distance to the nearest centre."""
    return np.asarray(squares + np.min(np.sum(centres**2, axis=1) - 2 * (points @ centres.T), axis=1))


def _spread(points: Floats, squares: Floats, k: int, weights: Floats, rng: np.random.Generator) -> Floats:
    """Centres by greedy k-means++ (Arthur and Vassilvitskii 2007, section 5).

    Candidates are drawn with odds of their squared distance to the centres so far, and the one that leaves the
    least distance in all is taken. As many as scikit-learn draws: with one, the clusters are a third wider.
    """
    tries = 2 + int(np.log(k))
    chosen = [int(_draw(weights, 1, rng)[0])]
    nearest = _gaps(points, squares, np.array(chosen))[0]
    for _ in range(k - 1):
        odds = weights * nearest
        candidates = _draw(odds if odds.any() else weights, tries, rng)
        gaps = np.minimum(nearest, _gaps(points, squares, candidates))
        best = int(np.argmin(gaps @ weights))
        chosen.append(int(candidates[best]))
        nearest = gaps[best]
    return points[chosen]


def _draw(odds: Floats, count: int, rng: np.random.Generator) -> Ints:
    heights = np.cumsum(odds)
    drawn = np.searchsorted(heights, rng.random(count) * heights[-1], side="right")
    return np.asarray(np.minimum(drawn, len(odds) - 1))


def _gaps(points: Floats, squares: Floats, centres: Ints) -> Floats:
    """(c, n) squared distances of all points from some of them."""
    gaps = squares[centres, None] - 2 * (points[centres] @ points.T) + squares
    gaps[np.arange(len(centres)), centres] = 0.0
    return np.maximum(gaps, 0.0)


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
