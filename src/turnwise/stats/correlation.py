"""Agreement of a metric's scores with people's ratings: Pearson, Spearman, Kendall, tau-c, and pairwise accuracy.

All are 1 for perfect agreement, tau-c only if the values of the scale are used equally often. Agreement by chance is 0
for the four correlations. For pairwise accuracy (`stats/pairs/pairwise.py`) it depends on the ties: a constant metric
reaches the share of pairs that people rated equal.
"""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

import numpy as np

from turnwise.stats.pairs.concordance import pair_counts
from turnwise.stats.pairs.item_pairs import CHUNK, checked_pair
from turnwise.stats.pairs.pairwise import calibrated_accuracy
from turnwise.types import Floats


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's correlation; NaN where one side is constant or has a NaN."""
    x, y = checked_pair(x, y)
    return float(row_correlations("pearson", x[None], y[None])[0])


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation, with mid-ranks for ties; NaN where one side is constant or has a NaN."""
    x, y = checked_pair(x, y)
    if np.isnan(x).any() or np.isnan(y).any():
        return np.nan
    return pearson(midranks(x), midranks(y))


def kendall(x: Floats, y: Floats) -> float:
    """Kendall's tau-b, which is 1 only if both sides have the same ties.

    NaN where one side is constant or has a NaN.
    """
    x, y = checked_pair(x, y)
    if any(np.isnan(side).any() or np.all(side == side[:1]) for side in (x, y)):
        return np.nan
    counts = pair_counts(x, y)
    tau = counts.balance / sqrt(counts.total - counts.tied_x) / sqrt(counts.total - counts.tied_y)
    return min(1.0, max(-1.0, tau))


def tau_c(x: Floats, y: Floats) -> float:
    """Stuart's tau-c: for scores and ratings with different numbers of values, where tau-b cannot reach 1.

    NaN where one side is constant or has a NaN.
    """
    x, y = checked_pair(x, y)
    if any(np.isnan(side).any() or np.all(side == side[:1]) for side in (x, y)):
        return np.nan
    counts = pair_counts(x, y)
    return float(2 * counts.balance / tau_c_scale(len(x), counts.values))


def tau_c_scale(n: Any, values: Any) -> Any:
    """n^2 (m - 1) / m for n items and m values of the side that has fewer: twice the largest balance of tau-c."""
    return n * n * (values - 1) / np.maximum(values, 1)


STATISTICS: Mapping[str, Callable[[Floats, Floats], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "tau-c": tau_c,
    "pairwise": calibrated_accuracy,
}


def row_correlations(statistic: str, x: Floats, y: Floats) -> Floats:
    """The statistic of each row of two (B, S) tables: S systems, B resamples. Pairwise accuracy uses epsilon 0.

    NaN for rows with a NaN, for fewer than two systems and, except for pairwise accuracy, for constant rows.
    """
    check_statistic(statistic)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2:
        raise ValueError(f"expected two tables of equal shape, got {x.shape} and {y.shape}")
    n_rows, n_systems = x.shape
    if n_systems < 2:
        return np.full(n_rows, np.nan)
    if statistic == "pearson":
        return _cosine(_centred(x), _centred(y))
    rows = max(1, CHUNK // n_systems**2)
    parts = [_rank_correlations(statistic, x[s : s + rows], y[s : s + rows]) for s in range(0, n_rows, rows)]
    value = np.concatenate([np.empty(0), *parts])
    return np.where(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1), np.nan, value)


def _rank_correlations(statistic: str, x: Floats, y: Floats) -> Floats:
    """Spearman, Kendall, tau-c or pairwise accuracy of each row, from the signs of all pairwise differences.

    The value of a row with a NaN has no meaning; `row_correlations` replaces it.
    """
    a, b = _pairwise_signs(x), _pairwise_signs(y)
    if statistic == "spearman":  # a centred mid-rank is half the sum of an item's signs against all others
        return _cosine(a.sum(axis=2), b.sum(axis=2))
    if statistic == "kendall":
        return _cosine(a.reshape(len(a), -1), b.reshape(len(b), -1))
    n = x.shape[1]
    if statistic == "tau-c":
        values = np.minimum(_distinct(x), _distinct(y))
        return divide_or_nan(np.asarray(np.einsum("ijk,ijk->i", a, b)), tau_c_scale(n, values))
    right = np.sum(a == b, axis=(1, 2), dtype=np.float64) - n  # the diagonal always agrees
    return np.asarray(right / (n * (n - 1)))


def _pairwise_signs(x: Floats) -> Floats:
    """Signs of all pairwise differences in each row: (B, S) -> (B, S, S)."""
    one, other = x[:, :, None], x[:, None, :]
    return np.subtract(one > other, one < other, dtype=np.float64)


def _distinct(x: Floats) -> Floats:
    """(B,) number of different values in each row."""
    return np.asarray(1.0 + np.count_nonzero(np.diff(np.sort(x, axis=1), axis=1), axis=1))


def _centred(x: Floats) -> Floats:
    """Rows with mean 0, divided by their largest entry so that squares do not overflow; NaN where a row is constant."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        x = x - x[:, :1]  # exact for nearly equal numbers, unlike subtracting the mean
        x = x / np.abs(x).max(axis=1, keepdims=True)
        x -= x.mean(axis=1, keepdims=True)
    return x


def _cosine(x: Floats, y: Floats) -> Floats:
    """(B,) cosine of each pair of rows of two (B, m) tables; NaN where a row is zero."""
    norm = np.sqrt(np.einsum("ij,ij->i", x, x)) * np.sqrt(np.einsum("ij,ij->i", y, y))
    return np.clip(divide_or_nan(np.einsum("ij,ij->i", x, y), norm), -1.0, 1.0)


def midranks(x: Floats) -> Floats:
    """Ranks from 1; tied values share the mean of their ranks."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks[inverse]


def divide_or_nan(top: Floats, bottom: Floats) -> Floats:
    """`top / bottom`, and NaN where `bottom` is not positive."""
    out = np.full(np.shape(top), np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return out


def check_statistic(statistic: str) -> None:
    """Raise a ValueError if there is no statistic of this name."""
    if statistic not in STATISTICS:
        raise ValueError(f"there is no statistic `{statistic}`; there are {', '.join(STATISTICS)}")
