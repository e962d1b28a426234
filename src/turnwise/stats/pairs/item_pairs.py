"""Pairs of items, for statistics that compare every item with every other."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from turnwise.types import Floats

# Maximum number of item pairs: all pairs of up to 4,096 items, an even sample of the pairs of more. Sampling this many
# pairs adds a standard error of 2e-4 to an accuracy, and the sort that calibrates epsilon takes 160 MB.
MAX_PAIRS = 2**23
CHUNK = 2**16  # pairs processed at a time; fits in a core's cache, measured four times as fast as 2**20

Pair: TypeAlias = tuple[
    NDArray[Any], NDArray[Any]
]  # a column's values at the first and at the second item of each pair


def ordered_alike(dx: Floats, dy: Floats, epsilon: float | Floats) -> NDArray[np.bool_]:
    """Whether each pair is ordered alike, or tied by both sides; differences `dx` within `epsilon` are ties."""
    return np.where(np.abs(dx) <= epsilon, dy == 0, ((dx > 0) & (dy > 0)) | ((dx < 0) & (dy < 0)))


def item_pairs(
    *columns: NDArray[Any], chunk: int = CHUNK, max_pairs: int = MAX_PAIRS
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
