"""A correlation as a function of how often each cluster is taken.

The bootstrap takes clusters 0, 1, 2, ... times, the jackknife leaves one out, and PERM-BOTH takes a cluster
from one metric or the other: all are rows of weights on clusters. So the work on items is done once, and
the rest is linear algebra on weights. Each value equals the plain statistic on rows repeated as often as
their weight says. Of more than 11,585 items pairs are sampled (`correlation.pairs`), which widens what is
made from draws: by 6 % at a million items.
"""

from collections.abc import Callable

import numpy as np

from turnwise.stats.clusters import cluster_sums
from turnwise.stats.correlation import Pair, agree, aligned, known, pairs, ratio, tie_calibration
from turnwise.types import Floats, Ints

_CELLS = 2**16  # of one (items, draws) table: in a core's cache, twice as fast as 2**18

_MOST_PAIRS = 2**26  # seconds of work

OfWeights = Callable[[Floats], Floats]  # (b, C) -> (b,)


def of_weights(
    statistic: str,
    x: Floats,
    y: Floats,
    codes: Ints,
    n_clusters: int,
    *,
    epsilon: float | Floats | None = None,
) -> OfWeights:
    """(b, C) weights of clusters -> (b,) correlations.

    Pairwise accuracy keeps the `epsilon` given, one for all or one an item, else the one calibrated on all
    items: calibrating anew in each draw would maximise twice, and lean upwards.
    """
    known(statistic)
    x, y = aligned(x, y)
    if statistic in ("spearman", "kendall") and not (np.isnan(x).any() or np.isnan(y).any()):
        x, y = _places(x), _places(y)
    if len(x) < 2 or not np.isfinite(x).all() or not np.isfinite(y).all():
        return lambda weights: np.full(len(weights), np.nan)
    if statistic == "pearson":
        sums = cluster_sums(moments(x, y), codes, n_clusters)
        return lambda weights: pearson_of_sums(weights @ sums)
    if statistic == "spearman":
        return _spearman(x, y, codes)
    if statistic == "kendall":
        return _kendall(x, y, codes, n_clusters)
    epsilon = tie_calibration(x, y) if epsilon is None else epsilon
    return _pairwise(x, y, epsilon, codes, n_clusters)


