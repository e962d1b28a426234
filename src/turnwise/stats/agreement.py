"""Do raters agree? 1 is perfect, 0 is chance, below 0 is worse than chance.

A matrix is (raters, items) with NaN where a rater did not rate. All are NaN where agreement has no meaning:
nothing rated twice, or a single category used, where chance already agrees always.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from turnwise.stats.correlation import STATISTICS
from turnwise.types import Floats

Weights: TypeAlias = Literal["linear", "quadratic"]
Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]

# Below this, a pair of raters says more about luck than about them.
LEAST_OVERLAP = 5


def cohen_kappa(
    a: Floats, b: Floats, *, weights: Weights | None = None, categories: Floats | None = None
) -> float:
    """Cohen 1960; weighted (1968) by the steps between `categories`, else between those in use."""
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two lists of one length are wanted, not {a.shape} and {b.shape}")
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
    return _one_minus(float(np.sum(cost * table)) * len(a), float(np.sum(cost * expected)))


def fleiss_kappa(counts: Floats) -> float:
    """Fleiss 1971, from (items, categories) counts of raters; items rated once are left out.

    Fleiss has as many raters for each item; with unequal numbers, each item's agreement counts the same and
    chance is that of the pooled ratings.
    """
    counts = np.asarray(counts, dtype=np.float64)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return float("nan")
    raters = counts.sum(axis=1)
    observed = float(np.mean((np.sum(counts**2, axis=1) - raters) / (raters * (raters - 1))))
    chance = float(np.sum((counts.sum(axis=0) / counts.sum()) ** 2))
    return _one_minus(1 - observed, 1 - chance)


def krippendorff_alpha(matrix: Floats, level: Scale = "nominal") -> float:
    """One minus observed over expected disagreement; any number of raters an item (Krippendorff 2004)."""
    matrix = np.asarray(matrix, dtype=np.float64)
    rated = ~np.isnan(matrix)
    paired = rated.sum(axis=0) >= 2
    values, place = np.unique(matrix[:, paired][rated[:, paired]], return_inverse=True)
    item = np.broadcast_to(np.arange(paired.sum()), rated[:, paired].shape)[rated[:, paired]]
    counts = np.zeros((int(paired.sum()), len(values)))
    np.add.at(counts, (item, place), 1.0)
    total = counts.sum(axis=0)
    distance = _distances(values, total, level)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True) - 1, 1)
    # A rating is at distance 0 from itself, so the diagonal needs no correction.
    observed = float(np.sum(distance * (shares.T @ counts)))
    expected = float(np.sum(distance * np.outer(total, total))) / max(float(total.sum()) - 1, 1.0)
    return _one_minus(observed, expected)


def leave_one_out_correlation(matrix: Floats, statistic: str = "pearson") -> float:
    """Correlation of each rating with the mean of the item's others, raters pooled: what a person reaches."""
    matrix = np.asarray(matrix, dtype=np.float64)
    rated = ~np.isnan(matrix)
    n = rated.sum(axis=0)
    kept = rated & (n >= 2)
    others = (np.nansum(matrix, axis=0) - matrix) / np.maximum(n - 1, 1)
    return STATISTICS[statistic](matrix[kept], others[kept])


def pairwise_median(
    matrix: Floats, statistic: Callable[[Floats, Floats], float], *, overlap: int = LEAST_OVERLAP
) -> float:
    """Median over the pairs of raters that share `overlap` items and have the statistic defined."""
    matrix = np.asarray(matrix, dtype=np.float64)
    values = []
    for a, b in combinations(matrix, 2):
        both = ~np.isnan(a) & ~np.isnan(b)
        if both.sum() >= overlap:
            values.append(statistic(a[both], b[both]))
    defined = np.array(values)[~np.isnan(values)]
    return float(np.median(defined)) if len(defined) else float("nan")


def _distances(values: Floats, total: Floats, level: Scale) -> Floats:
    if level == "interval":
        return np.subtract.outer(values, values) ** 2
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    upto = np.cumsum(total) - total / 2  # between two ranks lie half of each and all that is between
    return np.subtract.outer(upto, upto) ** 2


def _one_minus(observed: float, expected: float) -> float:
    return 1 - observed / expected if expected > 0 else float("nan")
