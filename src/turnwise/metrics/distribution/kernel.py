"""Unbiased estimate of the squared maximum mean discrepancy with a Gaussian kernel (Gretton et al. 2012, eq. 3).

It averages the kernel over pairs of different vectors. For equal distributions its expectation is 0 for any number of
vectors, so values can be negative. The kernel width is the median distance between real vectors (Gretton's heuristic).
Only the real vectors set it, so that all agents are compared with the same kernel. The cubic kernel of KID (Binkowski
et al. 2018) needs no width, but for vectors much shorter than 1, such as products of unit vectors, it depends almost
only on the means.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.metrics.distribution.moments import finite
from turnwise.types import Floats

TOO_FEW = "a discrepancy needs 2 vectors or more on each side, and there are {n}", "too-few-vectors-on-a-side"
_BLOCK = 1024  # rows of the distance matrix in memory at a time
_SAMPLE = 2000  # vectors from which the median distance is computed: 2 million distances


@dataclass(frozen=True, slots=True, eq=False)
class RealSample:
    """The real vectors with the kernel width and the term of MMD that depends only on them."""

    vectors: Floats  # (m, d)
    width: float  # width of the kernel
    within: float  # mean kernel of two different real vectors

    @classmethod
    def of(cls, vectors: Floats) -> "RealSample":
        """Compute width and inner term from the real vectors (m, d); raises `TooFewItems` for fewer than 2."""
        vectors = finite(vectors)
        if len(vectors) < 2:
            raise TooFewItems(*TOO_FEW, n=len(vectors))
        width = median_distance(vectors)
        return cls(vectors, width, _within(vectors, width))

    def discrepancy(self, rows: Floats) -> float:
        """Unbiased squared MMD, possibly negative, between the rows (n, d) and the real vectors.

        Raises `TooFewItems` for n below 2.
        """
        rows = finite(rows)
        if len(rows) < 2:
            raise TooFewItems(*TOO_FEW, n=len(rows))
        across = sum(np.sum(block) for block in _kernel(rows, self.vectors, self.width))
        return float(_within(rows, self.width) + self.within - 2 * across / (len(rows) * len(self.vectors)))


def median_distance(vectors: Floats) -> float:
    """The median distance of two of the vectors; 1 if the median is 0, because a kernel cannot have width 0.

    Of more than 2000 vectors every k-th is used.
    """
    step = -(-len(vectors) // _SAMPLE)
    some = vectors[::step]
    squares = np.concatenate(list(_squared_distances(some, some)))
    median = float(np.sqrt(np.median(squares[np.triu_indices(len(some), 1)])))
    return median or 1.0


def _within(rows: Floats, width: float) -> float:
    """The mean kernel of two different rows; at least 2 rows are needed."""
    total = sum(np.sum(block) for block in _kernel(rows, rows, width))
    # Minus the diagonal, where the kernel is 1.
    return float((total - len(rows)) / (len(rows) * (len(rows) - 1)))


def _kernel(x: Floats, y: Floats, width: float) -> Iterator[Floats]:
    """Blocks (b, m) of Gaussian kernel values of the rows of `x`, in order, with all rows of `y` (m, d)."""
    for squares in _squared_distances(x, y):
        yield np.exp(-squares / (2 * width**2))


def _squared_distances(x: Floats, y: Floats) -> Iterator[Floats]:
    """Blocks (b, m) of squared distances of the rows of `x`, in order, from all rows of `y` (m, d)."""
    lengths = np.sum(y**2, axis=1)
    for start in range(0, len(x), _BLOCK):
        part = x[start : start + _BLOCK]
        yield np.maximum(np.sum(part**2, axis=1)[:, None] - 2 * (part @ y.T) + lengths, 0.0)
