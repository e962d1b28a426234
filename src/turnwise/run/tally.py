"""Rows of one metric for one agent, gathered as they stream by, and the finding they come to.

Where the metric's number is a function of summed rows, only one sum a cluster is kept: memory grows with
the number of dialogues and not with their text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from zlib import crc32

import numpy as np

from turnwise.errors import Refused, counted
from turnwise.logs.seen import Seen
from turnwise.meta.table import dense, stack
from turnwise.run.blocks import Block
from turnwise.stats.interval import interval_of_rows, interval_of_sums
from turnwise.types import Finding, Floats, Guarded, Item, Metric, Rows, Summed, digest


def generator(seed: int, *names: str) -> np.random.Generator:
    """A stream of its own for each result, so that asking for one more metric moves no other number."""
    return np.random.default_rng([seed, int(digest(*names), 16)])


class Clusters:
    """Numbers for clusters by name; memory stays flat however many there are.

    Beyond `MOST` clusters the rest are dealt into as many groups by a hash of their name. Groups of
    independent clusters are independent, and so many of them know a standard error to 1 %.
    """

    MOST = 2**13

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._seen = Seen()

    def __len__(self) -> int:
        """How many there are, counted apart from how they are grouped."""
        return len(self._seen)

    @property
    def n_groups(self) -> int:
        return len(self._codes)

    def code(self, name: str) -> int:
        self._seen.add(name)
        if name not in self._codes and len(self._codes) == self.MOST:
            return crc32(name.encode()) % self.MOST
        return self._codes.setdefault(name, len(self._codes))


class Tally:
    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.weight = 0.0  # of scored items; samples of one reply weigh 1 together
        self.unscored: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self._clusters = Clusters()
        self._sums: Floats = np.zeros((0, 0))
        self._rows: list[Rows] = []
        self._row_codes: list[int] = []

    def add(self, items: Sequence[Item], block: Block, positions: Sequence[int]) -> None:
        """Take in what `block` says of the items at `positions` of its shard."""
        wanted = set(positions)
        for failure in block.failures:
            if failure.position in wanted:
                self.unscored[failure.reason] += 1
                self.statuses[failure.status] += 1
        mine = [row for row, at in enumerate(block.scored) if at in wanted]
        if not mine:
            return
        chosen = [items[block.scored[row]] for row in mine]
        codes = [self._clusters.code(item.cluster) for item in chosen]
        weights = np.array([item.weight for item in chosen])
        self.weight += float(weights.sum())
        rows = block.rows[np.array(mine)]
        if isinstance(self.metric, Summed):
            self._grow(rows.shape[1])
            np.add.at(self._sums, codes, dense(rows) * weights[:, None])
        else:
            self._rows.append(rows)
            self._row_codes.extend(codes)

    def _grow(self, columns: int) -> None:
        have = len(self._sums)
        if self._clusters.n_groups > have:
            more = np.zeros((max(have, self._clusters.n_groups - have, 64), columns))
            self._sums = np.concatenate([self._sums.reshape(have, columns), more])

    def finding(self, what: dict[str, str | None], *, draws: int, rng: np.random.Generator) -> Finding:
        try:
            estimate, interval, method = self._measure(draws, rng)
        except Refused as error:
            return Finding.refusal(what, error, str(self.metric.signature))
        found = not np.isnan(estimate)
        return Finding(
            what=what,
            estimate=estimate if found else None,
            interval=self._clipped(interval) if found else None,
            n_items=round(self.weight),
            n_clusters=len(self._clusters),
            unscored=dict(self.unscored),
            method=method if found else "",
            signature=str(self.metric.signature),
            status="ok" if found else "error" if self.statuses["error"] else "skipped",
            reason=None if found else self._reason(),
            details=self._details() if found else {},
        )

    def _clipped(self, interval: tuple[float, float] | None) -> tuple[float, float] | None:
        """No further than the number itself can go: a Student's interval does not know that BLEU ends at 0."""
        low, high = getattr(self.metric, "span", (-inf, inf))
        return interval and (max(interval[0], low), min(interval[1], high))

    def _details(self) -> Mapping[str, float]:
        return self.metric.details(stack(self._rows)) if isinstance(self.metric, Guarded) else {}

    def _reason(self) -> str:
        if not self.unscored:
            return "the metric is undefined on what was judged"
        return "; ".join(
            f"{reason} ({counted(count, 'item')})" for reason, count in self.unscored.most_common()
        )

    def _measure(self, draws: int, rng: np.random.Generator) -> tuple[float, tuple[float, float] | None, str]:
        metric, n_groups = self.metric, self._clusters.n_groups
        if n_groups == 0:
            return float("nan"), None, ""
        if isinstance(metric, Summed):
            sums = self._sums[:n_groups]
            bounds = getattr(metric, "bounds", None)  # of a share of yes-or-no answers
            interval = interval_of_sums(sums, metric.of_sums, draws=draws, rng=rng, bounds=bounds)
            return float(metric.of_sums(sums.sum(axis=0))), *interval
        rows = stack(self._rows)
        if isinstance(metric, Guarded):
            metric.check(rows)
        interval = interval_of_rows(
            lambda chosen: metric.reduce(rows[chosen]),
            np.array(self._row_codes),
            n_groups,
            draws=draws,
            rng=rng,
        )
        return metric.reduce(rows), *interval
