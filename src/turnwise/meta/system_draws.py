"""Scores and mean ratings of systems in resamples of clusters, drawn once for all statistics and dimensions.

The scores of the systems in a resample do not depend on the statistic or the dimension, and the ratings not on the
metric. So both are computed once and kept, one number for each resample and system. A metric that is a function of
sums has bootstrap draws; one that is not (FBD, distinct-n) is computed anew in subsamples.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from turnwise.meta.gold import Gold
from turnwise.meta.points import mean_ratings, rated_rows, rating_sums, sign
from turnwise.meta.table import ScoreTable
from turnwise.metrics.rows import subset_scorer
from turnwise.stats.clusters import cluster_codes, cluster_sums, codes
from turnwise.stats.correlation import row_correlations
from turnwise.stats.interval import Interval, interval_of_draws, interval_of_subsamples
from turnwise.stats.resample import bootstrap_sums, jackknife_samples, jackknife_sums, subsamples
from turnwise.stats.shared_draws import SharedDraws
from turnwise.types import Floats, Summed

Part = Literal["whole", "drawn", "left out"]  # all clusters once, the resamples, those of the jackknife


class SystemDraws:
    """Resamples of clusters with the systems' scores and ratings in each, which the draws that are shared make the
    same for both.
    """

    def __init__(self, draws: int, rng: SharedDraws) -> None:
        self._draws, self._rng = draws, rng
        self._more: dict[int, SystemDraws] = {}  # by their number of draws
        self._scores: dict[tuple[str, tuple[str, ...], Part], Floats] = {}  # metric, rated units -> (r, S)
        self._ratings: dict[tuple[object, ...], Floats] = {}  # dimension, units and how drawn -> (r, S)

    def of(self, draws: int) -> "SystemDraws":
        """The resamples with this number of draws; these if they have it."""
        if draws == self._draws:
            return self
        return self._more.setdefault(draws, SystemDraws(draws, self._rng))

    def interval(self, table: ScoreTable, gold: Gold, statistic: str) -> tuple[Interval | None, str]:
        """Interval of a correlation over systems, and the method or the reason why there is none."""
        rows = rated_rows(table, gold)
        n_clusters = cluster_codes(rows.clusters)[1]
        if n_clusters < 2:
            return None, "none: fewer than 2 clusters"
        whole, drawn, left_out = (
            row_correlations(statistic, self._of_metric(rows, part), self._of_people(rows, gold, part))
            for part in ("whole", "drawn", "left out")
        )
        if _of_sums(rows) is not None:
            return interval_of_draws(float(whole[0]), drawn, left_out, n_clusters=n_clusters)
        return interval_of_subsamples(float(whole[0]), drawn, left_out, n_clusters)

    def left_out(self, rows: ScoreTable, gold: Gold) -> tuple[Floats, Floats]:
        """(J, S) scores of systems, oriented so that higher is better, and mean ratings, in samples of the jackknife.

        `rows` are those of the rated units.
        """
        return self._of_metric(rows, "left out"), self._of_people(rows, gold, "left out")

    def _of_metric(self, rows: ScoreTable, part: Part) -> Floats:
        """(r, S) score of each system, oriented so that higher is better."""
        key = (rows.name, rows.ids, part)
        if key not in self._scores:
            of_sums = _of_sums(rows)
            if of_sums is not None:
                found = self._resampled(_cells(rows, np.asarray(rows.rows)), of_sums, part)
            else:
                found = _scores(rows, self._samples(cluster_codes(rows.clusters)[1], part))
            self._scores[key] = sign(rows) * found
        return self._scores[key]

    def _of_people(self, rows: ScoreTable, gold: Gold, part: Part) -> Floats:
        """(r, S) mean rating of each system; NaN where it has no rated unit."""
        summed = _of_sums(rows) is not None
        whole_dialogues = "dialogue" in rows.metric.needs
        key = (gold.dimension, whole_dialogues, rows.ids, rows.agents, rows.clusters, summed, part)
        if key not in self._ratings:
            cells = _cells(rows, rating_sums(rows, gold))
            if summed:
                found = self._resampled(cells, mean_ratings, part)
            else:
                samples = self._samples(len(cells), part)
                found = mean_ratings(np.array([np.tensordot(sample, cells, axes=1) for sample in samples]))
            self._ratings[key] = found
        return self._ratings[key]

    def _resampled(self, cells: Floats, of_sums: Callable[[Floats], Floats], part: Part) -> Floats:
        """(r, S) values of a function of (C, S, k) sums."""
        if part == "whole":
            return of_sums(cells.sum(axis=0))[None]
        if part == "left out":
            return jackknife_sums(cells, of_sums)
        return bootstrap_sums(cells, of_sums, draws=self._draws, rng=self._rng)

    def _samples(self, n_clusters: int, part: Part) -> Iterator[NDArray[np.bool_]]:
        """(C,) flags of the clusters in each sample."""
        if part == "whole":
            return iter([np.ones(n_clusters, dtype=bool)])
        if part == "left out":
            return jackknife_samples(n_clusters)
        return subsamples(n_clusters, draws=self._draws, rng=self._rng)


def _of_sums(rows: ScoreTable) -> Callable[[Floats], Floats] | None:
    """The metric as a function of sums of its rows; None where it is no such function."""
    summed = isinstance(rows.metric, Summed) and isinstance(rows.rows, np.ndarray)
    return rows.metric.of_sums if summed and isinstance(rows.metric, Summed) else None


def _cells(rows: ScoreTable, values: Floats) -> Floats:
    """(C, S, k) sums of the rows' values over each cluster and system."""
    agent_codes, n_agents = codes(rows.agents)
    of_cluster, n_clusters = cluster_codes(rows.clusters)
    cells = cluster_sums(values, of_cluster * n_agents + agent_codes, n_clusters * n_agents)
    return cells.reshape(n_clusters, n_agents, -1)


def _scores(rows: ScoreTable, samples: Iterable[NDArray[np.bool_]]) -> Floats:
    """(r, S) score of each system in each sample of clusters."""
    agent_codes, n_agents = codes(rows.agents)
    of_cluster, _ = cluster_codes(rows.clusters)
    mine = [np.flatnonzero(agent_codes == agent) for agent in range(n_agents)]
    scorers = [subset_scorer(rows.metric, rows.rows[own]) for own in mine]
    found = [
        [score(np.flatnonzero(sample[of_cluster[own]])) for score, own in zip(scorers, mine, strict=True)]
        for sample in samples
    ]
    return np.array(found)
