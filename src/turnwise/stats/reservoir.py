"""Rows of some clusters, chosen by chance, where there are too many rows to keep them all.

Up to `most` rows everything is kept, in the order it came. Beyond that a cluster is kept if a seeded hash of its name
is among the smallest, and of a large cluster the rows whose names hash smallest. So the sample is a function of the
rows and the seed: neither their order nor how they were dealt out to processes moves it.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from turnwise.stats.clusters import codes
from turnwise.types import Floats, Ints, digest

MOST = 2**12  # rows: a standard error is then known to about 1 %, and a thousand distances take a minute
_SPREAD = 64  # clusters that find room however large they are: enough to resample


class _Kept(NamedTuple):
    arrival: int
    mark: int  # of the row, within its cluster
    row: Floats


@dataclass(slots=True)
class Reservoir:
    most: int = MOST
    seed: int = 0
    seen: int = 0  # rows that were added, kept or not
    _clusters: dict[int, list[_Kept]] = field(default_factory=dict)  # by the hash of their name
    _largest: list[int] = field(default_factory=list)  # the same hashes, negative: a heap
    _count: int = 0
    _bound: int | None = None  # clusters that hash to this or more are out

    @property
    def whole(self) -> bool:
        """Whether everything that was added is here."""
        return self.seen <= self.most

    def add(self, cluster: str, name: str, row: Floats) -> None:
        """Take in a row of a cluster; names of rows differ within it."""
        was_whole, arrival = self.whole, self.seen
        self.seen += 1
        place = self._mark(cluster)
        if self._bound is None or place < self._bound:
            if place not in self._clusters:
                self._clusters[place] = []
                heappush(self._largest, -place)
            self._clusters[place].append(_Kept(arrival, self._mark(name), np.array(row)))
            self._count += 1
        if not self.whole:
            self._shrink(list(self._clusters) if was_whole else [place])

    def table(self) -> tuple[Floats, Ints, int]:
        """The kept rows (n, k) in the order they came, the cluster of each as a number, and how many clusters."""
        kept = sorted((one.arrival, place, one.row) for place, rows in self._clusters.items() for one in rows)
        numbers, n_clusters = codes([str(place) for _, place, _ in kept])
        return np.stack([row for _, _, row in kept]), numbers, n_clusters

    def _shrink(self, changed: list[int]) -> None:
        most_of_one = max(1, self.most // _SPREAD)
        for place in changed:
            rows = self._clusters.get(place, [])
            if len(rows) > most_of_one:
                self._count -= len(rows) - most_of_one
                self._clusters[place] = sorted(rows, key=lambda one: one.mark)[:most_of_one]
        while self._count > self.most:
            self._bound = -heappop(self._largest)
            self._count -= len(self._clusters.pop(self._bound))

    def _mark(self, name: str) -> int:
        return int(digest(str(self.seed), name), 16)
