"""Differences between metrics in their agreement with people, on the units that both metrics scored.

Interval and test of a difference are one procedure, Student's t on the jackknife by cluster: nothing is drawn, and the
difference the other way round has the other sign. PERM-BOTH (Deutsch, Dror and Roth 2021), which swaps the two metrics'
standardised scores by cluster, has no interval, and with 1,000 draws its p near 5 % depends on the seed. At system
level there are too few points for a t test: PERM-BOTH swaps system by system,
all swaps up to 14 systems, and no interval is given. Williams' test is given too for Pearson where its assumptions hold
(one point a cluster). p-values are adjusted over all pairs of metrics.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from msgspec.structs import replace

from turnwise.errors import Refused
from turnwise.meta.correlate_systems import MIN_SYSTEMS
from turnwise.meta.gold import Gold
from turnwise.meta.points import Points, agent_points, rated_rows, unit_points
from turnwise.meta.table import ScoreTable
from turnwise.records import MetricDifference, Number, finite
from turnwise.stats.clusters import codes, group_clusters
from turnwise.stats.computing.remembered import remembered
from turnwise.stats.correlation import pearson
from turnwise.stats.permutation import (
    DifferenceTest,
    benjamini_hochberg,
    perm_both_systems,
    williams,
)
from turnwise.stats.shared_draws import SharedDraws
from turnwise.stats.studentised import Studentised, paired
from turnwise.stats.weighted import weighted_correlation
from turnwise.stats.within import difference_inside_large_groups
from turnwise.types import Floats, Ints, Level

BY_SYSTEM = "PERM-BOTH by system"
SWAPS = 2**14  # all swaps of 14 systems; of more systems so many are drawn, and p near 5 % is right to .0017


def differences(
    tables: Sequence[ScoreTable],
    gold: Gold,
    level: Level,
    statistics: Sequence[str],
    *,
    group: str = "",
    draws: int,
    rng: SharedDraws,
) -> list[MetricDifference]:
    """A test for each pair of metrics and each statistic, with p not yet adjusted.

    A pair with a metric that refuses has none. `difference` (first minus second) and `p` are None where undefined.
    """
    tests = []
    points_of = _PointsOnce(gold, level)
    for a, b in combinations(tables, 2):
        try:
            one, two = points_of.both(a, b)
        except Refused:  # no scores to compare; the metric's record has the reason
            continue
        for statistic in statistics:
            test = _difference_test(one, two, level, statistic, draws=draws, rng=rng)
            interval = test.interval()
            within = _test_within_agents(one, two, level, statistic)
            tests.append(
                MetricDifference(
                    metric_a=a.name,
                    metric_b=b.name,
                    dimension=gold.dimension,
                    group=group or None,
                    level=level,
                    statistic=statistic,
                    difference=finite(test.estimate),
                    interval=interval,
                    p=finite(test.p),
                    method=test.method or None,
                    p_williams=_williams(one, two) if statistic == "pearson" else None,
                    n_points=len(one.x),
                    difference_within_agents=finite(within.difference),
                    p_within_agents=finite(within.p),
                )
            )
    return tests


class _PointsOnce:
    """The points of metrics at one level, computed once for all pairs of metrics that scored the same units."""

    def __init__(self, gold: Gold, level: Level) -> None:
        self._gold, self._level = gold, level
        self._known: dict[tuple[str, frozenset[str]], Points] = {}  # metric, units

    def both(self, a: ScoreTable, b: ScoreTable) -> tuple[Points, Points]:
        """The points that both metrics have.

        Points over agents are those of the rated units that both scored, so that mean ratings are the same. Raises
        `Refused` if a metric does.
        """
        if self._level != "system":
            return common_points(self._points(a, frozenset()), self._points(b, frozenset()))
        one, two = rated_rows(a, self._gold), rated_rows(b, self._gold)
        common = frozenset(one.ids) & frozenset(two.ids)
        return common_points(self._points(one, common), self._points(two, common))

    def _points(self, table: ScoreTable, units: frozenset[str]) -> Points:
        """The metric's points at this level; over agents, those of these rated units."""
        key = (table.name, units)
        if key not in self._known:
            self._known[key] = (
                agent_points(table.where([name in units for name in table.ids]), self._gold)
                if self._level == "system"
                else unit_points(table, self._gold)
            )
        return self._known[key]


