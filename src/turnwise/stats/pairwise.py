"""Pairwise accuracy, acc*_eq of Deutsch, Foster and Freitag 2023 ("Ties Matter").

A pair of items counts as correct if metric and people order it alike, or if both call it a tie; the metric ties two
scores that differ by at most epsilon. As in the paper, epsilon maximises the accuracy on the same data, so that metrics
which never tie are not penalised. This fits one parameter to the data, so the accuracy is slightly optimistic. Across a
few systems there is too little data to calibrate on, and epsilon is 0.
"""

from dataclasses import dataclass

import numpy as np

from turnwise.stats.item_pairs import CHUNK, MAX_PAIRS, checked_pair, item_pairs, ordered_alike
from turnwise.types import Floats, Ints


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


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Differences of scores over pairs of items, in ascending order, and the number of pairs up to each."""

    values: Floats
    cumulative: Ints | None = None  # None: one pair for each value

    @property
    def total(self) -> int:
        """The number of pairs."""
        return len(self.values) if self.cumulative is None else int(self.cumulative[-1])

    @property
    def distinct(self) -> Floats:
        """The values without repetitions."""
        return self.values[np.append(self.values[1:] != self.values[:-1], True)[: len(self.values)]]

    def up_to(self, epsilons: Floats) -> Ints:
        """The number of pairs that differ by at most each epsilon."""
        found = np.searchsorted(self.values, epsilons, "right")
        return found if self.cumulative is None else self.cumulative[found]


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
    if 2 * len(counts) < n and len(counts) ** 2 <= MAX_PAIRS:  # such as single ratings with means of ratings
        tied, alike = _weighted_gaps(distinct_x, distinct_y, counts)
    elif total <= MAX_PAIRS:
        tied, alike = _all_gaps(x, y)
    else:
        tied, alike, total = _sampled_gaps(x, y)
    epsilons = np.append(0.0, tied.distinct)
    net_gain = tied.up_to(epsilons) - alike.up_to(epsilons)
    best = int(np.argmax(net_gain))
    return float(epsilons[best]), float((alike.total + net_gain[best]) / total)


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
    np.fill_diagonal(weights, counts * (counts - 1))  # halved below, as the others, which are there twice
    tied, alike = dy == 0, (dx > 0) & (dy > 0)
    return _summed(np.abs(dx[tied]), weights[tied], 2), _summed(dx[alike], weights[alike], 1)


def _summed(gaps: Floats, weights: Ints, times: int) -> _Gaps:
    """The gaps with the numbers of their pairs, each of which is there so many times."""
    order = np.argsort(gaps)
    return _Gaps(gaps[order], np.append(0, np.cumsum(weights[order]) // times))


def _all_gaps(x: Floats, y: Floats) -> tuple[_Gaps, _Gaps]:
    """Differences of all pairs tied by people, and of all ordered alike, one entry a pair."""
    order = np.argsort(y, kind="stable")
    x, starts = x[order], np.flatnonzero(np.append(True, np.diff(y[order]) > 0))
    tied, alike = [np.empty(0)], [np.empty(0)]
    for start, end in zip(starts, np.append(starts[1:], len(x)), strict=True):
        same, higher = x[start:end], x[end:]  # people rated these equal, and those higher
        tied += [np.abs(one - other).ravel() for ((one, other),) in item_pairs(same)]
        step = max(1, CHUNK // max(1, len(higher)))
        for at in range(0, len(same), step):
            gaps = np.subtract.outer(same[at : at + step], higher)
            alike.append(-gaps[gaps < 0])
    return _Gaps(_sorted(tied)), _Gaps(_sorted(alike))


def _sampled_gaps(x: Floats, y: Floats) -> tuple[_Gaps, _Gaps, int]:
    """`_all_gaps` of an even sample of the pairs, and the number of pairs in it."""
    tied, alike, total = [], [], 0
    for (xi, xj), (yi, yj) in item_pairs(x, y):
        dx, dy = xi - xj, yi - yj
        total += dx.size
        tied.append(np.abs(dx[dy == 0]))
        alike.append(np.abs(dx[ordered_alike(dx, dy, -1.0)]))
    return _Gaps(_sorted(tied)), _Gaps(_sorted(alike)), total


def _sorted(parts: list[Floats]) -> Floats:
    """All values of the parts in order; `parts` is emptied, because two copies would be too large."""
    values = np.concatenate(parts)
    parts.clear()
    values.sort()
    return values
