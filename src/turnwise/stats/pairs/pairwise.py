"""Pairwise accuracy, acc*_eq of Deutsch, Foster and Freitag 2023 ("Ties Matter").

A pair of items counts as correct if metric and people order it alike, or if both call it a tie; the metric ties two
scores that differ by at most epsilon. As in the paper, epsilon maximises the accuracy on the same data, so that metrics
which never tie are not penalised. This fits one parameter to the data, so the accuracy is slightly optimistic. Across a
few systems there is too little data to calibrate on, and epsilon is 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from turnwise.stats.computing.remembered import remembered
from turnwise.stats.pairs.item_pairs import CHUNK, MAX_PAIRS, checked_pair, item_pairs, ordered_alike
from turnwise.types import Floats, Ints

_POINTS = 1024  # largest number of distinct points that are compared in one table, of 8 MB
_PART = 2**18  # numbers that are processed at a time: enough that the overhead of a call is small
_BINS = 4096  # of differences of scores, in the search for epsilon


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


def calibrated_accuracy(x: Floats, y: Floats) -> float:
    """Pairwise accuracy at the epsilon that maximises it on the same data; NaN with fewer than two items."""
    return _calibrated(x, y)[1]


@remembered
def _calibrated(x: Floats, y: Floats) -> tuple[float, float]:
    """The smallest epsilon at which `pairwise_accuracy` is highest, and that accuracy; both NaN where it is NaN.

    Two kinds of pairs depend on epsilon: those that people tied, which a larger epsilon makes correct, and those that
    both sides order alike, which a larger epsilon makes wrong.
    """
    x, y = checked_pair(x, y)
    n = len(x)
    if n < 2 or not np.isfinite(x).all() or not np.isfinite(y).all():
        return np.nan, np.nan
    total = n * (n - 1) // 2
    distinct_x, distinct_y, counts = _distinct_points(x, y)
    if 2 * len(counts) < n and len(counts) <= _POINTS:  # such as single ratings with means of ratings
        tied, alike = _weighted_gaps(distinct_x, distinct_y, counts)
    elif total <= MAX_PAIRS:
        tied, alike = _all_gaps(x, y)
    else:
        tied, alike, total = _sampled_gaps(x, y)
    epsilon, net_gain = _best_epsilon(tied, alike)
    return epsilon, (alike.total + net_gain) / total


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Absolute differences of scores over pairs of items, in any order; in parts, as copying them takes memory."""

    parts: list[Floats]
    weights: Ints | None = None  # number of pairs with each value of the only part; None: one

    @property
    def total(self) -> int:
        """The number of pairs."""
        return sum(map(len, self.parts)) if self.weights is None else int(self.weights.sum())

    def binned(self, scale: float) -> tuple[list[NDArray[np.uint16]], Ints]:
        """The bin of each value, up to `_BINS`, and the number of pairs in each bin."""
        bins = [_bins(part, scale) for part in self.parts]
        counts = np.zeros(_BINS + 1, dtype=np.int64)
        for part in bins:
            counts += np.bincount(part, self.weights, minlength=_BINS + 1).astype(np.int64)
        return bins, counts

    def counter(self, kept: list[NDArray[np.bool_]]) -> tuple[Floats, Callable[[Floats], Ints]]:
        """The kept values in order, and the function that counts the kept pairs with gaps up to each epsilon."""
        chosen = [np.compress(mask, part) for mask, part in zip(kept, self.parts, strict=True)]
        values = np.concatenate([np.empty(0), *chosen])
        if self.weights is None:
            values.sort()
            return values, lambda epsilons: np.searchsorted(values, epsilons, "right")
        order = np.argsort(values)
        values = values[order]
        cumulative = np.append(0, np.cumsum(self.weights[kept[0]][order]))
        return values, lambda epsilons: cumulative[np.searchsorted(values, epsilons, "right")]


def _bins(values: Floats, scale: float) -> NDArray[np.uint16]:
    """The bin of each value: the value times `scale`, cut at `_BINS`."""
    with np.errstate(over="ignore"):
        return np.minimum(values * scale, _BINS).astype(np.uint16)


