"""Bounded sample of rows by cluster, for corpora with more rows than fit in memory.

Up to `max_rows` rows all are kept. Beyond that, the clusters with the smallest seeded hash of their name are kept, and
of a large cluster the rows with the smallest hash. The sample and its order depend on the rows and the seed only, not
on the order of the rows or on how they were distributed over processes.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from turnwise.stats.clusters import codes
from turnwise.types import Floats, Ints, digest

MAX_ROWS = (
    2**12
)  # enough to estimate a standard error to about 1 %; a thousand distances of them take a minute
_MIN_CLUSTERS = 64  # clusters that fit for any cluster size, so that there are enough to resample


class _SampledRow(NamedTuple):
    """A kept row, and the hash by which a large cluster is cut."""

    hash: int  # hash of the row's name
    row: Floats


@dataclass(slots=True)
class Reservoir:
    """A sample of at most `max_rows` rows, filled by `add` and read by `table`."""

    max_rows: int = MAX_ROWS
    seed: int = 0
    seen: int = 0  # rows that were added, kept or not
    _clusters: dict[int, list[_SampledRow]] = field(default_factory=dict)  # by the hash of the cluster's name
    _heap: list[int] = field(
        default_factory=list
    )  # negative hashes of the kept clusters: the largest is first
    _count: int = 0  # rows that are kept
    _bound: int | None = None  # clusters with this hash or a larger one were dropped

    @property
    def complete(self) -> bool:
        """Whether every row that was added is kept."""
        return self.seen <= self.max_rows

    def add(self, cluster: str, name: str, row: Floats) -> None:
        """Add a row of a cluster; names of rows must differ within a cluster.

        Beyond `max_rows` rows, this row or others may be dropped.
        """
        was_complete = self.complete
        self.seen += 1
        key = self._hash(cluster)
        if self._bound is None or key < self._bound:
            if key not in self._clusters:
                self._clusters[key] = []
                heappush(self._heap, -key)
            self._clusters[key].append(_SampledRow(self._hash(name), np.array(row)))
            self._count += 1
        if not self.complete:
            self._shrink(list(self._clusters) if was_complete else [key])

    def table(self) -> tuple[Floats, Ints, int]:
        """The kept rows (n, k), the cluster code of each, and the number of clusters.

        Clusters and rows are in the order of their hashes, so that the order of arrival changes no draw.

        Raises `ValueError` if no row was added.
        """
        kept = [
            (key, one.row)
            for key, rows in sorted(self._clusters.items())
            for one in sorted(rows, key=lambda one: one.hash)
        ]
        numbers, n_clusters = codes([str(key) for key, _ in kept])
        return np.stack([row for _, row in kept]), numbers, n_clusters

    def _shrink(self, changed: list[int]) -> None:
        """Cut the `changed` clusters to the maximum cluster size, then drop clusters until `max_rows` are left."""
        max_cluster_rows = max(1, self.max_rows // _MIN_CLUSTERS)
        for key in changed:
            rows = self._clusters.get(key, [])
            if len(rows) > max_cluster_rows:
                self._count -= len(rows) - max_cluster_rows
                self._clusters[key] = sorted(rows, key=lambda one: one.hash)[:max_cluster_rows]
        while self._count > self.max_rows:
            self._bound = -heappop(self._heap)
            self._count -= len(self._clusters.pop(self._bound))

    def _hash(self, name: str) -> int:
        """The hash of a name that also depends on the seed."""
        return int(digest(str(self.seed), name), 16)
