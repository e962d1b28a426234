"""Is one metric better than another? Every two metrics on the units that both have scored.

PERM-BOTH (Deutsch, Dror and Roth 2021) swaps the two metrics' standardised scores by cluster or, over agents,
by system. Williams' test stands beside it for Pearson where its assumptions hold: one point a cluster. With
many metrics many pairs are tested, and p is adjusted over all of them.
"""

from collections.abc import Sequence
from itertools import combinations
from math import isnan
from typing import Any

import numpy as np

from turnwise.errors import Refused
from turnwise.meta.correlate import FEWEST_SYSTEMS, Points, by_agent, by_unit, rated
from turnwise.meta.gold import Gold
from turnwise.meta.table import ScoreTable
from turnwise.stats.correlation import pearson
from turnwise.stats.multiplicity import benjamini_hochberg
from turnwise.stats.permutation import DifferenceTest, perm_both, perm_both_systems, williams
from turnwise.types import Level


def differences(
    tables: Sequence[ScoreTable],
    gold: Gold,
    level: Level,
    statistics: Sequence[str],
    *,
    group: str = "",
    draws: int,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """One record for each two metrics and each statistic; p not yet adjusted."""
    found = []
    for a, b in combinations(tables, 2):
        try:
            one, two = (
                by_system(a, b, gold) if level == "system" else shared(by_unit(a, gold), by_unit(b, gold))
            )
        except Refused:  # a metric that refuses has no numbers to compare, and its finding says why
            continue
        for statistic in statistics:
            test = _test(one, two, level, statistic, draws=draws, rng=rng)
            names = {"metric_a": a.name, "metric_b": b.name}
            about = {**names, "dimension": gold.dimension, "group": group or None}
            found.append(
                {
                    **about,
                    "level": level,
                    "statistic": statistic,
                    "difference": None if isnan(test.difference) else test.difference,
                    "p": None if isnan(test.p) else test.p,
                    "p_williams": _williams(one, two) if statistic == "pearson" else None,
                    "n_points": len(one.x),
                }
            )
    return found


def by_system(a: ScoreTable, b: ScoreTable, gold: Gold) -> tuple[Points, Points]:
    """Both metrics' points over agents, on the rated units that both have scored, so that people's means agree."""
    one, two = rated(a, gold), rated(b, gold)
    common = set(one.ids) & set(two.ids)
    one, two = (table.where([name in common for name in table.ids]) for table in (one, two))
    return shared(*(by_agent(table, gold) for table in (one, two)))


def shared(a: Points, b: Points) -> tuple[Points, Points]:
    """The points that both metrics have, in the same order."""
    places = {name: at for at, name in enumerate(b.names)}
    keep_a = np.array([at for at, name in enumerate(a.names) if name in places], dtype=np.int64)
    keep_b = np.array([places[a.names[at]] for at in keep_a], dtype=np.int64)
    return _only(a, keep_a), _only(b, keep_b)


def _only(points: Points, keep: np.ndarray[Any, np.dtype[np.int64]]) -> Points:
    names = tuple(points.names[at] for at in keep)
    agents = tuple(points.agents[at] for at in keep)
    per_point = len(points.codes) == len(points.names)
    renumbered = (
        np.unique(points.codes[keep], return_inverse=True) if per_point else (points.codes, points.codes)
    )
    return Points(names, points.x[keep], points.y[keep], agents, renumbered[1], len(np.unique(renumbered[0])))


def _test(
    one: Points, two: Points, level: Level, statistic: str, *, draws: int, rng: np.random.Generator
) -> DifferenceTest:
    if len(one.x) < FEWEST_SYSTEMS or np.ptp(one.x) == 0 or np.ptp(two.x) == 0 or np.ptp(one.y) == 0:
        return DifferenceTest(float("nan"), float("nan"))
    if level == "system":
        return perm_both_systems(one.x, two.x, one.y, statistic, draws=draws, rng=rng)
    return perm_both(one.x, two.x, one.y, one.codes, one.n_clusters, statistic, draws=draws, rng=rng)


def _williams(one: Points, two: Points) -> float | None:
    """Only where points are independent: each its own cluster, or systems."""
    if len(one.codes) == len(one.x) and one.n_clusters < len(one.x):
        return None
    p = williams(pearson(one.y, one.x), pearson(two.y, two.x), pearson(one.x, two.x), len(one.x))
    return None if isnan(p) else p


def adjusted(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records with p adjusted over all of them (Benjamini-Hochberg)."""
    p = benjamini_hochberg(np.array([np.nan if row["p"] is None else row["p"] for row in found]))
    return [{**row, "p_adjusted": None if isnan(q) else float(q)} for row, q in zip(found, p, strict=True)]