def moments(x: Floats, y: Floats) -> Floats:
    """(n, 6): 1, x, y, xx, yy, xy shifted and scaled, which rounding feels and a correlation does not."""
    x, y = _standard(x), _standard(y)
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def pearson_of_sums(sums: Floats) -> Floats:
    """(..., 6) sums of `moments` -> (...) Pearson correlations."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1)
    vx, vy = xx - x * x / n, yy - y * y / n
    # What is left of a constant sample's variance after cancellation is rounding, not spread.
    spread = (vx > 1e-12 * xx) & (vy > 1e-12 * yy)
    r = ratio(xy - x * y / n, np.where(spread, np.sqrt(np.abs(vx)) * np.sqrt(np.abs(vy)), 0.0))
    return np.clip(r, -1.0, 1.0)


def _standard(x: Floats) -> Floats:
    x = x - x.mean()
    scale = np.abs(x).max()
    return x / scale if scale > 0 else x


def _places(x: Floats) -> Floats:
    """The order alone, in numbers that subtract: an infinite score has a place like any other."""
    return np.unique(x, return_inverse=True)[1].astype(np.float64)


def _spearman(x: Floats, y: Floats, codes: Ints) -> OfWeights:
    """Mid-ranks in every weighted sample from one sort of each side."""
    group = x.astype(np.int64)
    by_x, by_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    first_x, first_y = _firsts(x[by_x]), _firsts(y[by_y])

    def of(weights: Floats) -> Floats:
        w = np.ascontiguousarray(weights.T)  # (C, b): items take whole rows, which is fast
        rank_x, xx = _ranks(w[codes[by_x]], first_x)
        w = w[codes[by_y]]
        rank_y, yy = _ranks(w, first_y)
        w *= rank_x[group[by_y]]
        xy = np.einsum("gb,gb->b", np.add.reduceat(w, first_y, axis=0), rank_y)
        return np.clip(ratio(xy, np.sqrt(xx) * np.sqrt(yy)), -1.0, 1.0)

    return _in_blocks(of, _CELLS // len(x))


def _firsts(ordered: Floats) -> Ints:
    return np.flatnonzero(np.append(True, np.diff(ordered) > 0))


def _ranks(w: Floats, firsts: Ints) -> tuple[Floats, Floats]:
    """(n, b) weights by rising value -> (g, b) centred mid-ranks of distinct values, (b,) their squares."""
    tied = np.add.reduceat(w, firsts, axis=0)
    upto = np.cumsum(tied, axis=0)
    ranks = upto - tied / 2 - upto[-1] / 2
    return ranks, np.einsum("gb,gb->b", tied, ranks**2)


def _kendall(x: Floats, y: Floats, codes: Ints, n_clusters: int) -> OfWeights:
    def value(x: Pair, y: Pair) -> Floats:
        return np.asarray(np.sign((x[0] - x[1]) * (y[0] - y[1])))

    concordance = _pair_form(value, (x, y), codes, n_clusters)
    untied_x, untied_y = _untied(x, codes, n_clusters), _untied(y, codes, n_clusters)
    return lambda w: ratio(concordance(w), np.sqrt(untied_x(w) * untied_y(w)))


def _pairwise(x: Floats, y: Floats, epsilon: float | Floats, codes: Ints, n_clusters: int) -> OfWeights:
    def value(x: Pair, y: Pair, epsilon: Pair) -> Floats:
        return agree(x[0] - x[1], y[0] - y[1], (epsilon[0] + epsilon[1]) / 2).astype(np.float64)

    right = _pair_form(value, (x, y, np.broadcast_to(epsilon, x.shape)), codes, n_clusters)
    sizes = np.bincount(codes, minlength=n_clusters).astype(np.float64)

    def of(w: Floats) -> Floats:
        n = w @ sizes
        copies = (w * (w - 1)) @ sizes / 2  # an item and its copy are tied by both sides: right
        return ratio(right(w) + copies, n * (n - 1) / 2)

    return of


def _pair_form(
    value: Callable[..., Floats], columns: tuple[Floats, ...], codes: Ints, n_clusters: int
) -> OfWeights:
    """w' A w for cluster weights w, where A adds up, by pairs of clusters, the value of pairs of items."""
    n, cells = len(codes), n_clusters**2
    total, seen = np.zeros(cells), np.zeros(cells)
    chunk = max(2**16, cells // 4)  # adding to the whole matrix must not cost more than the pairs
    sampled = n * (n - 1) // 2 > _MOST_PAIRS
    for (first, second), *rest in pairs(codes, *columns, chunk=chunk, most=_MOST_PAIRS):
        cell = (first * n_clusters + second).ravel()
        total += np.bincount(cell, value(*rest).ravel(), minlength=cells)
        if sampled:
            seen += np.bincount(cell, minlength=cells)
    form = _form(total.reshape(n_clusters, n_clusters))
    if not sampled:
        return form
    sizes, count = np.bincount(codes, minlength=n_clusters), _form(seen.reshape(n_clusters, n_clusters))
    # The mean over the pairs seen stands for the mean over all pairs of different items.
    return lambda w: ratio(form(w), count(w)) * ((w @ sizes) ** 2 - (w * w) @ sizes) / 2


def _untied(x: Floats, codes: Ints, n_clusters: int) -> OfWeights:
    """Pairs of items that differ: (N^2 - sum of N_g^2) / 2 for N_g items at each value g."""
    from scipy.sparse import csr_array

    counts = csr_array((np.ones(len(x)), (codes, x.astype(np.int64))), shape=(n_clusters, int(x.max()) + 1))
    sizes: Floats = counts.sum(axis=1)
    return _form((np.outer(sizes, sizes) - (counts @ counts.T).toarray()) / 2)


def _form(matrix: Floats) -> OfWeights:
    return lambda w: np.einsum("bc,bc->b", w @ matrix, w)


def _in_blocks(function: OfWeights, rows: int) -> OfWeights:
    step = max(1, rows)
    return lambda w: np.concatenate(
        [np.empty(0), *(function(w[s : s + step]) for s in range(0, len(w), step))]
    )
