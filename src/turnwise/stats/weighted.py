"""Correlations as functions of cluster weights.

The bootstrap draws a cluster 0, 1, 2, ... times, the jackknife leaves one out, and PERM-BOTH takes a cluster from one
metric or the other: each is a row of weights on clusters. The work on items is done once, and the rest is linear
algebra on weights. A value equals the plain statistic on items repeated as often as their weight says. Above 11,585
items the pairs are sampled (`item_pairs`), which widens intervals: by 6 % at a million items.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from turnwise.stats.clusters import cluster_sums
from turnwise.stats.correlation import check_statistic, divide_or_nan, tau_c_scale
from turnwise.stats.pairs.item_pairs import Pair, checked_pair, item_pairs, ordered_alike
from turnwise.stats.pairs.pairwise import tie_calibration
from turnwise.types import Floats, Ints

_CELLS = 2**16  # numbers in one (items, draws) table: fits in a core's cache, measured twice as fast as 2**18
_MAX_PAIRS = 2**26  # maximum number of item pairs: a few seconds of work

_EXACT = 2**24  # integers below it are exact in single precision

Weighted = Callable[[Floats], Floats]  # (b, C) cluster weights -> (b,) values


@dataclass(frozen=True, slots=True)
class WeightedStatistic:
    """A statistic as a function of (b, C) cluster weights, with (b,) values."""

    of: Weighted
    without_each: Callable[[], Floats]  # () -> (C,) values with each cluster left out in turn

    def __call__(self, weights: Floats) -> Floats:
        return self.of(weights)


def weighted_correlation(
    statistic: str,
    x: Floats,
    y: Floats,
    codes: Ints,
    n_clusters: int,
    *,
    epsilon: float | Floats | None = None,
) -> WeightedStatistic:
    """The correlation of `x` and `y` as a function of (b, C) cluster weights, with (b,) values.

    Pairwise accuracy uses `epsilon`, one number or one an item; the default is the one calibrated on all items.
    Calibrating again in each draw would maximise twice and bias the draws upwards. All values are NaN with fewer than
    two items, or where an item's value is NaN or, for Pearson and pairwise accuracy, infinite.
    """
    check_statistic(statistic)
    x, y = checked_pair(x, y)
    if statistic in ("spearman", "kendall", "tau-c") and not (np.isnan(x).any() or np.isnan(y).any()):
        x, y = _dense_ranks(x), _dense_ranks(y)
    if len(x) < 2 or not np.isfinite(x).all() or not np.isfinite(y).all():
        return WeightedStatistic(
            lambda weights: np.full(len(weights), np.nan), lambda: np.full(n_clusters, np.nan)
        )
    if statistic == "pearson":
        sums = cluster_sums(moments(x, y), codes, n_clusters)
        return WeightedStatistic(
            lambda weights: pearson_from_sums(weights @ sums),
            lambda: pearson_from_sums(sums.sum(axis=0) - sums),
        )
    if statistic == "spearman":
        return _spearman(x, y, codes, n_clusters)
    if statistic == "tau-c":
        return _tau_c(x, y, codes, n_clusters)
    if statistic == "kendall":
        return _kendall(x, y, codes, n_clusters)
    epsilon = tie_calibration(x, y) if epsilon is None else epsilon
    return _pairwise(x, y, epsilon, codes, n_clusters)


def moments(x: Floats, y: Floats) -> Floats:
    """Moments 1, x, y, xx, yy, xy of each item (n, 6), after centring and scaling, which reduces rounding error."""
    x, y = _scaled(x), _scaled(y)
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def pearson_from_sums(sums: Floats) -> Floats:
    """(..., 6) sums of `moments` -> (...) Pearson correlations; NaN where a side is constant."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1)
    vx, vy = xx - x * x / n, yy - y * y / n
    # After cancellation, the variance of a constant sample is rounding error.
    varies = (vx > 1e-12 * xx) & (vy > 1e-12 * yy)
    r = divide_or_nan(xy - x * y / n, np.where(varies, np.sqrt(np.abs(vx)) * np.sqrt(np.abs(vy)), 0.0))
    return np.clip(r, -1.0, 1.0)


def _scaled(x: Floats) -> Floats:
    """Values minus their mean, divided by the largest absolute one; 0 if all are equal."""
    x = x - x.mean()
    scale = np.abs(x).max()
    return x / scale if scale > 0 else x


def _dense_ranks(x: Floats) -> Floats:
    """Dense ranks from 0, as floats: they keep the order and are finite for infinite scores."""
    return np.unique(x, return_inverse=True)[1].astype(np.float64)


