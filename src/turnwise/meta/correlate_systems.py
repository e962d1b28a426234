"""Agreement of a metric with people over agents: a correlation, pairwise accuracy, or soft pairwise accuracy.

Intervals cover the statistic of these agents only, in the population of dialogues.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from turnwise.meta.gold import Gold, one_rater_of_systems, tie_floor
from turnwise.meta.points import Points, agent_points, rated_rows, sign
from turnwise.meta.statistic_parts import (
    Resampling,
    clipped,
    interval_and_p,
    nan_if_constant,
    skipped_if_undefined,
    why_undefined,
    without_each_agent,
)
from turnwise.meta.table import ScoreTable
from turnwise.metrics.rows import better_direction
from turnwise.records import AgreementRecord, SystemMeans, finite
from turnwise.stats import correlation, permutation, power
from turnwise.stats.interval import Interval, unvarying
from turnwise.types import Floats, Summed

MIN_SYSTEMS = 3  # two systems always have a correlation of 1 or -1
SYSTEMS_ONLY = frozenset({"soft-pairwise"})  # statistics without a value over turns or dialogues


def correlate_systems(
    table: ScoreTable, gold: Gold, statistic: str, resampling: Resampling, about: Mapping[str, Any]
) -> AgreementRecord:
    """The correlation over agents, which needs at least 3; raises `Refused` if the metric does.

    `about` has the fields of the record that say what it is about.
    """
    points = agent_points(table, gold)
    agreement = _soft_pairwise if statistic in SYSTEMS_ONLY else _correlation_of_systems
    over_systems = agreement(table, gold, statistic, points, resampling)
    rows = rated_rows(table, gold)
    agent_of = dict(zip(rows.ids, rows.agents, strict=True))
    one = float("nan")
    if statistic not in SYSTEMS_ONLY:
        one = gold.once(
            ("systems", statistic),
            frozenset(agent_of),
            lambda matrix: one_rater_of_systems(matrix, agent_of, statistic),
        )
    record = AgreementRecord(
        **about,
        better=better_direction(table.metric),
        unscored=table.unscored,
        estimate=finite(over_systems.value),
        interval=over_systems.interval,
        bound_error=over_systems.bound_error or None,
        unvarying=unvarying(over_systems.interval, over_systems.method),
        p=finite(over_systems.p),
        n_items=len(agent_of),
        n_clusters=points.n_clusters,
        method=f"{over_systems.method}; p by permutation of systems",
        one_rater=finite(one),
        ceiling=None,  # the reliability of agents' means is not known
        floor=finite(tie_floor(points.y, statistic)),
        n_systems=len(points.names),
        without={agent: finite(left) for agent, left in over_systems.without.items()},
        systems_needed=_systems_needed(statistic, over_systems.value, resampling.precision),
        systems=tuple(
            SystemMeans(agent=name, metric=finite(sign(table) * x), people=finite(y))
            for name, x, y in zip(points.names, points.x, points.y, strict=True)
        ),
    )
    return skipped_if_undefined(record, why_undefined(points, "systems", MIN_SYSTEMS))


class _OverSystems(NamedTuple):
    """A statistic over systems."""

    value: float
    p: float
    interval: Interval | None
    method: str  # of the interval
    without: dict[str, float]  # agent -> the value without it
    bound_error: float = 0.0


def _correlation_of_systems(
    table: ScoreTable, gold: Gold, statistic: str, points: Points, resampling: Resampling
) -> _OverSystems:
    """A correlation over systems, or pairwise accuracy."""

    def of(x: Floats, y: Floats) -> float:
        """The statistic over systems; NaN with fewer than 3."""
        enough = len(x) >= MIN_SYSTEMS
        return float(correlation.row_correlations(statistic, x[None], y[None])[0]) if enough else float("nan")

    value = nan_if_constant(of, points.x, points.y)
    bounds, p = interval_and_p(
        value,
        lambda draws, rng: resampling.systems.of(draws).interval(table, gold, statistic),
        partial(permutation.system_correlation_test, statistic, *_by_name(points)),
        resampling,
        cheap=isinstance(table.metric, Summed),  # others are computed anew in each draw
    )
    without = without_each_agent(points, lambda keep: of(points.x[keep], points.y[keep]))
    return _OverSystems(value, p, clipped(bounds.ends, statistic), bounds.method, without, bounds.error)


def _soft_pairwise(
    table: ScoreTable, gold: Gold, statistic: str, points: Points, resampling: Resampling
) -> _OverSystems:
    """Soft pairwise accuracy. It has no interval: the p-values that it compares depend on the number of dialogues, so
    that there is no value in a population of dialogues to cover.
    """
    from turnwise.meta.soft_pairwise import certainty

    none = "none: the p-values that are compared hold the sampling error"
    if len(points.x) < MIN_SYSTEMS or np.isnan(points.x).any() or np.ptp(points.y) == 0:
        return _OverSystems(float("nan"), float("nan"), None, none, {})
    sure = certainty(table, gold, points, resampling.systems)
    value = sure.accuracy()
    p = sure.p_value(points.names, draws=resampling.draws, rng=resampling.rng)
    return _OverSystems(value, p, None, none, without_each_agent(points, sure.accuracy))


def _by_name(points: Points) -> tuple[Floats, Floats]:
    """The scores and ratings of the points, in the order of their names, so that draws do not depend on the data's."""
    order = np.argsort(np.array(points.names, dtype=np.str_), kind="stable")
    return points.x[order], points.y[order]


def _systems_needed(statistic: str, value: float, precision: float) -> int | None:
    """Number of systems for the half-width `precision`, by Fisher's z.

    None if not Pearson, or if `value` is NaN, 1 or -1.
    """
    known = statistic == "pearson" and abs(value) < 1
    return power.systems_needed(value, precision) if known else None
