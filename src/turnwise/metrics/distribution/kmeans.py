"""k-means clustering of weighted points (k-means++ with Lloyd's algorithm or mini-batches), deterministic for a seed.

scikit-learn is not used, because its import takes seconds and its threaded sums differ in the last digit. Here there
are hundreds to tens of thousands of points in few dimensions.
"""

import numpy as np

from turnwise.types import Floats, Ints

_ROUNDS = 100  # largest number of passes over the points; Lloyd's algorithm converges in ten to thirty
_STARTS = 10  # initial centres that mini-batches choose from
_PATIENCE = 10  # batches without improvement after which mini-batches stop


def kmeans(points: Floats, k: int, *, weights: Floats, rng: np.random.Generator) -> Ints:
    """(n,) the cluster of each of the `points` (n, d), by Lloyd's algorithm with point weights (n,).

    With `k` points or fewer, each point is a cluster.
    """
    if len(points) <= k:
        return np.arange(len(points))
    squares = np.sum(points**2, axis=1)
    centres = _initial_centres(points, squares, k, weights, rng)
    from_centres = _from_centres(points, centres)
    labels = np.argmin(from_centres, axis=0)
    for _ in range(_ROUNDS):
        before, centres = centres, _means(points, squares, labels, k, weights)
        moved = np.any(centres != before, axis=1)  # in the later passes few do
        from_centres[moved] = _from_centres(points, centres[moved])
        new_labels = np.argmin(from_centres, axis=0)
        if np.array_equal(new_labels, labels):
            break
        labels = new_labels
    return np.asarray(labels)


def mini_batches(points: Floats, k: int, *, weights: Floats, rng: np.random.Generator, size: int) -> Ints:
    """(n,) the cluster of each point by Sculley's (2010) mini-batches, with scikit-learn's settings.

    It starts from the best of 10 sets of initial centres. Batches of `size` points are drawn with replacement, and each
    centre moves to the running mean of the points assigned to it. It stops when 10 batches in a row do not improve the
    smallest sum of squared distances, or after as many batches as 100 passes over the points. Unlike scikit-learn, we
    do not reassign centres that have few points. With `k` points or fewer, each is a cluster.
    """
    if len(points) <= k:
        return np.arange(len(points))
    squares = np.sum(points**2, axis=1)
    starts = [_initial_centres(points, squares, k, weights, rng) for _ in range(_STARTS)]
    centres = min(
        starts, key=lambda start: float(weights @ _nearest_distances(points, squares, start))
    ).copy()
    count = min(size, int(weights.sum()))
    total, best, waited = np.zeros(k), np.inf, 0
    for _ in range(int(_ROUNDS * weights.sum()) // count):
        batch = points[_draw(weights, count, rng)]
        labels = _nearest(batch, centres)
        loss = float(np.sum((batch - centres[labels]) ** 2))
        member = np.zeros((k, count))
        member[labels, np.arange(count)] = 1.0
        sizes = member.sum(axis=1)
        total += sizes
        centres += (member @ batch - sizes[:, None] * centres) / np.maximum(total, 1)[:, None]
        best, waited = (loss, 0) if loss < best else (best, waited + 1)
        if waited == _PATIENCE:
            break
    return _nearest(points, centres)


def _nearest_distances(points: Floats, squares: Floats, centres: Floats) -> Floats:
    """(n,) squared distance of each point to the nearest centre; `squares` has the squared length of each point."""
    return np.asarray(squares + np.min(_from_centres(points, centres), axis=0))


def _initial_centres(
    points: Floats, squares: Floats, k: int, weights: Floats, rng: np.random.Generator
) -> Floats:
    """(k, d) centres by greedy k-means++ (Arthur and Vassilvitskii 2007, section 5).

    Candidates are drawn with probability proportional to their squared distance from the nearest centre so far. The
    candidate that leaves the smallest sum of squared distances becomes a centre. The number of candidates is
    scikit-learn's: with only one, the clusters are a third wider.
    """
    tries = 2 + int(np.log(k))
    chosen = [int(_draw(weights, 1, rng)[0])]
    nearest = _squared_distances(points, squares, np.array(chosen))[0]
    for _ in range(k - 1):
        odds = weights * nearest
        candidates = _draw(odds if odds.any() else weights, tries, rng)
        distances = np.minimum(nearest, _squared_distances(points, squares, candidates))
        best = int(np.argmin(distances @ weights))
        chosen.append(int(candidates[best]))
        nearest = distances[best]
    return points[chosen]


def _draw(odds: Floats, count: int, rng: np.random.Generator) -> Ints:
    """(count,) indices drawn with replacement, with probability proportional to `odds`."""
    cumulative = np.cumsum(odds)
    drawn = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
    return np.asarray(np.minimum(drawn, len(odds) - 1))


def _squared_distances(points: Floats, squares: Floats, centres: Ints) -> Floats:
    """(c, n) squared distances of all points from the points with these indices."""
    distances = squares[centres, None] - 2 * (points[centres] @ points.T) + squares
    distances[np.arange(len(centres)), centres] = 0.0
    return np.maximum(distances, 0.0)


def _nearest(points: Floats, centres: Floats) -> Ints:
    """(n,) index of the nearest centre of each point."""
    return np.asarray(np.argmin(_from_centres(points, centres), axis=0))


def _from_centres(points: Floats, centres: Floats) -> Floats:
    """(k, n) squared distance of each point from each centre, less the squared length of the point."""
    return np.asarray(np.sum(centres**2, axis=1)[:, None] - 2 * (centres @ points.T))


def _means(points: Floats, squares: Floats, labels: Ints, k: int, weights: Floats) -> Floats:
    """(k, d) the weighted mean of each cluster; an empty cluster gets the point that is furthest from its own mean."""
    total = np.bincount(labels, weights, minlength=k)
    empty = total == 0
    means = np.zeros((k, points.shape[1]))
    order = np.argsort(labels, kind="stable")
    there, first = np.unique(labels[order], return_index=True)
    sums = np.add.reduceat(points[order] * weights[order, None], first, axis=0)
    means[there] = sums / total[there, None]
    if empty.any():
        own = means[labels]
        distances = weights * (squares - 2 * np.sum(points * own, axis=1) + np.sum(own**2, axis=1))
        means[empty] = points[np.argsort(-distances, kind="stable")[: np.count_nonzero(empty)]]
    return np.asarray(means)
