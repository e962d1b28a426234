"""Rows of one metric for one agent, gathered as they stream by, and the finding they come to.

Where the metric's number is a function of summed rows, only one sum a cluster is kept: memory grows with
the number of dialogues and not with their text, up to `Clusters.MOST` of them; then one sum a draw of the Poisson
bootstrap (stats/poisson.py). Where it is one of moments, rows are kept while they are few; then
they are added up, and a seeded sample of clusters stays behind for the interval.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from turnwise.conformance import called, number_of, numbers_of
from turnwise.errors import PluginError, Refused, counted
from turnwise.logs.ids import IdSet
from turnwise.metrics.rows import better_direction, dense, stack_rows
from turnwise.protocols import Curved, metric_extras
from turnwise.run.scoring.blocks import Block
from turnwise.stats.interval import interval_of_rows, interval_of_sums, percentile, rescaled, wilson_of_rare
from turnwise.stats.poisson import PoissonSums
from turnwise.stats.reservoir import Reservoir
from turnwise.types import (
    Added,
    Finding,
    Floats,
    Guarded,
    Ints,
    Item,
    Merged,
    Metric,
    Rows,
    Status,
    Summed,
    digest,
)

CORNERS = 100  # of a curve that is kept


def _thinned(curve: Any) -> dict[str, list[float]]:
    """A named tuple of arrays as it stands in results.json: no more points than an eye can tell apart."""
    return {
        name: values[:: max(1, len(values) // CORNERS)].tolist()
        for name, values in zip(curve._fields, curve, strict=True)
    }


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
        self._seen = IdSet()

    def __len__(self) -> int:
        """How many there are, counted apart from how they are grouped."""
        return len(self._seen)

    @property
    def n_groups(self) -> int:
        return len(self._codes)

    @property
    def names(self) -> list[str]:
        """Of those that have a group of their own, by code."""
        return list(self._codes)

    def code(self, name: str) -> int:
        self._seen.add(name)
        if name not in self._codes and len(self._codes) == self.MOST:
            return crc32(name.encode()) % self.MOST
        return self._codes.setdefault(name, len(self._codes))


class Tally:
    def __init__(self, metric: Metric, *, seed: int = 0, draws: int = 1000) -> None:
        self.metric, self.draws, self._seed = metric, draws, seed
        self.weight = 0.0  # of scored items; samples of one reply weigh 1 together
        self.unscored: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self._clusters = Clusters()
        self._sums: Floats = np.zeros((0, 0))  # one a cluster; of all, once they are too many
        self._drawn: PoissonSums | None = None  # then the sums of each draw
        self._rows: list[Rows] = []
        self._row_codes: list[int] = []
        self._sample = Reservoir(seed=seed)
        self._moments: Added | None = None  # of all rows, once they are more than the sample

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
            self._sum(codes, [item.cluster for item in chosen], dense(rows) * weights[:, None])
        elif self._samples:
            self._merge(chosen, dense(rows))
        else:
            self._rows.append(rows)
            self._row_codes.extend(codes)

    @property
    def _samples(self) -> bool:
        """Whether rows are kept up to a sample of them, for the number has no need of more."""
        return isinstance(self.metric, Merged) or metric_extras(self.metric).sampled

    def _sum(self, codes: Sequence[int], clusters: Sequence[str], rows: Floats) -> None:
        if len(self._clusters) <= Clusters.MOST:
            self._grow(rows.shape[1])
            np.add.at(self._sums, codes, rows)
            return
        if self._drawn is None:
            n = min(self._clusters.n_groups, len(self._sums))
            held = self._sums[:n].reshape(n, rows.shape[1])
            self._drawn = PoissonSums.of(self._clusters.names[:n], held, draws=self.draws, seed=self._seed)
            self._sums = held.sum(axis=0, keepdims=True)
        self._drawn += PoissonSums.of(clusters, rows, draws=self.draws, seed=self._seed)
        self._sums = self._sums + rows.sum(axis=0)

    def _merge(self, items: Sequence[Item], rows: Floats) -> None:
        if isinstance(self.metric, Merged):
            if self._moments is not None:
                self._moments += called(self.metric, "moments", rows)
            elif self._sample.seen + len(rows) > self._sample.max_rows:
                kept = [self._sample.table()[0]] if self._sample.seen else []
                self._moments = called(self.metric, "moments", np.concatenate([*kept, rows]))
        for item, row in zip(items, rows, strict=True):
            self._sample.add(item.cluster, item.id, row)

    def _grow(self, columns: int) -> None:
        have = len(self._sums)
        if self._clusters.n_groups > have:
            more = np.zeros((max(have, self._clusters.n_groups - have, 64), columns))
            self._sums = np.concatenate([self._sums.reshape(have, columns), more])

    def finding(self, what: dict[str, str | None], *, draws: int, rng: np.random.Generator) -> Finding:
        try:
            estimate, interval, method = self._measure(draws, rng)
            details = self._details() if not np.isnan(estimate) else {}
        except Refused as error:
            return Finding.refusal(what, error, str(self.metric.signature))
        except PluginError as error:
            signature = str(self.metric.signature)
            return Finding(what=what, estimate=None, status="error", reason=str(error), signature=signature)
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
            status="ok" if found else self._status(),
            reason=None if found else self._reason(),
            details={"better": better_direction(self.metric), **details},
        )

    def _clipped(self, interval: tuple[float, float] | None) -> tuple[float, float] | None:
        """No further than the number itself can go: a Student's interval does not know that BLEU ends at 0."""
        low, high = metric_extras(self.metric).span
        return interval and (max(interval[0], low), min(interval[1], high))

    def _details(self) -> Mapping[str, Any]:
        if not isinstance(self.metric, Guarded):
            return {}
        rows = self._table()[0]
        curve = (
            {"curve": _thinned(called(self.metric, "curve", rows))} if isinstance(self.metric, Curved) else {}
        )
        return {**called(self.metric, "details", rows), **curve}

    def _status(self) -> Status:
        """Of a number that is not there: the gravest that befell its items."""
        grave: tuple[Status, ...] = ("error", "refused")
        return next((status for status in grave if self.statuses[status]), "skipped")

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
            if self._drawn is not None:
                return self._of_draws(metric, self._drawn)
            sums = self._sums[:n_groups]
            bounds = metric_extras(metric).bounds
            interval, method = interval_of_sums(
                sums, partial(numbers_of, metric), draws=draws, rng=rng, bounds=bounds
            )
            return float(numbers_of(metric, sums.sum(axis=0))), interval, method
        rows, codes, n_kept = self._table()
        if isinstance(metric, Merged) and self._moments is not None:
            estimate = called(metric, "of_moments", self._moments)
        else:
            if isinstance(metric, Guarded):
                called(metric, "check", rows)
            estimate = number_of(metric, rows)
        interval, method = interval_of_rows(
            lambda chosen: number_of(metric, rows[chosen]), codes, n_kept, draws=draws, rng=rng
        )
        if self._moments is None:
            return estimate, interval, method if self._sample.complete else f"{method}, {self._share(rows)}"
        share = n_kept / len(self._clusters)
        centre = number_of(metric, rows)
        told = f"{method}, {self._share(rows)}"
        return estimate, interval and rescaled(interval, centre, estimate, share=share), told

    def _of_draws(self, metric: Summed, drawn: PoissonSums) -> tuple[float, tuple[float, float] | None, str]:
        estimate = float(numbers_of(metric, self._sums[0]))
        if edge := self._at_the_edge(estimate):
            return estimate, edge, "Wilson by cluster"
        interval = percentile(numbers_of(metric, drawn.sums), n_clusters=len(self._clusters))
        told = f"percentile of the Poisson bootstrap by cluster, {self.draws} draws"
        return estimate, interval, told if interval else "none: no variation"

    def _at_the_edge(self, estimate: float) -> tuple[float, float] | None:
        """Of a share of yes-or-no answers that are nearly all the same, which few draws or none know of."""
        bounds = metric_extras(self.metric).bounds
        if bounds is None or np.isnan(estimate):
            return None
        low, high = bounds
        events = round(min(estimate - low, high - estimate) / (high - low) * self.weight)
        return wilson_of_rare(estimate, events, len(self._clusters), bounds=bounds)

    def _share(self, rows: Rows) -> str:
        return f"of a sample of {rows.shape[0]} of {self._sample.seen} items"

    def _table(self) -> tuple[Rows, Ints, int]:
        """The rows that are here, the cluster of each as a number, and the number of clusters."""
        if self._samples:
            return self._sample.table()
        return stack_rows(self._rows), np.array(self._row_codes), self._clusters.n_groups
