"""Agreement of a metric's scores with people's ratings: Pearson, Spearman, Kendall, and pairwise accuracy.

All are 1 for perfect agreement. Agreement by chance is 0 for the three correlations. For pairwise accuracy it depends
on the ties: a constant metric reaches the share of pairs that people rated equal.

Pairwise accuracy is acc*_eq of Deutsch, Foster and Freitag 2023 ("Ties Matter"). A pair of items counts as correct if
metric and people order it alike, or if both call it a tie; the metric ties two scores that differ by at most epsilon.
As in the paper, epsilon maximises the accuracy on the same data, so that metrics which never tie are not penalised.
This fits one parameter to the data, so the accuracy is slightly optimistic. Across a few systems there is too little
data to calibrate on, and epsilon is 0.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from turnwise.types import Floats

# Maximum number of item pairs: all pairs of up to 4,096 items, an even sample of the pairs of more. Sampling this many
# pairs adds a standard error of 2e-4 to an accuracy, and the sort that calibrates epsilon takes 160 MB.
MAX_PAIRS = 2**23
_CHUNK = 2**16  # pairs processed at a time; fits in a core's cache, measured four times as fast as 2**20

Pair: TypeAlias = tuple[
    NDArray[Any], NDArray[Any]
]  # a column's values at the first and at the second item of each pair


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
    from scipy.stats import kendalltau

    x, y = checked_pair(x, y)
    if any(np.isnan(side).any() or np.all(side == side[:1]) for side in (x, y)):
        return np.nan
    return float(kendalltau(x, y).statistic)


def pairwise_accuracy(x: Floats, y: Floats, *, epsilon: float = 0.0) -> float:
    """Share of item pairs that metric scores `x` order, or tie within `epsilon`, as people's ratings `y` do.

    NaN with fewer than two items or a value that is not finite. Above `MAX_PAIRS` pairs an even sample of them is used.
    """
    x, y = checked_pair(x, y)
    if len(x) < 2 or not np.isfinite(x).all() or not np.isfinite(y).all():
        return np.nan
    right = total = 0
    for (xi, xj), (yi, yj) in item_pairs(x, y):
        agreed = ordered_alike(xi - xj, yi - yj, epsilon)
        right, total = right + int(np.count_nonzero(agreed)), total + agreed.size
    return right / total


def tie_calibration(x: Floats, y: Floats) -> float:
    """The smallest epsilon at which `pairwise_accuracy` is highest; NaN where that is NaN."""
    return _calibrated(x, y)[0]


def _calibrated(x: Floats, y: Floats) -> tuple[float, float]:
    """The smallest epsilon at which `pairwise_accuracy` is highest, and that accuracy; both NaN where it is NaN."""
    x, y = checked_pair(x, y)
    if len(x) < 2 or not np.isfinite(x).all() or not np.isfinite(y).all():
        return np.nan, np.nan
    # Score differences of pairs that people tied (a larger epsilon makes these correct), and of pairs that both order
    # alike (a larger epsilon makes these wrong).
    tied, ordered, total = [], [], 0
    for (xi, xj), (yi, yj) in item_pairs(x, y):
        dx, dy = xi - xj, yi - yj
        total += dx.size
        tied.append(np.abs(dx[dy == 0]))
        ordered.append(np.abs(dx[ordered_alike(dx, dy, -1.0)]))
    gains, losses = _sorted(tied), _sorted(ordered)
    epsilons = np.append(0.0, gains[np.append(gains[1:] != gains[:-1], True)] if len(gains) else gains)
    net_gain = np.searchsorted(gains, epsilons, "right") - np.searchsorted(losses, epsilons, "right")
    best = int(np.argmax(net_gain))
    return float(epsilons[best]), float((len(losses) + net_gain[best]) / total)


def _sorted(parts: list[Floats]) -> Floats:
    """All values of the parts in order; `parts` is emptied, because two copies would be too large."""
    values = np.concatenate(parts)
    parts.clear()
    values.sort()
    return values


def calibrated_accuracy(x: Floats, y: Floats) -> float:
    """Pairwise accuracy at the epsilon that maximises it on the same data; NaN with fewer than two items."""
    return _calibrated(x, y)[1]


STATISTICS: Mapping[str, Callable[[Floats, Floats], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
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
    rows = max(1, _CHUNK // n_systems**2)
    parts = [_rank_correlations(statistic, x[s : s + rows], y[s : s + rows]) for s in range(0, n_rows, rows)]
    value = np.concatenate([np.empty(0), *parts])
    return np.where(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1), np.nan, value)


def _rank_correlations(statistic: str, x: Floats, y: Floats) -> Floats:
    """Spearman, Kendall or pairwise accuracy of each row, from the signs of all pairwise differences.

    The value of a row with a NaN has no meaning; `row_correlations` replaces it.
    """
    a, b = _pairwise_signs(x), _pairwise_signs(y)
    if statistic == "spearman":  # a centred mid-rank is half the sum of an item's signs against all others
        return _cosine(a.sum(axis=2), b.sum(axis=2))
    if statistic == "kendall":
        return _cosine(a.reshape(len(a), -1), b.reshape(len(b), -1))
    n = x.shape[1]
    right = np.sum(a == b, axis=(1, 2), dtype=np.float64) - n  # the diagonal always agrees
    return np.asarray(right / (n * (n - 1)))


def _pairwise_signs(x: Floats) -> Floats:
    """Signs of all pairwise differences in each row: (B, S) -> (B, S, S)."""
    one, other = x[:, :, None], x[:, None, :]
    return np.subtract(one > other, one < other, dtype=np.float64)


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


def ordered_alike(dx: Floats, dy: Floats, epsilon: float | Floats) -> NDArray[np.bool_]:
    """Whether each pair is ordered alike, or tied by both sides; differences `dx` within `epsilon` are ties."""
    return np.where(np.abs(dx) <= epsilon, dy == 0, ((dx > 0) & (dy > 0)) | ((dx < 0) & (dy < 0)))


def item_pairs(
    *columns: NDArray[Any], chunk: int = _CHUNK, max_pairs: int = MAX_PAIRS
) -> Iterator[list[Pair]]:
    """Yield chunks of the unordered pairs of n items, as each column's values at the first and at the second items.

    Items are placed on a circle and paired with the items at a set of distances (lags). All lags give all pairs. Where
    there are more pairs than `max_pairs`, evenly spaced lags are used, so every item has the same number of partners.
    """
    n = len(columns[0])
    lags = np.arange(1, (n - 1) // 2 + 1)
    if n * (n - 1) // 2 > max_pairs:
        lags = np.linspace(1, (n - 1) // 2, max(1, max_pairs // n)).astype(np.int64)
    elif n % 2 == 0:  # the lag n / 2 would give each pair twice
        yield [(column[: n // 2], column[n // 2 :]) for column in columns]
    rotations = [sliding_window_view(np.append(column, column), n) for column in columns]
    step = max(1, chunk // max(1, n))
    for start in range(0, len(lags), step):
        some = lags[start : start + step]
        yield [(column, rotated[some]) for column, rotated in zip(columns, rotations, strict=True)]


def checked_pair(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both as one-dimensional float arrays of equal length, or a ValueError."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"expected two one-dimensional arrays of equal length, got {x.shape} and {y.shape}")
    return x, y


def check_statistic(statistic: str) -> None:
    """Raise a ValueError if there is no statistic of this name."""
    if statistic not in STATISTICS:
        raise ValueError(f"there is no statistic `{statistic}`; there are {', '.join(STATISTICS)}")
