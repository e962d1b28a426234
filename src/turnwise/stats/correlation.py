"""How well numbers follow people's: Pearson, Spearman, Kendall, and accuracy over pairs.

All are 1 for perfect agreement. Chance is 0 for the first three; for pairwise accuracy it depends on the
ties, and a constant metric scores the share of pairs that people tied.

Pairwise accuracy is acc*_eq of Deutsch, Foster and Freitag 2023 ("Ties Matter"): a pair is right if metric
and people put it in the same order, or both call it a tie, where the metric ties what lies within epsilon.
As there, epsilon is the one that maximises the accuracy on the same data, so that metrics which never tie
are not punished for it; it has one degree of freedom, and the optimism that comes with it. Across a handful
of systems there is nothing to calibrate on, and epsilon is 0.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from turnwise.types import Floats

# All pairs of up to 4,096 items; of more, this many pairs spread evenly over them. Sampling so many pairs
# moves an accuracy by 2e-4 (one standard error), and the sort that calibrates epsilon takes 160 MB.
MOST_PAIRS = 2**23
_CHUNK = 2**16  # stays in a core's cache: four times as fast as 2**20

Pair: TypeAlias = tuple[NDArray[Any], NDArray[Any]]  # a column at the first and the second items of pairs


def pearson(x: Floats, y: Floats) -> float:
    x, y = aligned(x, y)
    return float(across("pearson", x[None], y[None])[0])


def spearman(x: Floats, y: Floats) -> float:
    x, y = aligned(x, y)
    if np.isnan(x).any() or np.isnan(y).any():
        return np.nan
    return pearson(midranks(x), midranks(y))


def kendall(x: Floats, y: Floats) -> float:
    """Tau-b: 1 needs the same ties on both sides."""
    return _kendall(x, y, "b")


def kendall_c(x: Floats, y: Floats) -> float:
    """Stuart's tau-c: for scales with different numbers of steps."""
    return _kendall(x, y, "c")


def _kendall(x: Floats, y: Floats, variant: Literal["b", "c"]) -> float:
    from scipy.stats import kendalltau

    x, y = aligned(x, y)
    if any(np.isnan(side).any() or np.all(side == side[:1]) for side in (x, y)):
        return np.nan
    return float(kendalltau(x, y, variant=variant).statistic)


def pairwise_accuracy(x: Floats, y: Floats, *, epsilon: float = 0.0) -> float:
    """Share of pairs of items that metric `x` orders, or ties, as people's `y` do."""
    x, y = aligned(x, y)
    if len(x) < 2 or not np.isfinite(x).all() or not np.isfinite(y).all():
        return np.nan
    right = total = 0
    for (xi, xj), (yi, yj) in pairs(x, y):
        agreed = agree(xi - xj, yi - yj, epsilon)
        right, total = right + int(np.count_nonzero(agreed)), total + agreed.size
    return right / total


def tie_calibration(x: Floats, y: Floats) -> float:
    """The smallest epsilon at which `pairwise_accuracy` is highest."""
    x, y = aligned(x, y)
    if len(x) < 2 or not np.isfinite(x).all() or not np.isfinite(y).all():
        return np.nan
    tied, ordered = [], []  # gaps of the pairs that a larger epsilon wins, and of those that it loses
    for (xi, xj), (yi, yj) in pairs(x, y):
        dx, dy = xi - xj, yi - yj
        tied.append(np.abs(dx[dy == 0]))
        ordered.append(np.abs(dx[agree(dx, dy, -1.0)]))
    won, lost = np.sort(np.concatenate(tied)), np.sort(np.concatenate(ordered))
    epsilons = np.append(0.0, won)
    right = np.searchsorted(won, epsilons, "right") - np.searchsorted(lost, epsilons, "right")
    return float(epsilons[np.argmax(right)])


def calibrated_accuracy(x: Floats, y: Floats) -> float:
    return pairwise_accuracy(x, y, epsilon=tie_calibration(x, y))


