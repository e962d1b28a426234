"""Correlation of a metric with people's ratings, over rated turns or dialogues, or over agents (system level).

Over turns and dialogues it is also computed inside agents and inside contexts (`stats/within.py`): agents that differ
in quality and in some feature make the feature correlate with ratings although it says nothing about any one agent.

Scores are oriented by `higher_is_better`, so that a positive correlation is agreement and a negative one disagreement.
Intervals resample whole clusters. Over units they cover the correlation in the population of dialogues. Over systems
they cover the correlation of these systems only, in the population of dialogues.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

import numpy as np

from turnwise.errors import Refused
from turnwise.meta.gold import (
    Gold,
    one_rater,
    one_rater_of_systems,
    one_rater_within_agents,
    perfect_metric,
    tie_floor,
)
from turnwise.meta.points import (
    Points,
    agent_points,
    mean_ratings,
    rated_rows,
    rating_sums,
    sign,
    unit_points,
)
from turnwise.meta.system_draws import SystemDraws
from turnwise.meta.table import ScoreTable
from turnwise.metrics.rows import better_direction
from turnwise.stats import correlation, permutation, power
from turnwise.stats.clusters import cluster_codes, cluster_sums, codes
from turnwise.stats.interval import Interval, interval_of_correlation, interval_of_sums
from turnwise.stats.within import interval_inside_large_groups, interval_inside_small_groups
from turnwise.types import Finding, Floats, Level, Summed

# Descriptions for `turnwise ls statistics`.
STATISTICS = {
    "pearson": "linear agreement; 0 is chance",
    "spearman": "agreement of ranks; 0 is chance",
    "kendall": "tau-b: concordant minus discordant pairs, corrected for ties; 0 is chance",
    "tau-c": "Stuart's tau-c: as kendall, but 1 can be reached with other numbers of values; 0 is chance",
    "pairwise": "share of pairs ordered, or tied, as people do; a constant scores the share of ties",
}

NO_INTERVAL = "none: no interval asked for"
MIN_SYSTEMS = 3  # two systems always have a correlation of 1 or -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """Settings of intervals, tests and the advice on more data."""

    precision: float  # half-width that the advice on more data aims at
    intervals: bool
    draws: int
    rng: np.random.Generator
    systems: SystemDraws | None = None  # shared by all statistics and dimensions; None: drawn for each

    @property
    def system_draws(self) -> SystemDraws:
        """`systems`, or new ones from `rng`."""
        if self.systems is not None:
            return self.systems
        seed = int(self.rng.integers(2**63))
        return SystemDraws(self.draws, lambda name: np.random.default_rng(seed))


def _inside(points: Points, statistic: str, resampling: Resampling) -> dict[str, Any]:
    """The statistic inside agents and inside contexts, each with its interval and the number of groups.

    A field is None with fewer than two agents, and where no two points share a context or the statistic is undefined.
    """
    found: dict[str, Any] = {}
    for name, groups, of in (
        ("agents", points.agents, interval_inside_large_groups),
        ("contexts", points.contexts, interval_inside_small_groups),
    ):
        group_codes, n_groups = codes(groups)
        value, bounds, used = float("nan"), None, 0
        if n_groups > 1:
            arguments = (statistic, points.x, points.y, group_codes, points.codes, points.n_clusters)
            draws = resampling.draws if resampling.intervals else 0
            value, bounds, used = of(*arguments, draws=draws, rng=resampling.rng)
        found[f"within_{name}"] = None if isnan(value) else value
        found[f"within_{name}_interval"] = _clipped(bounds, statistic)
        found[f"n_{name}"] = None if isnan(value) else used
    return found


def correlate_units(table: ScoreTable, gold: Gold, statistic: str, resampling: Resampling) -> dict[str, Any]:
    """The fields of a finding on the correlation over rated turns or dialogues; raises `Refused` if the metric does."""
    points = unit_points(table, gold)
    of = correlation.STATISTICS[statistic]
    value = _nan_if_constant(of, points.x, points.y)
    arguments = (statistic, points.x, points.y, points.codes, points.n_clusters)
    bounds, method, p = _interval_and_p(
        value,
        partial(interval_of_correlation, *arguments),
        partial(permutation.correlation_test, *arguments),
        resampling,
    )
    units = frozenset(points.names)
    agent_of = dict(zip(points.names, points.agents, strict=True))
    within = _inside(points, statistic, resampling)
    one_within = float("nan")
    if within["n_agents"]:
        one_within = gold.once(
            ("within agents", statistic),
            units,
            lambda matrix: one_rater_within_agents(matrix, agent_of, statistic),
        )
    return _finding_fields(
        value,
        p,
        interval=_clipped(bounds, statistic),
        method=f"{method}; p by flipping clusters",
        n_items=len(points.names),
        n_clusters=points.n_clusters,
        reason=_why_undefined(points, "scored and rated items"),
        details={
            "one_rater": gold.once(
                ("one rater", statistic), units, lambda matrix: one_rater(matrix, statistic)
            ),
            "ceiling": gold.once(
                ("ceiling", statistic), units, lambda matrix: perfect_metric(matrix, statistic)
            ),
            "floor": tie_floor(points.y, statistic),
            **within,
            "one_rater_within_agents": one_within,
            "without": _without_each_agent(points, lambda keep: of(points.x[keep], points.y[keep])),
            "clusters_needed": _clusters_needed(bounds, points.n_clusters, resampling.precision),
        },
    )


def correlate_systems(
    table: ScoreTable, gold: Gold, statistic: str, resampling: Resampling
) -> dict[str, Any]:
    """The fields of a finding on the correlation over agents, which needs at least 3.

    Raises `Refused` if the metric does.
    """
    points = agent_points(table, gold)

    def of(x: Floats, y: Floats) -> float:
        """The statistic over systems; NaN with fewer than 3."""
        enough = len(x) >= MIN_SYSTEMS
        return float(correlation.row_correlations(statistic, x[None], y[None])[0]) if enough else float("nan")

    value = _nan_if_constant(of, points.x, points.y)
    bounds, method, p = _interval_and_p(
        value,
        partial(_interval_over_systems, table, gold, statistic, resampling),
        partial(permutation.system_correlation_test, statistic, *_by_name(points)),
        resampling,
    )
    rows = rated_rows(table, gold)
    agent_of = dict(zip(rows.ids, rows.agents, strict=True))
    return _finding_fields(
        value,
        p,
        interval=_clipped(bounds, statistic),
        method=f"{method}; p by permutation of systems",
        n_items=len(agent_of),
        n_clusters=points.n_clusters,
        reason=_why_undefined(points, "systems", MIN_SYSTEMS),
        details={
            "one_rater": gold.once(
                ("systems", statistic),
                frozenset(agent_of),
                lambda matrix: one_rater_of_systems(matrix, agent_of, statistic),
            ),
            "ceiling": None,  # the reliability of agents' means is not known
            "floor": tie_floor(points.y, statistic),
            "n_systems": len(points.names),
            "without": _without_each_agent(points, lambda keep: of(points.x[keep], points.y[keep])),
            "systems_needed": _systems_needed(statistic, value, resampling.precision),
            "systems": [
                {"agent": name, "metric": float(sign(table) * x), "people": float(y)}
                for name, x, y in zip(points.names, points.x, points.y, strict=True)
            ],
        },
    )


def _interval_over_systems(
    table: ScoreTable,
    gold: Gold,
    statistic: str,
    resampling: Resampling,
    *,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Interval | None, str]:
    """Interval of a correlation over systems, by resampling clusters and recomputing each system's score and rating."""
    metric, rows = table.metric, rated_rows(table, gold)
    if not isinstance(metric, Summed) or not isinstance(rows.rows, np.ndarray):
        return resampling.system_draws.interval(table, gold, statistic)
    of_sums = metric.of_sums
    agent_codes, n_agents = codes(rows.agents)
    of_cluster, n_clusters = cluster_codes(rows.clusters)
    combined = np.concatenate([rows.rows, rating_sums(rows, gold)], axis=1)
    cells = cluster_sums(combined, of_cluster * n_agents + agent_codes, n_clusters * n_agents)

    def of_cells(sums: Floats) -> Floats:
        """(..., S, k + 2) sums of each system's rows and ratings -> (...) correlations."""
        x, y = sign(table) * of_sums(sums[..., :-2]), mean_ratings(sums[..., -2:])
        flat = correlation.row_correlations(statistic, x.reshape(-1, n_agents), y.reshape(-1, n_agents))
        return flat.reshape(x.shape[:-1])

    sums = cells.reshape(n_clusters, n_agents, -1)
    return interval_of_sums(sums, of_cells, draws=draws, rng=rng, bounds=None)


