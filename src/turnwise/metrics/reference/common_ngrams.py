"""Counts the n-grams that pairs of sequences have in common, for many pairs at once.

The n-grams of all pairs are numbered together: the number of an n-gram follows from that of its beginning and its last
symbol, so the counts are exact for any alphabet. An n-gram is looked at only if its beginning occurs on both sides.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

import numpy as np

from turnwise.types import Floats, Ints

_PAIRS = 1024  # pairs counted at a time


def counts(pairs: Sequence[tuple[Sequence[Hashable], Sequence[Hashable]]], order: int) -> Floats:
    """(n, 3 order): for each pair and each length up to `order`, the n-grams of the first sequence, of the second, and
    the common ones.

    An n-gram is common as often as it occurs in both. Where the second sequence has no n-gram of a length, those of the
    first count as 0.
    """
    blocks = (_counts(pairs[start : start + _PAIRS], order) for start in range(0, len(pairs), _PAIRS))
    return np.concatenate([np.zeros((0, 3 * order)), *blocks])


def _counts(pairs: Sequence[tuple[Sequence[Hashable], Sequence[Hashable]]], order: int) -> Floats:
    """`counts` of a block of pairs."""
    n = len(pairs)
    sizes = np.array(
        [len(side) for pair in pairs for side in pair], dtype=np.int64
    )  # first, second, first, ...
    symbols, n_symbols = _numbered(chain.from_iterable(side for pair in pairs for side in pair))
    text = np.repeat(np.arange(2 * n), sizes)
    left = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(symbols))  # symbols up to the end of the text
    starts = np.arange(len(symbols))
    number = text // 2  # of the n-gram of length 0 at each start: one for each pair
    pair_of = np.arange(n)  # the pair of each number
    found = np.zeros((n, order, 3))
    for length in range(1, order + 1):
        totals = np.maximum(sizes.reshape(n, 2) - length + 1, 0)
        found[:, length - 1, 0] = np.where(totals[:, 1] > 0, totals[:, 0], 0)
        found[:, length - 1, 1] = totals[:, 1]
        kept = left[starts] >= length
        starts, number = starts[kept], number[kept]
        if not len(starts):
            continue
        codes, number = np.unique(number * n_symbols + symbols[starts + length - 1], return_inverse=True)
        pair_of = pair_of[codes // n_symbols]
        second = text[starts] % 2 == 1
        common = np.minimum(
            np.bincount(number[~second], minlength=len(codes)),
            np.bincount(number[second], minlength=len(codes)),
        )
        found[:, length - 1, 2] = np.bincount(pair_of, common, minlength=n)
        kept = common[number] > 0
        starts, number = starts[kept], number[kept]
    return found.reshape(n, 3 * order)


def _numbered(symbols: Iterable[Hashable]) -> tuple[Ints, int]:
    """The symbols as numbers from 0, and how many different ones there are."""
    known: dict[Hashable, int] = {}
    numbers = np.array([known.setdefault(symbol, len(known)) for symbol in symbols], dtype=np.int64)
    return numbers, len(known)
