"""The bootstrap as a sum: each cluster is taken Poisson(1) times in each draw, by a hash of its name and the seed.

Drawing C of C clusters with replacement needs all of them at hand; with independent Poisson counts (Hanley and
MacGibbon 2006; Chamandy et al. 2012) each cluster decides for itself, so that a draw is a weighted sum of rows. Sums of
shards add up to those of all, whatever the shards, and memory is `draws` sums however many clusters there are. The
number of clusters varies between draws by sqrt(C), which a statistic that is a ratio of sums does not feel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from turnwise.stats.clusters import cluster_sums, codes
from turnwise.types import Floats, digest

# P(count <= k) for a mean of 1; a uniform number of 16 bits is told apart by it to 1.5e-5.
_HEIGHTS = np.cumsum(np.exp(-1.0) / np.cumprod([1, 1, 2, 3, 4, 5, 6, 7]))
_TABLE = np.searchsorted(_HEIGHTS, (np.arange(2**16) + 0.5) / 2**16).astype(np.uint8)

_BLOCK = 512  # clusters whose counts are held at a time


@lru_cache(maxsize=2**10)  # metrics and neighbouring replies ask for the same
def counts(cluster: str, draws: int, seed: int) -> NDArray[np.uint8]:
    """(draws,) how often a cluster is taken in each draw: a function of its name and the seed alone."""
    bits = np.random.PCG64(int(digest(str(seed), cluster), 16)).random_raw(-(-draws // 4))
    drawn: NDArray[np.uint8] = _TABLE[np.asarray(bits, dtype=np.uint64).view(np.uint16)[:draws]]
    return drawn


@dataclass(frozen=True, slots=True, eq=False)
class PoissonSums:
    """Weighted sums of clusters' rows, one a draw; sums of several shards add up."""

    sums: Floats  # (draws, k)
    seed: int = 0

    @classmethod
    def of(cls, clusters: Sequence[str], rows: Floats, *, draws: int, seed: int) -> "PoissonSums":
        """Of (n, k) rows and the cluster of each."""
        names = list(dict.fromkeys(clusters))
        each = cluster_sums(rows, *codes(clusters))
        sums = np.zeros((draws, rows.shape[1]))
        for start in range(0, len(names), _BLOCK):
            some = names[start : start + _BLOCK]
            taken = np.stack([counts(name, draws, seed) for name in some]).astype(np.float64)
            sums += taken.T @ each[start : start + _BLOCK]
        return cls(sums, seed)

    def __add__(self, other: "PoissonSums") -> "PoissonSums":
        if self.seed != other.seed:
            raise ValueError(f"draws of seeds {self.seed} and {other.seed} are not the same draws")
        return PoissonSums(self.sums + other.sums, self.seed)
