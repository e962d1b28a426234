"""Mergeable summary of any number of vectors: how many are nearest to each of some real vectors, and their sums.

Clustering needs all replies of an agent at once, which may not fit in memory. Instead we count the replies nearest to
each of up to `MAX_CENTRES` real vectors and sum their vectors. The mean of such a cell then represents its members when
clusters are computed. With twenty clusters and a thousand cells, a cell is rarely split between two clusters
(`benchmarks/bench_scale.py` measures the difference). Up to 4,096 replies are kept themselves and the result is exact.
"""

from dataclasses import dataclass

import numpy as np

from turnwise.metrics.distribution.moments import finite
from turnwise.types import Floats

MAX_CENTRES = 1024  # number of cells


@dataclass(frozen=True, slots=True, eq=False)
class QuantisedVectors:
    """The number and the sum of the vectors in each cell; summaries of one group can be added."""

    group: float | None  # code of the group of all rows; None without rows
    count: Floats  # (c,)
    total: Floats  # (c, d)

    @classmethod
    def of(cls, group: float | None, vectors: Floats, centres: Floats) -> "QuantisedVectors":
        """The summary of (n, d) vectors in the cells around (c, d) centres; `group` is the code of their group."""
        vectors = finite(vectors)
        nearest = np.argmin(np.sum(centres**2, axis=1) - 2 * (vectors @ centres.T), axis=1)
        total = np.zeros_like(centres)
        np.add.at(total, nearest, vectors)
        return cls(group, np.bincount(nearest, minlength=len(centres)).astype(np.float64), total)

    def __add__(self, other: "QuantisedVectors") -> "QuantisedVectors":
        if None not in (self.group, other.group) and self.group != other.group:
            raise ValueError("summaries of several groups have different cells: add up each group separately")
        group = other.group if self.group is None else self.group
        return QuantisedVectors(group, self.count + other.count, self.total + other.total)

    def points(self) -> tuple[Floats, Floats]:
        """(m, d) the means of the non-empty cells, and (m,) their counts.

        The means are rounded to nine digits, because sums in different orders agree only that far and the clusters
        must not depend on the order.
        """
        filled = self.count > 0
        means = self.total[filled] / self.count[filled, None]
        size = 2.0 ** np.ceil(np.log2(np.abs(means).max(initial=1e-300)))
        return np.round(means / size, 9) * size, self.count[filled]


def draw_centres(real: Floats, rng: np.random.Generator) -> Floats:
    """Up to `MAX_CENTRES` of the real vectors, drawn at random without replacement and in their own order."""
    chosen = rng.permutation(len(real))[:MAX_CENTRES]
    return np.asarray(real[np.sort(chosen)])