def _spearman(x: Floats, y: Floats, codes: Ints, n_clusters: int) -> WeightedStatistic:
    """Weighted Spearman correlation of dense ranks: mid-ranks in every weighted sample, from one sort of each side."""
    group = x.astype(np.int64)
    by_x, by_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    first_x, first_y = _group_starts(x[by_x]), _group_starts(y[by_y])

    def of(weights: Floats) -> Floats:
        """(b, C) cluster weights -> (b,) correlations."""
        w = np.ascontiguousarray(weights.T)  # (C, b), so that indexing by item copies contiguous rows
        rank_x, xx = _centred_midranks(w[codes[by_x]], first_x)
        w = w[codes[by_y]]
        rank_y, yy = _centred_midranks(w, first_y)
        w *= rank_x[group[by_y]]
        xy = np.einsum("gb,gb->b", np.add.reduceat(w, first_y, axis=0), rank_y)
        return np.clip(divide_or_nan(xy, np.sqrt(xx) * np.sqrt(yy)), -1.0, 1.0)

    blocks = _in_blocks(of, _CELLS // len(x))
    return WeightedStatistic(blocks, lambda: blocks(1.0 - np.eye(n_clusters)))


def _group_starts(ordered: Floats) -> Ints:
    """Index of the first of each run of equal values in sorted values."""
    return np.flatnonzero(np.append(True, np.diff(ordered) > 0))


def _centred_midranks(w: Floats, firsts: Ints) -> tuple[Floats, Floats]:
    """Centred mid-ranks (g, b) of distinct values and their weighted sums of squares (b,).

    `w` has the (n, b) weights of items sorted by value; `firsts` has the index of the first item of each value.
    """
    tied = np.add.reduceat(w, firsts, axis=0)
    cumulative = np.cumsum(tied, axis=0)
    ranks = cumulative - tied / 2 - cumulative[-1] / 2
    return ranks, np.einsum("gb,gb->b", tied, ranks**2)


def _kendall(x: Floats, y: Floats, codes: Ints, n_clusters: int) -> WeightedStatistic:
    """Weighted tau-b: concordant minus discordant pairs over the geometric mean of the untied pairs of each side.

    `x` and `y` must be dense ranks.
    """

    concordance = _pair_quadratic_form(_concordant, (x, y), codes, n_clusters)
    untied_x, untied_y = _untied(x, codes, n_clusters), _untied(y, codes, n_clusters)

    def tau(concordance: Floats, untied_x: Floats, untied_y: Floats) -> Floats:
        """tau-b from its three counts."""
        return divide_or_nan(concordance, np.sqrt(untied_x * untied_y))

    return WeightedStatistic(
        lambda w: tau(concordance(w), untied_x(w), untied_y(w)),
        lambda: tau(concordance.without_each(), untied_x.without_each(), untied_y.without_each()),
    )


def _concordant(x: Pair, y: Pair) -> Floats:
    """For each pair of items 1 if both sides order it alike, -1 if in opposite ways, 0 for a tie."""
    return np.asarray(np.sign((x[0] - x[1]) * (y[0] - y[1])))


def _tau_c(x: Floats, y: Floats, codes: Ints, n_clusters: int) -> WeightedStatistic:
    """Weighted tau-c of dense ranks; the number of values is that of the weighted sample."""
    concordance = _pair_quadratic_form(_concordant, (x, y), codes, n_clusters)
    sizes = np.bincount(codes, minlength=n_clusters).astype(np.float64)
    sides = [np.zeros((n_clusters, int(side.max()) + 1), dtype=bool) for side in (x, y)]
    for side, used in zip((x, y), sides, strict=True):
        used[codes, side.astype(np.int64)] = True

    def of(w: Floats) -> Floats:
        """(b, C) cluster weights -> (b,) values of tau-c."""
        drawn = (w > 0).astype(np.float32)
        values = np.min([np.count_nonzero(drawn @ used.astype(np.float32), axis=1) for used in sides], axis=0)
        return divide_or_nan(2 * concordance(w), tau_c_scale(w @ sizes, values))

    def without_each() -> Floats:
        """The values with each cluster left out; a value that is in no other cluster is lost."""
        lost = [np.count_nonzero(used & (used.sum(axis=0) == 1), axis=1) for used in sides]
        values = np.min([used.shape[1] - gone for used, gone in zip(sides, lost, strict=True)], axis=0)
        return divide_or_nan(2 * concordance.without_each(), tau_c_scale(len(codes) - sizes, values))

    rows = _CELLS // max(used.shape[1] for used in sides)
    return WeightedStatistic(_in_blocks(of, rows), without_each)


def _pairwise(
    x: Floats, y: Floats, epsilon: float | Floats, codes: Ints, n_clusters: int
) -> WeightedStatistic:
    """Weighted pairwise accuracy; a pair of items uses the mean of their two epsilons."""

    def value(x: Pair, y: Pair, epsilon: Pair) -> Floats:
        """For each pair of items 1 if both sides order or tie it alike, else 0."""
        return ordered_alike(x[0] - x[1], y[0] - y[1], (epsilon[0] + epsilon[1]) / 2).astype(np.float64)

    right = _pair_quadratic_form(value, (x, y, np.broadcast_to(epsilon, x.shape)), codes, n_clusters)
    sizes = np.bincount(codes, minlength=n_clusters).astype(np.float64)

    def of(w: Floats) -> Floats:
        """(b, C) cluster weights -> (b,) accuracies; NaN for a sample of fewer than two items."""
        n = w @ sizes
        copies = (w * (w - 1)) @ sizes / 2  # an item and its own copy are tied on both sides: correct
        return divide_or_nan(right(w) + copies, n * (n - 1) / 2)

    def without_each() -> Floats:
        """The accuracies with each cluster left out."""
        n = sizes.sum() - sizes
        return divide_or_nan(right.without_each(), n * (n - 1) / 2)

    return WeightedStatistic(of, without_each)


def _pair_quadratic_form(
    value: Callable[..., Floats], columns: tuple[Floats, ...], codes: Ints, n_clusters: int
) -> WeightedStatistic:
    """The function w' A w of cluster weights w; A[c, d] is the sum of `value` over item pairs of clusters c and d.

    Of very many pairs a sample is used, and the result is scaled up to all pairs.
    """
    n, cells = len(codes), n_clusters**2
    total, seen = np.zeros(cells), np.zeros(cells)
    chunk = max(2**16, cells // 4)  # so that adding the whole matrix costs less than computing the pairs
    sampled = n * (n - 1) // 2 > _MAX_PAIRS
    for (first, second), *rest in item_pairs(codes, *columns, chunk=chunk, max_pairs=_MAX_PAIRS):
        cell = (first * n_clusters + second).ravel()
        total += np.bincount(cell, value(*rest).ravel(), minlength=cells)
        if sampled:
            seen += np.bincount(cell, minlength=cells)
    form = _quadratic_form(total.reshape(n_clusters, n_clusters))
    if not sampled:
        return form
    sizes = np.bincount(codes, minlength=n_clusters)
    count = _quadratic_form(seen.reshape(n_clusters, n_clusters))
    # The mean over the sampled pairs estimates the mean over all pairs of different items.
    return WeightedStatistic(
        lambda w: divide_or_nan(form(w), count(w)) * ((w @ sizes) ** 2 - (w * w) @ sizes) / 2,
        lambda: (
            divide_or_nan(form.without_each(), count.without_each())
            * ((len(codes) - sizes) * (len(codes) - sizes - 1.0))
            / 2
        ),
    )


def _untied(x: Floats, codes: Ints, n_clusters: int) -> WeightedStatistic:
    """Weighted number of untied item pairs, a function of cluster weights.

    It is (N^2 - sum of N_g^2) / 2 for N_g items at each value g. `x` are dense ranks.
    """
    from scipy.sparse import csr_array

    group = x.astype(np.int64)
    shape = (int(group.max()) + 1, n_clusters)
    counts = csr_array((np.ones(len(x)), (group, codes)), shape=shape)  # items at each value in each cluster
    sizes = np.bincount(codes, minlength=n_clusters).astype(np.float64)

    def of(weights: Floats) -> Floats:
        """(b, C) cluster weights -> (b,) numbers of pairs."""
        at_values = counts @ np.ascontiguousarray(weights.T)  # (g, b)
        return np.asarray(((weights @ sizes) ** 2 - np.einsum("gb,gb->b", at_values, at_values)) / 2)

    def without_each() -> Floats:
        """The numbers of pairs with each cluster left out: N_g^2 becomes (N_g - n_gc)^2."""
        at_values: Floats = counts.sum(axis=1)
        squares = at_values @ at_values - 2 * (counts.T @ at_values) + (counts * counts).sum(axis=0)
        return np.asarray(((len(x) - sizes) ** 2 - squares) / 2)

    return WeightedStatistic(_in_blocks(of, _CELLS // shape[0]), without_each)


def _quadratic_form(matrix: Floats) -> WeightedStatistic:
    """The function that gives w' A w for each row w of (b, C) weights.

    Where A and the weights are counts, and no sum can be above 2^24, products in single precision have no rounding
    error and take half of the time.
    """
    largest = float(np.abs(matrix).sum(axis=0).max(initial=0.0))
    counts = largest < _EXACT and bool((matrix == np.rint(matrix)).all())
    single = matrix.astype(np.float32) if counts else None

    def of(w: Floats) -> Floats:
        """(b, C) weights -> (b,) values."""
        if single is not None and np.abs(w).max(initial=0.0) * largest < _EXACT and (w == np.rint(w)).all():
            return np.asarray(np.einsum("bc,bc->b", (w.astype(np.float32) @ single).astype(np.float64), w))
        return np.asarray(np.einsum("bc,bc->b", w @ matrix, w))

    def without_each() -> Floats:
        """(1 - e)' A (1 - e) for each unit vector e."""
        return np.asarray(matrix.sum() - matrix.sum(axis=0) - matrix.sum(axis=1) + matrix.diagonal())

    return WeightedStatistic(of, without_each)


def _in_blocks(function: Weighted, rows: int) -> Weighted:
    """The same function, called with at most this many rows of weights at a time."""
    step = max(1, rows)
    return lambda w: np.concatenate(
        [np.empty(0), *(function(w[s : s + step]) for s in range(0, len(w), step))]
    )
