"""Any number of vectors as weighted points: counts and sums of the cells around some real vectors, which add up.

Clusters of all replies of a system can only be found with all of them at hand. What is kept instead is how many fall
nearest to each of up to `MOST` real vectors, and their sum: the mean of a cell then stands for its members when
clusters are made. With twenty clusters and a thousand cells a cell rarely lies in two clusters
(benchmarks/bench_scale.py has what it moves); up to 4,096 replies a tally keeps the replies themselves, and nothing
is moved at all.
"""

from dataclasses import dataclass

import numpy as np

from turnwise.metrics.distribution.moments import finite
from turnwise.types import Floats

MOST = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    group: float | None  # code of the group of all rows; None of no rows
    count: Floats  # (c,)
    total: Floats  # (c, d)

    @classmethod
    def of(cls, group: float | None, vectors: Floats, centres: Floats) -> "Cells":
        """Of (n, d) vectors around (c, d) centres."""
        vectors = finite(vectors)
        nearest = np.argmin(np.sum(centres**2, axis=1) - 2 * (vectors @ centres.T), axis=1)
        total = np.zeros_like(centres)
        np.add.at(total, nearest, vectors)
        return cls(group, np.bincount(nearest, minlength=len(centres)).astype(np.float64), total)

    def __add__(self, other: "Cells") -> "Cells":
        if None not in (self.group, other.group) and self.group != other.group:
            raise ValueError("cells of several groups have no common real side: add up each group by itself")
        group = other.group if self.group is None else self.group
        return Cells(group, self.count + other.count, self.total + other.total)

    def points(self) -> tuple[Floats, Floats]:
        """(m, d) the means of the cells that hold something, and (m,) how much.

        To nine digits, which is what sums in any order agree to: clusters must not hang on the rest.
        """
        held = self.count > 0
        means = self.total[held] / self.count[held, None]
        size = 2.0 ** np.ceil(np.log2(np.abs(means).max(initial=1e-300)))
        return np.round(means / size, 9) * size, self.count[held]


def centres(real: Floats, rng: np.random.Generator) -> Floats:
    """Up to `MOST` of the real vectors, drawn by chance."""
    chosen = rng.permutation(len(real))[:MOST]
    return np.asarray(real[np.sort(chosen)])