def _by_name(points: Points) -> tuple[Floats, Floats]:
    """The scores and ratings of the points, in the order of their names, so that draws do not depend on the data's."""
    order = np.argsort(np.array(points.names, dtype=np.str_), kind="stable")
    return points.x[order], points.y[order]


def _interval_and_p(
    value: float,
    interval: Callable[..., tuple[Interval | None, str]],
    p_value: Callable[..., float],
    resampling: Resampling,
) -> tuple[Interval | None, str, float]:
    """The interval, its method and the p-value of the correlation `value`; None, no method and NaN where it is NaN.

    `interval` and `p_value` are called with `draws` and `rng`. Without `resampling.intervals` only p is computed.
    """
    bounds, method, p = None, "" if resampling.intervals else NO_INTERVAL, float("nan")
    if not isnan(value):
        if resampling.intervals:
            bounds, method = interval(draws=resampling.draws, rng=resampling.rng)
        p = p_value(draws=resampling.draws, rng=resampling.rng)
    return bounds, method, p


def _nan_if_constant(of: Callable[[Floats, Floats], float], x: Floats, y: Floats) -> float:
    """The statistic `of` of scores `x` and ratings `y`.

    NaN without ratings or if all are equal, for pairwise accuracy too.
    """
    return of(x, y) if len(y) and np.ptp(y) > 0 else float("nan")


