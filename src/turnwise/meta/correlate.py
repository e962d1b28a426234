"""Correlation of a metric with people's ratings, over rated turns or dialogues, or over agents (system level).

Over turns and dialogues it is also computed inside agents and inside contexts (`stats/within.py`): agents that differ
in quality and in some feature make the feature correlate with ratings although it says nothing about any one agent.

Scores are oriented by `higher_is_better`, so that a positive correlation is agreement and a negative one disagreement.
Intervals resample whole clusters. Over units they cover the correlation in the population of dialogues. Over systems
they cover the correlation of these systems only, in the population of dialogues.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isnan
from typing import Any, NamedTuple

from turnwise.errors import Refused
from turnwise.meta.correlate_systems import correlate_systems
from turnwise.meta.gold import (
    Gold,
    one_rater,
    one_rater_within_agents,
    perfect_metric,
    tie_floor,
)
from turnwise.meta.points import (
    Points,
    unit_points,
)
from turnwise.meta.statistic_parts import (
    DRAWN,
    Resampling,
    clipped,
    interval_and_p,
    nan_if_constant,
    settled,
    skipped_if_undefined,
    why_undefined,
    without_each_agent,
)
from turnwise.meta.system_draws import SystemDraws
from turnwise.meta.table import ScoreTable
from turnwise.metrics.rows import better_direction
from turnwise.records import AgreementRecord, finite
from turnwise.stats import correlation, permutation, power
from turnwise.stats.clusters import codes
from turnwise.stats.interval import Interval, interval_of_correlation, unvarying
from turnwise.stats.shared_draws import SharedDraws
from turnwise.stats.within import interval_inside_large_groups, interval_inside_small_groups
from turnwise.types import Level

# Descriptions for `turnwise ls statistics`.
STATISTICS = {
    "pearson": "linear agreement; 0 is chance",
    "spearman": "agreement of ranks; 0 is chance",
    "kendall": "tau-b: concordant minus discordant pairs, corrected for ties; 0 is chance",
    "tau-c": "Stuart's tau-c: as kendall, but 1 can be reached with other numbers of values; 0 is chance",
    "pairwise": "share of pairs ordered, or tied, as people do; a constant scores the share of ties",
    "soft-pairwise": "systems only: 1 minus the mean gap between people's and the metric's p-values of one "
    "system being better than another; 1 is the same certainty",
}


class _Inside(NamedTuple):
    """The statistic inside the groups of points, averaged over them."""

    value: float
    interval: Interval | None
    n_groups: int | None  # None if the statistic is undefined


def _inside(
    points: Points,
    groups: Sequence[str],
    of: Callable[..., tuple[float, Interval | None, int]],
    statistic: str,
    resampling: Resampling,
) -> _Inside:
    """The statistic inside these groups, such as agents, of which `of` gives value, interval and number.

    It is undefined with fewer than two groups, and where no two points share one.
    """
    group_codes, n_groups = codes(groups)
    value, bounds, used = float("nan"), None, 0
    if n_groups > 1:
        arguments = (statistic, points.x, points.y, group_codes, points.codes, points.n_clusters)
        value, _, used = of(*arguments, draws=0, rng=resampling.rng)
        if resampling.intervals:
            bounds, _, _ = settled(
                lambda n: (of(*arguments, draws=n, rng=resampling.rng)[1], DRAWN), resampling.draws
            )
    return _Inside(value, clipped(bounds, statistic), None if isnan(value) else used)


def correlate_units(
    table: ScoreTable, gold: Gold, statistic: str, resampling: Resampling, about: Mapping[str, Any]
) -> AgreementRecord:
    """The correlation over rated turns or dialogues; raises `Refused` if the metric does.

    `about` has the fields of the record that say what it is about.
    """
    points = unit_points(table, gold)
    of = correlation.STATISTICS[statistic]
    value = nan_if_constant(of, points.x, points.y)
    arguments = (statistic, points.x, points.y, points.codes, points.n_clusters)
    bounds, p = interval_and_p(
        value,
        partial(interval_of_correlation, *arguments),
        partial(permutation.correlation_test, *arguments),
        resampling,
    )
    units = frozenset(points.names)
    agent_of = dict(zip(points.names, points.agents, strict=True))
    in_agents = _inside(points, points.agents, interval_inside_large_groups, statistic, resampling)
    in_contexts = _inside(points, points.contexts, interval_inside_small_groups, statistic, resampling)
    one_within = float("nan")
    if in_agents.n_groups:
        one_within = gold.once(
            ("within agents", statistic),
            units,
            lambda matrix: one_rater_within_agents(matrix, agent_of, statistic),
        )
    one = gold.once(("one rater", statistic), units, lambda matrix: one_rater(matrix, statistic))
    ceiling = gold.once(("ceiling", statistic), units, lambda matrix: perfect_metric(matrix, statistic))
    without = without_each_agent(points, lambda keep: of(points.x[keep], points.y[keep]))
    record = AgreementRecord(
        **about,
        better=better_direction(table.metric),
        unscored=table.unscored,
        estimate=finite(value),
        interval=clipped(bounds.ends, statistic),
        bound_error=bounds.error or None,
        unvarying=unvarying(bounds.ends, bounds.method),
        p=finite(p),
        n_items=len(points.names),
        n_clusters=points.n_clusters,
        method=f"{bounds.method}; p by flipping clusters",
        one_rater=finite(one),
        ceiling=finite(ceiling),
        floor=finite(tie_floor(points.y, statistic)),
        within_agents=finite(in_agents.value),
        within_agents_interval=in_agents.interval,
        n_agents=in_agents.n_groups,
        within_contexts=finite(in_contexts.value),
        within_contexts_interval=in_contexts.interval,
        n_contexts=in_contexts.n_groups,
        one_rater_within_agents=finite(one_within),
        without={agent: finite(left) for agent, left in without.items()},
        clusters_needed=_clusters_needed(bounds.ends, points.n_clusters, resampling.precision),
    )
    return skipped_if_undefined(record, why_undefined(points, "scored and rated items"))


def _clusters_needed(bounds: Interval | None, n_clusters: int, precision: float) -> int | None:
    """Number of clusters for the half-width `precision`, from the width of the interval; None without an interval."""
    if bounds is None or bounds[1] <= bounds[0]:
        return None
    return power.clusters_needed((bounds[1] - bounds[0]) / 2, n_clusters, precision)


def correlate(
    table: ScoreTable,
    gold: Gold,
    level: Level,
    statistic: str,
    *,
    group: str = "",
    precision: float = 0.05,
    intervals: bool = True,
    draws: int,
    rng: SharedDraws,
    systems: SystemDraws | None = None,
) -> AgreementRecord:
    """The correlation of a metric with people at one level; `precision` is the half-width for advice on more data.

    `rng` and `systems` may be shared with other metrics, statistics and dimensions.

    The record of an undefined correlation is `skipped` and that of a metric that refuses `refused`, with the reason.
    """
    about: dict[str, Any] = {
        "metric": table.name,
        "dimension": gold.dimension,
        "group": group or None,
        "level": level,
        "statistic": statistic,
        "signature": str(table.metric.signature),
    }
    resampling = Resampling(
        precision=precision,
        intervals=intervals,
        draws=draws,
        rng=rng,
        systems=SystemDraws(draws, rng) if systems is None else systems,
    )
    function = correlate_systems if level == "system" else correlate_units
    try:
        return function(table, gold, statistic, resampling, about)
    except Refused as error:
        return AgreementRecord.refusal(error, **about)


def has_level(table: ScoreTable, level: Level) -> bool:
    """Whether the metric is defined at this level: at its own and at coarser ones."""
    order: Sequence[Level] = ("turn", "dialogue", "system")
    return order.index(table.metric.level) <= order.index(level)