STATISTICS: Mapping[str, Callable[[Floats, Floats], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "pairwise": calibrated_accuracy,
}


def across(statistic: str, x: Floats, y: Floats) -> Floats:
    """(B, S) tables -> (B,) statistics of their rows: S systems, B resamples; pairwise has epsilon 0."""
    known(statistic)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2:
        raise ValueError(f"two tables of one shape are wanted, not {x.shape} and {y.shape}")
    n_rows, n_systems = x.shape
    if n_systems < 2:
        return np.full(n_rows, np.nan)
    if statistic == "pearson":
        return _cosine(_centred(x), _centred(y))
    rows = max(1, _CHUNK // n_systems**2)
    parts = [_of_orders(statistic, x[s : s + rows], y[s : s + rows]) for s in range(0, n_rows, rows)]
    value = np.concatenate([np.empty(0), *parts])
    return np.where(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1), np.nan, value)


def _of_orders(statistic: str, x: Floats, y: Floats) -> Floats:
    a, b = _orders(x), _orders(y)
    if statistic == "spearman":  # an item's centred mid-rank is half the sum of its orders against all
        return _cosine(a.sum(axis=2), b.sum(axis=2))
    if statistic == "kendall":
        return _cosine(a.reshape(len(a), -1), b.reshape(len(b), -1))
    n = x.shape[1]
    right = np.sum(a == b, axis=(1, 2), dtype=np.float64) - n  # the diagonal always agrees
    return np.asarray(right / (n * (n - 1)))


def _orders(x: Floats) -> Floats:
    """(B, S) -> (B, S, S): 1, 0 or -1 as the first of two is more, equal or less."""
    one, other = x[:, :, None], x[:, None, :]
    return np.subtract(one > other, one < other, dtype=np.float64)


def _centred(x: Floats) -> Floats:
    """Rows with mean 0, scaled to be safe to square; NaN where constant."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        x = x - x[:, :1]  # exact for near-equal numbers, as taking off the mean is not
        x = x / np.abs(x).max(axis=1, keepdims=True)
        x -= x.mean(axis=1, keepdims=True)
    return x


def _cosine(x: Floats, y: Floats) -> Floats:
    norm = np.sqrt(np.einsum("ij,ij->i", x, x)) * np.sqrt(np.einsum("ij,ij->i", y, y))
    return np.clip(ratio(np.einsum("ij,ij->i", x, y), norm), -1.0, 1.0)


def midranks(x: Floats) -> Floats:
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks[inverse]


def ratio(top: Floats, bottom: Floats) -> Floats:
    """`top / bottom`, NaN where there is nothing to divide by."""
    out = np.full(np.shape(top), np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return out


def agree(dx: Floats, dy: Floats, epsilon: float | Floats) -> NDArray[np.bool_]:
    """Whether each pair is right: ordered alike, or tied by both."""
    return np.where(np.abs(dx) <= epsilon, dy == 0, ((dx > 0) & (dy > 0)) | ((dx < 0) & (dy < 0)))


def pairs(*columns: NDArray[Any], chunk: int = _CHUNK, most: int = MOST_PAIRS) -> Iterator[list[Pair]]:
    """The unordered pairs of n items, some at a time: each column at the first items and at the second.

    Items are put on a circle and each is paired with those at the distances chosen: all, or so many that
    there are at most `most` pairs, evenly spread; every item has the same number of partners.
    """
    n = len(columns[0])
    lags = np.arange(1, (n - 1) // 2 + 1)
    if n * (n - 1) // 2 > most:
        lags = np.linspace(1, (n - 1) // 2, max(1, most // n)).astype(np.int64)
    elif n % 2 == 0:  # half way round, each pair would be met twice
        yield [(column[: n // 2], column[n // 2 :]) for column in columns]
    turned = [sliding_window_view(np.append(column, column), n) for column in columns]
    step = max(1, chunk // max(1, n))
    for start in range(0, len(lags), step):
        some = lags[start : start + step]
        yield [(column, turn[some]) for column, turn in zip(columns, turned, strict=True)]


def aligned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"two lists of one length are wanted, not {x.shape} and {y.shape}")
    return x, y


def known(statistic: str) -> None:
    if statistic not in STATISTICS:
        raise ValueError(f"there is no statistic `{statistic}`; there are {', '.join(STATISTICS)}")