def _without_each_agent(
    points: Points, of: Callable[[np.ndarray[Any, np.dtype[np.bool_]]], float]
) -> dict[str, float]:
    """Agent -> the statistic without that agent's points; empty with fewer than two agents.

    `of` computes the statistic from a mask of the points to keep.
    """
    agents = np.array(points.agents)
    names = tuple(dict.fromkeys(points.agents))
    return {name: of(agents != name) for name in names} if len(names) > 1 else {}


def _systems_needed(statistic: str, value: float, precision: float) -> int | None:
    """Number of systems for the half-width `precision`, by Fisher's z.

    None if not Pearson, or if `value` is NaN, 1 or -1.
    """
    known = statistic == "pearson" and abs(value) < 1
    return power.systems_needed(value, precision) if known else None


def _clusters_needed(bounds: Interval | None, n_clusters: int, precision: float) -> int | None:
    """Number of clusters for the half-width `precision`, from the width of the interval; None without an interval."""
    if bounds is None or bounds[1] <= bounds[0]:
        return None
    return power.clusters_needed((bounds[1] - bounds[0]) / 2, n_clusters, precision)


def _why_undefined(points: Points, what: str, fewest: int = 2) -> str:
    """Why a correlation over these points is undefined, given that it is; `what` names the points in the sentence."""
    if len(points.x) < fewest:
        return f"{len(points.x)} {what}, and at least {fewest} are needed"
    if np.isnan(points.x).any():
        return f"the metric has no number for some of the {what}"
    return "all ratings are equal" if np.ptp(points.y) == 0 else "the metric gives everything the same number"


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
    rng: np.random.Generator,
    systems: SystemDraws | None = None,
) -> Finding:
    """The correlation of a metric with people at one level; `precision` is the half-width for advice on more data.

    `systems` has draws that are shared with other statistics and dimensions.

    An undefined correlation gives a `skipped` finding and a metric that refuses a refusal, both with the reason.
    """
    what = {"metric": table.name, "dimension": gold.dimension, "group": group or None}
    about: dict[str, Any] = {
        "what": {**what, "level": level, "statistic": statistic},
        "signature": str(table.metric.signature),
        "unscored": table.unscored,
    }
    function = correlate_systems if level == "system" else correlate_units
    try:
        resampling = Resampling(
            precision=precision, intervals=intervals, draws=draws, rng=rng, systems=systems
        )
        answer = function(table, gold, statistic, resampling)
    except Refused as error:
        return Finding.refusal(about["what"], error, about["signature"])
    answer["details"] = {"better": better_direction(table.metric), **answer["details"]}
    return Finding(**about, **answer)


def _clipped(bounds: Interval | None, statistic: str) -> Interval | None:
    """The interval clipped to the range of the statistic: [0, 1] for pairwise accuracy, else [-1, 1].

    None stays None.
    """
    low = 0.0 if statistic == "pairwise" else -1.0
    return bounds and (max(bounds[0], low), min(bounds[1], 1.0))


def _finding_fields(value: float, p: float, *, reason: str, method: str, **more: Any) -> dict[str, Any]:
    """The fields of a finding with this estimate; if it is NaN, `skipped` with the reason, and without p and method."""
    if isnan(value):
        return {**more, "estimate": None, "status": "skipped", "reason": reason}
    return {**more, "estimate": value, "p": None if isnan(p) else p, "method": method}


def has_level(table: ScoreTable, level: Level) -> bool:
    """Whether the metric is defined at this level: at its own and at coarser ones."""
    order: Sequence[Level] = ("turn", "dialogue", "system")
    return order.index(table.metric.level) <= order.index(level)
