"""Scores and mean ratings of systems in resamples of clusters, drawn once for all statistics and dimensions.

A metric that is no function of sums (FBD, distinct-n) must be computed anew in every resample. Its scores of the
systems do not depend on the statistic or the dimension, so they are computed once and kept, one number for each
resample and system.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from turnwise.meta.gold import Gold
from turnwise.meta.points import mean_ratings, rated_rows, rating_sums, sign
from turnwise.meta.table import ScoreTable
from turnwise.metrics.rows import subset_scorer
from turnwise.stats.clusters import cluster_codes, cluster_sums, codes
from turnwise.stats.correlation import row_correlations
from turnwise.stats.interval import Interval, interval_of_subsamples
from turnwise.stats.resample import jackknife_samples, subsamples
from turnwise.types import Floats


class SystemDraws:
    """Subsamples of clusters with the systems' scores and ratings in each.

    `generator` makes, for the name of a metric, a generator that always starts at the same place: the clusters of a
    subsample are drawn again for each dimension instead of being kept.
    """

    def __init__(self, draws: int, generator: Callable[[str], np.random.Generator]) -> None:
        self._draws, self._generator = draws, generator
        self._scores: dict[tuple[str, tuple[str, ...]], Floats] = {}  # (metric, rated units) -> (r, S)
        self._ratings: dict[
            tuple[str, tuple[str, ...], str], Floats
        ] = {}  # the same of a dimension -> (r, S)

    def interval(self, table: ScoreTable, gold: Gold, statistic: str) -> tuple[Interval | None, str]:
        """Interval of a correlation over systems, and the method or the reason why there is none."""
        rows = rated_rows(table, gold)
        n_clusters = cluster_codes(rows.clusters)[1]
        if n_clusters < 2:
            return None, "none: fewer than 2 clusters"
        key = (rows.name, rows.ids)
        if key not in self._scores:
            self._scores[key] = _scores(rows, self._samples(rows.name, n_clusters))
        if (*key, gold.dimension) not in self._ratings:
            self._ratings[*key, gold.dimension] = _ratings(rows, gold, self._samples(rows.name, n_clusters))
        values = row_correlations(statistic, self._scores[key], self._ratings[*key, gold.dimension])
        end = 1 + self._draws
        return interval_of_subsamples(float(values[0]), values[1:end], values[end:], n_clusters)

    def _samples(self, name: str, n_clusters: int) -> Iterator[NDArray[np.bool_]]:
        """(C,) flags of the clusters in each of the samples: all, then the subsamples, then those of the jackknife."""
        drawn = subsamples(n_clusters, draws=self._draws, rng=self._generator(name))
        return chain([np.ones(n_clusters, dtype=bool)], drawn, jackknife_samples(n_clusters))


def left_out_scores(rows: ScoreTable, gold: Gold) -> tuple[Floats, Floats]:
    """(J, S) scores of systems, oriented so that higher is better, and mean ratings, in samples of the jackknife."""
    samples = list(jackknife_samples(cluster_codes(rows.clusters)[1]))
    return _scores(rows, samples), _ratings(rows, gold, samples)


def _scores(rows: ScoreTable, samples: Iterable[NDArray[np.bool_]]) -> Floats:
    """(r, S) score of each system, oriented so that higher is better, in each sample of clusters."""
    agent_codes, n_agents = codes(rows.agents)
    of_cluster, _ = cluster_codes(rows.clusters)
    mine = [np.flatnonzero(agent_codes == agent) for agent in range(n_agents)]
    scorers = [subset_scorer(rows.metric, rows.rows[own]) for own in mine]
    found = [
        [score(np.flatnonzero(sample[of_cluster[own]])) for score, own in zip(scorers, mine, strict=True)]
        for sample in samples
    ]
    return sign(rows) * np.array(found)


def _ratings(rows: ScoreTable, gold: Gold, samples: Iterable[NDArray[np.bool_]]) -> Floats:
    """(r, S) mean rating of each system in each sample of clusters; NaN where it has no rated unit."""
    agent_codes, n_agents = codes(rows.agents)
    of_cluster, n_clusters = cluster_codes(rows.clusters)
    cells = cluster_sums(rating_sums(rows, gold), of_cluster * n_agents + agent_codes, n_clusters * n_agents)
    cells = cells.reshape(n_clusters, -1)
    sums = np.array([sample @ cells for sample in samples])
    return mean_ratings(sums.reshape(-1, n_agents, 2))
