"""Agreement between raters: Cohen's and Fleiss' kappa, Krippendorff's alpha and correlations between raters.

Each coefficient is 1 for perfect agreement, 0 for agreement by chance, and negative for less than that. A rating
matrix is (raters, items) with NaN where a rater did not rate an item. A coefficient is NaN where it is undefined: no
item has two ratings, or only one category was used and chance agreement is already perfect.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from turnwise.stats.correlation import STATISTICS
from turnwise.types import Floats, Ints

Weights: TypeAlias = Literal["linear", "quadratic"]
Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]

# Minimum number of shared items for a pair of raters to enter `pairwise_median`; our choice.
_FEW_STEPS = 1024  # of a scale whose categories are counted without a sort
MIN_OVERLAP = 5


def cohen_kappa(
    a: Floats, b: Floats, *, weights: Weights | None = None, categories: Floats | None = None
) -> float:
    """Cohen's kappa (Cohen 1960) of two raters, or his weighted kappa (1968).

    A disagreement weighs the number of steps (or its square) between the two categories in the sorted `categories`; the
    default is the categories that were used. Without `weights` every disagreement weighs 1. NaN if only one category
    was used. Raises `ValueError` for arrays of unequal length or a rating outside the categories.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"expected two one-dimensional arrays of equal length, got {a.shape} and {b.shape}")
    used = np.unique(np.concatenate([a, b]))
    known = used if categories is None else np.unique(np.asarray(categories))
    if not np.isin(used, known).all():
        raise ValueError(f"ratings outside the categories: {np.setdiff1d(used, known).tolist()}")
    k = len(known)
    table = np.zeros((k, k))
    np.add.at(table, (np.searchsorted(known, a), np.searchsorted(known, b)), 1.0)
    steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    cost = {None: (steps > 0).astype(np.float64), "linear": steps, "quadratic": steps**2}[weights]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return _one_minus_ratio(float(np.sum(cost * table)) * len(a), float(np.sum(cost * expected)))


def fleiss_kappa(counts: Floats) -> float:
    """Fleiss' kappa (Fleiss 1971) from an (items, categories) table of rating counts.

    Items with fewer than two ratings are left out; NaN if none is left or only one category was used. Fleiss assumes
    the same number of raters for every item. Where the numbers differ, the observed agreement is the unweighted mean
    over items, and chance agreement comes from the pooled ratings.
    """
    counts = np.asarray(counts, dtype=np.float64)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return float("nan")
    raters = counts.sum(axis=1)
    observed = float(np.mean((np.sum(counts**2, axis=1) - raters) / (raters * (raters - 1))))
    chance = float(np.sum((counts.sum(axis=0) / counts.sum()) ** 2))
    return _one_minus_ratio(1 - observed, 1 - chance)


def krippendorff_alpha(matrix: Floats, level: Scale = "nominal") -> float:
    """Krippendorff's alpha (2004): one minus observed over expected disagreement, for any number of raters an item.

    `matrix` is (raters, items) with NaN for a missing rating; items with fewer than two ratings are left out. NaN if
    none is left or all ratings are equal.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    rated = ~np.isnan(matrix)
    paired = rated.sum(axis=0) >= 2
    values, category = _categories(matrix[:, paired][rated[:, paired]])
    item = np.broadcast_to(np.arange(paired.sum()), rated[:, paired].shape)[rated[:, paired]]
    shape = (int(paired.sum()), len(values))
    cells = np.bincount(item * len(values) + category, minlength=shape[0] * shape[1])
    counts = cells.reshape(shape).astype(np.float64)
    total = counts.sum(axis=0)
    distance = _squared_distances(values, total, level)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True) - 1, 1)
    # A rating is at distance 0 from itself, so the diagonal needs no correction.
    observed = float(np.sum(distance * (shares.T @ counts)))
    expected = float(np.sum(distance * np.outer(total, total))) / max(float(total.sum()) - 1, 1.0)
    return _one_minus_ratio(observed, expected)


def leave_one_out_correlation(matrix: Floats, statistic: str = "pearson") -> float:
    """Correlation, pooled over raters and items, of each rating with the mean of the item's other ratings.

    Items with one rating are left out; `statistic` is a key of `correlation.STATISTICS`.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    rated = ~np.isnan(matrix)
    n = rated.sum(axis=0)
    kept = rated & (n >= 2)
    others = (np.nansum(matrix, axis=0) - matrix) / np.maximum(n - 1, 1)
    return STATISTICS[statistic](matrix[kept], others[kept])


def pairwise_median(
    matrix: Floats, statistic: Callable[[Floats, Floats], float], *, overlap: int = MIN_OVERLAP
) -> float:
    """Median of `statistic` over the pairs of raters that share at least `overlap` items.

    NaN if it is defined for none.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    values = []
    for a, b in combinations(matrix, 2):
        both = ~np.isnan(a) & ~np.isnan(b)
        if both.sum() >= overlap:
            values.append(statistic(a[both], b[both]))
    defined = np.array(values)[~np.isnan(values)]
    return float(np.median(defined)) if len(defined) else float("nan")


def _categories(ratings: Floats) -> tuple[Floats, Ints]:
    """The different ratings in order, and the index of each rating among them.

    Whole numbers of a small range, which ratings mostly are, need no sort.
    """
    low = ratings.min(initial=0.0)
    if ratings.max(initial=0.0) - low < _FEW_STEPS:
        steps = (ratings - low).astype(np.int64)
        if np.array_equal(steps + low, ratings):
            used = np.bincount(steps) > 0
            return low + np.flatnonzero(used), (np.cumsum(used) - 1)[steps]
    values, category = np.unique(ratings, return_inverse=True)
    return values, category


def _squared_distances(values: Floats, total: Floats, level: Scale) -> Floats:
    """Krippendorff's squared difference of all pairs of sorted values, (v, v).

    `total` has the frequency of each value.
    """
    if level == "interval":
        return np.subtract.outer(values, values) ** 2
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    # Ordinal: the distance is the number of ratings between two values, counting half of each end.
    midpoints = np.cumsum(total) - total / 2
    return np.subtract.outer(midpoints, midpoints) ** 2


def _one_minus_ratio(observed: float, expected: float) -> float:
    """1 - observed / expected; NaN where `expected` is 0."""
    return 1 - observed / expected if expected > 0 else float("nan")