def _best_epsilon(tied: _Gaps, alike: _Gaps) -> tuple[float, int]:
    """The smallest epsilon with the largest net gain (tied pairs up to epsilon minus alike pairs), and that gain.

    Counts in bins bound the net gain inside each bin, and only bins that can hold the largest are sorted.
    """
    top = max((float(part.max(initial=0.0)) for part in tied.parts), default=0.0)
    scale = _BINS / top if top > 0 else 0.0
    if not np.isfinite(scale):  # tiny differences
        scale = 0.0
    (tied_bins, gains), (alike_bins, losses) = tied.binned(scale), alike.binned(scale)
    before = np.cumsum(gains) - gains - np.cumsum(losses) + losses
    highest, at_end = before + gains, before + gains - losses
    candidate = highest >= max(0, int(at_end.max()))
    candidate[0] = True  # epsilon 0 is there
    values, count_tied = tied.counter([candidate[part] for part in tied_bins])
    _, count_alike = alike.counter([candidate[part] for part in alike_bins])
    epsilons = np.append(0.0, values[np.append(values[1:] != values[:-1], True)[: len(values)]])
    skipped = np.where(candidate, 0, gains - losses)  # net gains of bins that were not sorted
    net_gain = count_tied(epsilons) - count_alike(epsilons) + np.cumsum(skipped)[_bins(epsilons, scale)]
    best = int(np.argmax(net_gain))
    return float(epsilons[best]), int(net_gain[best])


def _distinct_points(x: Floats, y: Floats) -> tuple[Floats, Floats, Ints]:
    """The different pairs (x, y) of the items, as two columns, and the number of items of each."""
    values_x, rank_x = np.unique(x, return_inverse=True)
    values_y, rank_y = np.unique(y, return_inverse=True)
    points, counts = np.unique(rank_x * len(values_y) + rank_y, return_counts=True)
    return values_x[points // len(values_y)], values_y[points % len(values_y)], counts


def _weighted_gaps(x: Floats, y: Floats, counts: Ints) -> tuple[_Gaps, _Gaps]:
    """Differences of all pairs tied by people, and of all ordered alike, from distinct points with their numbers of
    items. Two items of one point are tied on both sides.
    """
    dx, dy = np.subtract.outer(x, x), np.subtract.outer(y, y)
    weights = np.multiply.outer(counts, counts)
    np.fill_diagonal(weights, counts * (counts - 1) // 2)
    tied, alike = np.triu(dy == 0), (dx > 0) & (dy > 0)
    return _Gaps([np.abs(dx[tied])], weights[tied]), _Gaps([dx[alike]], weights[alike])


def _all_gaps(x: Floats, y: Floats) -> tuple[_Gaps, _Gaps]:
    """Differences of all pairs tied by people, and of all ordered alike, one entry a pair."""
    order = np.argsort(y, kind="stable")
    x, starts = x[order], np.flatnonzero(np.append(True, np.diff(y[order]) > 0))
    tied: list[Floats] = []
    alike: list[Floats] = []
    for start, end in zip(starts, np.append(starts[1:], len(x)), strict=True):
        same, higher = x[start:end], x[end:]  # people rated these equal, and those higher
        tied += [np.abs(one - other).ravel() for ((one, other),) in item_pairs(same)]
        step = max(1, CHUNK // max(1, len(higher)))
        for at in range(0, len(same), step):
            gaps = (higher - same[at : at + step, None]).ravel()
            alike.append(np.compress(gaps > 0, gaps))
    return _Gaps(_merged(tied)), _Gaps(_merged(alike))


def _sampled_gaps(x: Floats, y: Floats) -> tuple[_Gaps, _Gaps, int]:
    """`_all_gaps` of an even sample of the pairs, and the number of pairs in it."""
    tied, alike, total = [], [], 0
    for (xi, xj), (yi, yj) in item_pairs(x, y):
        dx, dy = xi - xj, yi - yj
        total += dx.size
        tied.append(np.abs(dx[dy == 0]))
        alike.append(np.abs(dx[ordered_alike(dx, dy, -1.0)]))
    return _Gaps(tied), _Gaps(alike), total


def _merged(parts: list[Floats]) -> list[Floats]:
    """The values of many small parts in fewer parts, none of which is much larger than `_PART`."""
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64) // _PART
    starts = [0, *(np.flatnonzero(np.diff(ends)) + 1), len(parts)]
    return [np.concatenate(parts[start:end]) for start, end in pairwise(starts) if start < end]
