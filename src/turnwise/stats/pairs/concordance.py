"""Counts of concordant and discordant pairs in O(n log n), from which Kendall's tau-b and Stuart's tau-c follow.

`scipy.stats.kendalltau` gives the same numbers, but importing `scipy.stats` takes as long as most commands do.
"""

from typing import NamedTuple

import numpy as np

from turnwise.types import Floats, Ints


class PairCounts(NamedTuple):
    """Counts over all pairs of n items."""

    total: int
    tied_x: int  # tied on x, whether or not they are tied on y
    tied_y: int
    balance: int  # concordant minus discordant
    values: int  # number of different values of the side that has fewer


def pair_counts(x: Floats, y: Floats) -> PairCounts:
    """The counts of two columns of equal length without NaN."""
    n = len(x)
    rank_x, rank_y = (np.unique(side, return_inverse=True)[1] for side in (x, y))
    order = np.lexsort((rank_y, rank_x))  # by x, and by y among equal x, so that ties are no inversions
    both = rank_x * (rank_y.max(initial=0) + 1) + rank_y
    total, tied_x, tied_y = n * (n - 1) // 2, _tied_pairs(rank_x), _tied_pairs(rank_y)
    tied_both = _tied_pairs(np.unique(both, return_inverse=True)[1])
    balance = total - tied_x - tied_y + tied_both - 2 * inversions(rank_y[order])
    values = min(int(rank.max(initial=-1)) + 1 for rank in (rank_x, rank_y))
    return PairCounts(total, tied_x, tied_y, balance, values)


def inversions(ranks: Ints) -> int:
    """Number of pairs of non-negative integers in which the earlier one is larger.

    Two numbers are inverted if, at the highest bit in which they differ, the earlier has 1 and the later 0. One pass
    a bit counts these: numbers that agree in all higher bits are brought together, in their order.
    """
    found = 0
    for bit in range(int(ranks.max(initial=0)).bit_length()):
        higher = ranks >> (bit + 1)
        order = np.argsort(higher, kind="stable")
        ones, higher = (ranks[order] >> bit) & 1, higher[order]
        before = np.cumsum(ones) - ones
        starts = np.flatnonzero(np.append(True, higher[1:] != higher[:-1]))
        sizes = np.diff(np.append(starts, len(ranks)))
        found += int(np.sum((before - np.repeat(before[starts], sizes))[ones == 0]))
    return found


def _tied_pairs(ranks: Ints) -> int:
    """Number of pairs of equal ranks."""
    counts = np.bincount(ranks)
    return int(np.sum(counts * (counts - 1) // 2))
