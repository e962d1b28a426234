"""Poisson bootstrap: each cluster is drawn Poisson(1) times in each draw, by a hash of its name and the seed.

The ordinary bootstrap draws C of C clusters with replacement and needs all of them in memory. With independent Poisson
counts (Hanley and MacGibbon 2006; Chamandy et al. 2012) the count of a cluster does not depend on the others, so a draw
is a weighted sum of rows. Sums of shards add up to the sums of all items for any sharding, and memory is `draws` sums
for any number of clusters. The number of clusters varies between draws by sqrt(C), which does not affect a statistic
that is a ratio of sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from turnwise.stats.clusters import cluster_sums, codes
from turnwise.types import Floats, digest

# Cumulative Poisson(1) probabilities of counts 0 to 7, and the count for each 16-bit uniform number (the inverse CDF,
# exact to 1.5e-5).
_CDF = np.cumsum(np.exp(-1.0) / np.cumprod([1, 1, 2, 3, 4, 5, 6, 7]))
_COUNT_OF_BITS = np.searchsorted(_CDF, (np.arange(2**16) + 0.5) / 2**16).astype(np.uint8)

_BLOCK = 512  # clusters whose counts are in memory at a time


@lru_cache(maxsize=2**10)  # several metrics and replies need the same counts
def poisson_counts(cluster: str, draws: int, seed: int) -> NDArray[np.uint8]:
    """(draws,) how often a cluster is drawn in each of the `draws`; depends on its name and the seed only."""
    bits = np.random.PCG64(int(digest(str(seed), cluster), 16)).random_raw(-(-draws // 4))
    drawn: NDArray[np.uint8] = _COUNT_OF_BITS[np.asarray(bits, dtype=np.uint64).view(np.uint16)[:draws]]
    return drawn


@dataclass(frozen=True, slots=True, eq=False)
class PoissonSums:
    """Bootstrap sums of the clusters' rows, one for each draw.

    Sums of several shards with the same seed can be added.
    """

    sums: Floats  # (draws, k)
    seed: int = 0

    @classmethod
    def of(cls, clusters: Sequence[str], rows: Floats, *, draws: int, seed: int) -> "PoissonSums":
        """The sums (draws, k) of (n, k) rows, each row times its cluster's count.

        `clusters` has the cluster of each row.
        """
        names = list(dict.fromkeys(clusters))
        each = cluster_sums(rows, *codes(clusters))
        sums = np.zeros((draws, rows.shape[1]))
        for start in range(0, len(names), _BLOCK):
            some = names[start : start + _BLOCK]
            taken = np.stack([poisson_counts(name, draws, seed) for name in some]).astype(np.float64)
            sums += taken.T @ each[start : start + _BLOCK]
        return cls(sums, seed)

    def __add__(self, other: "PoissonSums") -> "PoissonSums":
        if self.seed != other.seed:
            raise ValueError(f"cannot add draws of seed {other.seed} to draws of seed {self.seed}")
        return PoissonSums(self.sums + other.sums, self.seed)