def common_points(a: Points, b: Points) -> tuple[Points, Points]:
    """The points that both metrics have, in the order of `a`."""
    index_b = {name: at for at, name in enumerate(b.names)}
    keep_a = np.array([at for at, name in enumerate(a.names) if name in index_b], dtype=np.int64)
    keep_b = np.array([index_b[a.names[at]] for at in keep_a], dtype=np.int64)
    return _subset(a, keep_a), _subset(b, keep_b)


def _subset(points: Points, keep: np.ndarray[Any, np.dtype[np.int64]]) -> Points:
    """The points at the indices `keep`, with clusters numbered anew.

    Points over agents keep the clusters of all rows.
    """
    names, agents = (tuple(column[at] for at in keep) for column in (points.names, points.agents))
    contexts = tuple(points.contexts[at] for at in keep) if points.contexts else ()
    per_point = len(points.codes) == len(points.names)
    renumbered = (
        np.unique(points.codes[keep], return_inverse=True) if per_point else (points.codes, points.codes)
    )
    x, y = points.x[keep], points.y[keep]
    return Points(names, x, y, agents, contexts, renumbered[1], len(np.unique(renumbered[0])))


def _difference_test(
    one: Points, two: Points, level: Level, statistic: str, *, draws: int, rng: SharedDraws
) -> Studentised:
    """The test of the two agreements; NaN with fewer than 3 points, or if the ratings or one metric's scores are
    constant.
    """
    if len(one.x) < MIN_SYSTEMS or np.ptp(one.x) == 0 or np.ptp(two.x) == 0 or np.ptp(one.y) == 0:
        return Studentised(float("nan"), None, 0.0, "")
    if level == "system":
        order = np.argsort(np.array(one.names, dtype=np.str_), kind="stable")  # of the data changes no draw
        draws = max(draws, SWAPS)
        test = perm_both_systems(one.x[order], two.x[order], one.y[order], statistic, draws=draws, rng=rng)
        return Studentised(test.difference, None, 0.0, BY_SYSTEM, test.p)
    codes, n = group_clusters(one.codes, one.n_clusters)
    (of_one, without_one), (of_two, without_two) = (
        _jackknife(statistic, side.x, side.y, codes, n) for side in (one, two)
    )
    if np.isnan(of_one - of_two):
        return Studentised(float("nan"), None, 0.0, "")
    return paired(of_one - of_two, without_one - without_two, np.ones(n), unit=1.0)


@remembered
def _jackknife(statistic: str, x: Floats, y: Floats, codes: Ints, n_clusters: int) -> tuple[float, Floats]:
    """A correlation, and its values (C,) with each cluster left out."""
    of = weighted_correlation(statistic, x, y, codes, n_clusters)
    return float(of(np.ones((1, n_clusters)))[0]), of.without_each()


def _test_within_agents(one: Points, two: Points, level: Level, statistic: str) -> DifferenceTest:
    """The difference of the agreements inside agents and its p-value; both NaN with fewer than two agents, at system
    level, and where they are undefined.
    """
    agents, n_agents = codes(one.agents)
    if level == "system" or n_agents < 2:
        return DifferenceTest(float("nan"), float("nan"))
    difference, _, p = difference_inside_large_groups(
        statistic, one.x, two.x, one.y, agents, one.codes, one.n_clusters
    )
    return DifferenceTest(difference, p)


def _williams(one: Points, two: Points) -> float | None:
    """p-value of Williams' test.

    None where it is undefined or points are not independent (several points a cluster).
    """
    if len(one.codes) == len(one.x) and one.n_clusters < len(one.x):
        return None
    return finite(williams(pearson(one.y, one.x), pearson(two.y, two.x), pearson(one.x, two.x), len(one.x)))


def with_adjusted_p(tests: Sequence[MetricDifference]) -> tuple[MetricDifference, ...]:
    """The tests with p adjusted over all of them (Benjamini-Hochberg), and the same for the differences inside agents;
    None where p is None.
    """
    over_all = _adjusted([test.p for test in tests])
    within = _adjusted([test.p_within_agents for test in tests])
    return tuple(
        replace(test, p_adjusted=p, p_adjusted_within_agents=p_within)
        for test, p, p_within in zip(tests, over_all, within, strict=True)
    )


def _adjusted(p: Sequence[Number]) -> list[Number]:
    """The p-values after Benjamini and Hochberg; None where there is none."""
    values = np.array([np.nan if value is None else value for value in p])
    return [finite(value) for value in benjamini_hochberg(values).tolist()]
