"""Maximum mean discrepancy with a Gaussian kernel, unbiased (Gretton et al. 2012, eq. 3).

The squared distance of two distributions in the kernel's space, by means over pairs of different vectors: its
expectation is 0 for equal distributions whatever the number of vectors, so values scatter around 0 and may be
negative. The width is the median distance between real vectors (Gretton's heuristic): it is set by the real side
alone, so that all systems are measured with one kernel. The cubic kernel of KID (Binkowski et al. 2018) needs no
width, but on vectors far shorter than 1, as products of unit vectors are, it sees means only.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.metrics.distribution.moments import finite
from turnwise.types import Floats

_BLOCK = 1024  # rows of a matrix of distances held at a time
_SAMPLE = 2000  # vectors behind the median: 2 million distances


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The real side, with what does not depend on the system."""

    vectors: Floats  # (m, d)
    width: float
    within: float  # mean kernel of two different real vectors

    @classmethod
    def of(cls, vectors: Floats) -> "Reference":
        vectors = finite(vectors)
        if len(vectors) < 2:
            raise TooFewItems(
                f"a discrepancy needs 2 vectors or more on each side, and there are {len(vectors)}"
            )
        width = median_distance(vectors)
        return cls(vectors, width, _within(vectors, width))

    def discrepancy(self, rows: Floats) -> float:
        """Squared MMD of the rows (n, d), n at least 2, from the real side."""
        rows = finite(rows)
        if len(rows) < 2:
            raise TooFewItems(
                f"a discrepancy needs 2 vectors or more on each side, and there are {len(rows)}"
            )
        across = sum(np.sum(block) for block in _kernel(rows, self.vectors, self.width))
        return float(_within(rows, self.width) + self.within - 2 * across / (len(rows) * len(self.vectors)))


def median_distance(vectors: Floats) -> float:
    """The median distance of two of the vectors; 1 where it is 0, as every kernel is then constant."""
    step = -(-len(vectors) // _SAMPLE)
    some = vectors[::step]
    squares = np.concatenate(list(_squares(some, some)))
    median = float(np.sqrt(np.median(squares[np.triu_indices(len(some), 1)])))
    return median or 1.0


def _within(rows: Floats, width: float) -> float:
    total = sum(np.sum(block) for block in _kernel(rows, rows, width))
    return float((total - len(rows)) / (len(rows) * (len(rows) - 1)))  # each has a kernel of 1 with itself


def _kernel(x: Floats, y: Floats, width: float) -> Iterator[Floats]:
    for squares in _squares(x, y):
        yield np.exp(-squares / (2 * width**2))


def _squares(x: Floats, y: Floats) -> Iterator[Floats]:
    """Blocks (b, m) of squared distances."""
    lengths = np.sum(y**2, axis=1)
    for start in range(0, len(x), _BLOCK):
        part = x[start : start + _BLOCK]
        yield np.maximum(np.sum(part**2, axis=1)[:, None] - 2 * (part @ y.T) + lengths, 0.0)
