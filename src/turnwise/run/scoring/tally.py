"""Accumulates the rows of one metric for one agent and computes its score.

For a metric that is a function of summed rows, one sum for each cluster is kept. Memory then grows with the number of
dialogues and not with their text. Beyond `Clusters.MOST` clusters, one sum for each draw of the Poisson bootstrap is
kept instead (stats/poisson.py). For a metric that is a function of moments, all rows are kept while they are few.
After that they are added up, and a seeded sample of clusters is kept for the interval.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from msgspec import structs

from turnwise.conformance.calls import called, foreign, number_of, numbers_of
from turnwise.errors import PluginError, Refused, counted
from turnwise.logs.ids import IdSet
from turnwise.metrics.rows import better_direction, dense, stack_rows, subset_scorer
from turnwise.protocols import Curved, SamplesRaters, metric_extras
from turnwise.records import ScoreRecord, WhyNot
from turnwise.registry import plugin_name
from turnwise.run.scoring.blocks import Block
from turnwise.run.scoring.said import with_curve, with_said
from turnwise.stats.interval import (
    NO_VARIATION,
    interval_of_rows,
    interval_of_sums,
    percentile,
    rescaled,
    unvarying,
    wilson_of_rare,
)
from turnwise.stats.poisson import PoissonSums
from turnwise.stats.reservoir import Reservoir
from turnwise.types import (
    Addable,
    ChecksSample,
    Floats,
    HasMoments,
    Ints,
    Item,
    Metric,
    Rows,
    Status,
    Summed,
    digest,
)

CURVE_POINTS = 100  # points of a curve in results.json, roughly


def _thinned(curve: Any) -> dict[str, list[float]]:
    """A curve for results.json: a named tuple of arrays as lists of about `CURVE_POINTS` points."""
    return {
        name: values[:: max(1, len(values) // CURVE_POINTS)].tolist()
        for name, values in zip(curve._fields, curve, strict=True)
    }


def generator(seed: int, *names: str) -> np.random.Generator:
    """A random generator that depends on the seed and the names alone.

    So each result has its own, and one more metric changes no other number.
    """
    return np.random.default_rng([seed, int(digest(*names), 16)])


class Clusters:
    """Numbers the clusters by name, with bounded memory.

    The first `MOST` clusters have a group each; later ones join one of these groups by a hash of their name. Groups of
    independent clusters are independent, and this many groups give a standard error to within 1 %.
    """

    MOST = 2**13

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._seen = IdSet()

    def __len__(self) -> int:
        """The number of clusters, not of groups."""
        return len(self._seen)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self._codes)

    @property
    def names(self) -> list[str]:
        """The names of the clusters that opened a group, by code."""
        return list(self._codes)

    @property
    def by_name(self) -> Ints:
        """The codes of the groups in the order of their names: resampled in it, no draw depends on that of the data."""
        return np.array(sorted(range(len(self._codes)), key=self.names.__getitem__), dtype=np.int64)

    def code(self, name: str) -> int:
        """The group of the cluster `name`, as a number from 0; the cluster is counted."""
        self._seen.add(name)
        if name not in self._codes and len(self._codes) == self.MOST:
            return crc32(name.encode()) % self.MOST
        return self._codes.setdefault(name, len(self._codes))


class Tally:
    """Accumulates the rows of one metric for one agent and group."""

    def __init__(self, metric: Metric, *, seed: int = 0, draws: int = 1000) -> None:
        self.metric, self.draws, self._seed = metric, draws, seed
        self.weight = 0.0  # summed over scored items; the samples of one reply have weight 1 together
        self.unscored: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self._clusters = Clusters()
        self._sums: Floats = np.zeros(
            (0, 0)
        )  # one row for each cluster; one row in all once `_drawn` is used
        self._drawn: PoissonSums | None = None  # sums of each draw, once there are too many clusters
        self._rows: list[Rows] = []
        self._row_codes: list[int] = []
        self._sample = Reservoir(seed=seed)
        self._moments: Addable | None = None  # moments of all rows, once there are more than the sample holds

    def add(self, items: Sequence[Item], block: Block, positions: Sequence[int]) -> None:
        """Add the rows and failures of `block` for the items at `positions` of its shard."""
        wanted = set(positions)
        for failure in block.failures:
            if failure.position in wanted:
                self.unscored[failure.counted_as] += 1
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
        """Whether only a sample of the rows is kept, because the number needs no more."""
        return isinstance(self.metric, HasMoments) or metric_extras(self.metric).sampled

    def _sum(self, codes: Sequence[int], clusters: Sequence[str], rows: Floats) -> None:
        """Add the rows to the sums of their clusters, or to the sums of each draw."""
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
        """Add the rows to the sample, and to the moments once there are more rows than the sample holds."""
        if isinstance(self.metric, HasMoments):
            if self._moments is not None:
                self._moments += called(self.metric, "moments", rows)
            elif self._sample.seen + len(rows) > self._sample.max_rows:
                kept = [self._sample.table()[0]] if self._sample.seen else []
                self._moments = called(self.metric, "moments", np.concatenate([*kept, rows]))
        for item, row in zip(items, rows, strict=True):
            self._sample.add(item.cluster, item.id, row)

    def _grow(self, columns: int) -> None:
        """Make room in `_sums` for all groups."""
        have = len(self._sums)
        if self._clusters.n_groups > have:
            more = np.zeros((max(have, self._clusters.n_groups - have, 64), columns))
            self._sums = np.concatenate([self._sums.reshape(have, columns), more])

    def record(
        self, metric: str, *, agent: str, group: str | None = None, draws: int, rng: np.random.Generator
    ) -> ScoreRecord:
        """The score of the accumulated rows, with its interval; an error or a refusal if the metric raises one.

        `metric`, `agent` and `group` are names.
        """
        blank = ScoreRecord(
            estimate=None,
            metric=metric,
            agent=agent,
            group=group,
            level="system",
            signature=str(self.metric.signature),
        )
        try:
            estimate, interval, method = self._measure(draws, rng)
            if np.isinf(estimate) and foreign(self.metric):
                raise PluginError(f"{self._reduction()} returned {estimate}; expected a finite number or NaN")
            scored = structs.replace(
                blank,
                better=better_direction(self.metric),
                n_items=round(self.weight),
                n_clusters=len(self._clusters),
                unscored=dict(self.unscored),
            )
            if np.isnan(estimate):
                return self._without_estimate(scored)
            return self._with_details(
                structs.replace(
                    scored,
                    estimate=estimate,
                    interval=self._clipped(interval),
                    unvarying=unvarying(interval, method),
                    method=method,
                )
            )
        except Refused as error:
            return structs.replace(blank, status="refused", reason=str(error), why=WhyNot.of(error))
        except PluginError as error:
            return structs.replace(blank, status="error", reason=str(error))

    def _clipped(self, interval: tuple[float, float] | None) -> tuple[float, float] | None:
        """The interval within the metric's range; None stays None.

        A Student interval may exceed it, such as BLEU below 0.
        """
        low, high = metric_extras(self.metric).span
        return interval and (max(interval[0], low), min(interval[1], high))

    def _with_details(self, record: ScoreRecord) -> ScoreRecord:
        """The record with the extra diagnostics of the metric and its curve, where it has them.

        None for a metric that is not `ChecksSample`.
        """
        if not isinstance(self.metric, ChecksSample):
            return record
        rows = self._table()[0]
        record = with_said(record, self.metric, "details", called(self.metric, "details", rows))
        if not isinstance(self.metric, Curved):
            return record
        return with_curve(record, _thinned(called(self.metric, "curve", rows)))

    def _without_estimate(self, record: ScoreRecord) -> ScoreRecord:
        """The record with the most serious status of the items, and their reasons with counts.

        A plugin whose number is NaN although items were scored is named.
        """
        grave: tuple[Status, ...] = ("error", "refused")
        reasons = [f"{reason} ({counted(count, 'item')})" for reason, count in self.unscored.most_common()]
        n_scored = round(self.weight) if foreign(self.metric) else 0
        returned = [f"{self._reduction()} returned NaN for {counted(n_scored, 'scored item')}"]
        return structs.replace(
            record,
            status=next((status for status in grave if self.statuses[status]), "skipped"),
            reason="; ".join([*returned[: bool(n_scored)], *reasons])
            or "the metric is undefined on what was scored",
            only_unscored=bool(reasons) and not n_scored,
        )

    def _reduction(self) -> str:
        """The name of the method of a plugin that reduces rows to the number."""
        return f"{plugin_name(self.metric)}.{'of_sums' if isinstance(self.metric, Summed) else 'reduce'}"

    def _measure(self, draws: int, rng: np.random.Generator) -> tuple[float, tuple[float, float] | None, str]:
        """The estimate, its interval (None if it has none) and the method of the interval.

        NaN, None and "" without rows.
        """
        metric, n_groups = self.metric, self._clusters.n_groups
        if n_groups == 0:
            return float("nan"), None, ""
        if isinstance(metric, Summed):
            if self._drawn is not None:
                return self._measure_draws(metric, self._drawn)
            sums = self._sums[self._clusters.by_name]
            bounds = metric_extras(metric).bounds
            interval, method = interval_of_sums(
                sums, partial(numbers_of, metric), draws=draws, rng=rng, bounds=bounds
            )
            return float(numbers_of(metric, sums.sum(axis=0))), interval, method
        rows, codes, n_kept = self._table()
        if isinstance(metric, HasMoments) and self._moments is not None:
            estimate = called(metric, "of_moments", self._moments)
        else:
            if isinstance(metric, ChecksSample):
                called(metric, "check", rows)
            estimate = number_of(metric, rows)
        if isinstance(metric, SamplesRaters):
            return estimate, *metric.rater_interval(rows, codes)
        interval, method = interval_of_rows(subset_scorer(metric, rows), codes, n_kept, draws=draws, rng=rng)
        if self._moments is None:
            return estimate, interval, method if self._sample.complete else f"{method}, {self._share(rows)}"
        share = n_kept / len(self._clusters)
        centre = number_of(metric, rows)
        method = f"{method}, {self._share(rows)}"
        return estimate, interval and rescaled(interval, centre, estimate, share=share), method

    def _measure_draws(
        self, metric: Summed, drawn: PoissonSums
    ) -> tuple[float, tuple[float, float] | None, str]:
        """The estimate, its interval and the method, from the sums of the Poisson bootstrap.

        A proportion near 0 or 1 has a Wilson interval. The interval is None if the draws do not vary.
        """
        estimate = float(numbers_of(metric, self._sums[0]))
        if edge := self._interval_of_rare(estimate):
            return estimate, edge, "Wilson by cluster"
        interval = percentile(numbers_of(metric, drawn.sums), n_clusters=len(self._clusters))
        method = f"percentile of the Poisson bootstrap by cluster, {self.draws} draws"
        return estimate, interval, method if interval else NO_VARIATION

    def _interval_of_rare(self, estimate: float) -> tuple[float, float] | None:
        """The Wilson interval of a proportion near 0 or 1, where few or no draws have another value; otherwise None."""
        bounds = metric_extras(self.metric).bounds
        if bounds is None or np.isnan(estimate):
            return None
        low, high = bounds
        events = round(min(estimate - low, high - estimate) / (high - low) * self.weight)
        return wilson_of_rare(estimate, events, len(self._clusters), bounds=bounds)

    def _share(self, rows: Rows) -> str:
        """A phrase that tells how many of the items are in the sample."""
        return f"of a sample of {rows.shape[0]} of {self._sample.seen} items"

    def _table(self) -> tuple[Rows, Ints, int]:
        """The kept rows, the cluster code of each, and the number of clusters."""
        if self._samples:
            return self._sample.table()
        place = np.argsort(self._clusters.by_name)  # code -> its place in the order of names
        return stack_rows(self._rows), place[np.array(self._row_codes)], self._clusters.n_groups
