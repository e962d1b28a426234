"""Does a metric agree with people? At turn or dialogue level over rated units, at system level over agents.

Signs are kept, after orienting by `higher_is_better`: a metric that ranks backwards looks bad. Intervals
resample whole clusters. Over units they cover the correlation in the population of dialogues; over systems
they cover the correlation of these systems and no others, over the population of dialogues.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from turnwise.errors import Refused
from turnwise.meta.gold import Gold, ceiling, floor, system_ceiling
from turnwise.meta.table import ScoreTable, better, unit_scores
from turnwise.stats import correlation, permutation, power
from turnwise.stats.clusters import cluster_sums, codes
from turnwise.stats.interval import Interval, interval_of_correlation, interval_of_rows, interval_of_sums
from turnwise.types import Finding, Floats, Guarded, Ints, Level, Summed

# What `turnwise ls statistics` says of each.
STATISTICS = {
    "pearson": "linear agreement; 0 is chance",
    "spearman": "agreement of ranks; 0 is chance",
    "kendall": "tau-b: concordant minus discordant pairs, corrected for ties; 0 is chance",
    "pairwise": "share of pairs ordered, or tied, as people do; a constant scores the share of ties",
}

NOT_ASKED = "none: no interval asked for"
FEWEST_SYSTEMS = 3  # two systems always correlate perfectly, one way or the other


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """A metric's numbers beside people's: one point a rated unit, or one an agent."""

    names: tuple[str, ...]
    x: Floats  # oriented: higher is better
    y: Floats
    agents: tuple[str, ...]  # of each point
    codes: Ints  # cluster of each point; for agents, of each row
    n_clusters: int


def rated(table: ScoreTable, gold: Gold) -> ScoreTable:
    """The rows that belong to a rated unit, with the unit as their id."""
    whole = "dialogue" in table.metric.needs
    column = "ids" if gold.level == "turn" and not whole else "dialogues"
    known = gold.of(whole=whole)
    return table.where([unit in known for unit in getattr(table, column)]).named_by(column)


def by_unit(table: ScoreTable, gold: Gold) -> Points:
    """One point a rated turn or dialogue; units on which the metric has no number are left out."""
    rows = rated(table, gold)
    unit_codes, n_units = codes(rows.ids)
    first = np.unique(unit_codes, return_index=True)[1]
    x = _sign(table) * unit_scores(table.metric, rows.rows, unit_codes, n_units)
    kept = first[~np.isnan(x)]
    names = tuple(rows.ids[at] for at in kept)
    known = gold.of(whole="dialogue" in table.metric.needs)
    cluster_codes, n_clusters = codes([rows.clusters[at] for at in kept])
    return Points(
        names,
        x[~np.isnan(x)],
        np.array([known[name] for name in names]),
        tuple(rows.agents[at] for at in kept),
        cluster_codes,
        n_clusters,
    )


def by_agent(table: ScoreTable, gold: Gold) -> Points:
    """One point an agent: its number on all rated units, and people's mean of those units."""
    rows = rated(table, gold)
    agent_codes, n_agents = codes(rows.agents)
    names = tuple(dict.fromkeys(rows.agents))
    if isinstance(table.metric, Guarded):
        for code in range(n_agents):
            table.metric.check(rows.rows[np.flatnonzero(agent_codes == code)])
    x = _sign(table) * unit_scores(table.metric, rows.rows, agent_codes, n_agents)
    y = _means(cluster_sums(_people(rows, gold), agent_codes, n_agents))
    return Points(names, x, y, names, *codes(rows.clusters))


def correlate_units(
    table: ScoreTable,
    gold: Gold,
    statistic: str,
    *,
    precision: float,
    intervals: bool,
    draws: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Agreement over rated turns or dialogues."""
    points = by_unit(table, gold)
    of = correlation.STATISTICS[statistic]
    value = _unless_constant(of, points.x, points.y)
    arguments = (statistic, points.x, points.y, points.codes, points.n_clusters)
    bounds, method, p = None, "" if intervals else NOT_ASKED, float("nan")
    if not isnan(value):
        if intervals:
            bounds, method = interval_of_correlation(*arguments, draws=draws, rng=rng)
        p = permutation.correlation_test(*arguments, draws=draws, rng=rng)
    return _answer(
        value,
        p,
        interval=_clipped(bounds, statistic),
        method=f"{method}; p by flipping clusters",
        n_items=len(points.names),
        n_clusters=points.n_clusters,
        reason=_why_undefined(points, "scored and rated items"),
        details={
            "ceiling": ceiling(gold.among(set(points.names)), statistic),
            "floor": floor(points.y, statistic),
            "without": _without(points, lambda keep: of(points.x[keep], points.y[keep])),
            "clusters_needed": _clusters_needed(bounds, points.n_clusters, precision),
        },
    )


def correlate_systems(
    table: ScoreTable,
    gold: Gold,
    statistic: str,
    *,
    precision: float,
    intervals: bool,
    draws: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Agreement over agents."""
    points = by_agent(table, gold)

    def of(x: Floats, y: Floats) -> float:
        enough = len(x) >= FEWEST_SYSTEMS
        return float(correlation.row_correlations(statistic, x[None], y[None])[0]) if enough else float("nan")

    value = _unless_constant(of, points.x, points.y)
    bounds, method, p = None, "" if intervals else NOT_ASKED, float("nan")
    if not isnan(value):
        if intervals:
            bounds, method = _interval_over_systems(table, gold, statistic, draws=draws, rng=rng)
        p = permutation.system_correlation_test(statistic, points.x, points.y, draws=draws, rng=rng)
    agent_of = dict(zip(*_ids_and_agents(rated(table, gold)), strict=True))
    return _answer(
        value,
        p,
        interval=_clipped(bounds, statistic),
        method=f"{method}; p by permutation of systems",
        n_items=len(agent_of),
        n_clusters=points.n_clusters,
        reason=_why_undefined(points, "systems", FEWEST_SYSTEMS),
        details={
            "ceiling": system_ceiling(gold.among(agent_of), agent_of, statistic),
            "floor": floor(points.y, statistic),
            "n_systems": len(points.names),
            "without": _without(points, lambda keep: of(points.x[keep], points.y[keep])),
            "systems_needed": _systems_needed(statistic, value, precision),
            "systems": [
                {"agent": name, "metric": float(_sign(table) * x), "people": float(y)}
                for name, x, y in zip(points.names, points.x, points.y, strict=True)
            ],
        },
    )


def _interval_over_systems(
    table: ScoreTable, gold: Gold, statistic: str, *, draws: int, rng: np.random.Generator
) -> tuple[Interval | None, str]:
    """Clusters are resampled, and each system's number and mean rating taken anew."""
    rows, metric, sign = rated(table, gold), table.metric, _sign(table)
    agent_codes, n_agents = codes(rows.agents)
    cluster_codes, n_clusters = codes(rows.clusters)
    people = _people(rows, gold)
    if isinstance(metric, Summed) and isinstance(rows.rows, np.ndarray):
        of_sums = metric.of_sums
        evidence = np.concatenate([rows.rows, people], axis=1)
        cells = cluster_sums(evidence, cluster_codes * n_agents + agent_codes, n_clusters * n_agents)

        def of_cells(sums: Floats) -> Floats:  # (..., S, k + 2) -> (...)
            x, y = sign * of_sums(sums[..., :-2]), _means(sums[..., -2:])
            flat = correlation.row_correlations(statistic, x.reshape(-1, n_agents), y.reshape(-1, n_agents))
            return flat.reshape(x.shape[:-1])

        sums = cells.reshape(n_clusters, n_agents, -1)
        return interval_of_sums(sums, of_cells, draws=draws, rng=rng, bounds=None)

    def of_rows(chosen: Ints) -> float:
        x = sign * unit_scores(metric, rows.rows[chosen], agent_codes[chosen], n_agents)
        y = _means(cluster_sums(people[chosen], agent_codes[chosen], n_agents))
        return float(correlation.row_correlations(statistic, x[None], y[None])[0])

    return interval_of_rows(of_rows, cluster_codes, n_clusters, draws=draws, rng=rng)


def _sign(table: ScoreTable) -> int:
    return 1 if table.metric.higher_is_better else -1


def _people(rows: ScoreTable, gold: Gold) -> Floats:
    """(n, 2): each unit's rating and 1, shared out over the rows of the unit so that units weigh the same."""
    unit_codes, _ = codes(rows.ids)
    share = 1 / np.bincount(unit_codes)[unit_codes] if len(rows) else np.zeros(0)
    known = gold.of(whole="dialogue" in rows.metric.needs)
    values = np.array([known[name] for name in rows.ids])
    return np.stack([values * share, share], axis=1)


def _means(sums: Floats) -> Floats:
    return correlation.divide_or_nan(sums[..., 0], sums[..., 1])


def _ids_and_agents(rows: ScoreTable) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return rows.ids, rows.agents


def _unless_constant(of: Callable[[Floats, Floats], float], x: Floats, y: Floats) -> float:
    """Where people see no difference there is nothing to agree with, not even for accuracy over pairs."""
    return of(x, y) if len(y) and np.ptp(y) > 0 else float("nan")


def _without(points: Points, of: Callable[[np.ndarray[Any, np.dtype[np.bool_]]], float]) -> dict[str, float]:
    """The statistic with each agent left out: how much of it is one system's doing."""
    agents = np.array(points.agents)
    names = tuple(dict.fromkeys(points.agents))
    return {name: of(agents != name) for name in names} if len(names) > 1 else {}


def _systems_needed(statistic: str, value: float, precision: float) -> int | None:
    """By Fisher's z, which is Pearson's."""
    known = statistic == "pearson" and abs(value) < 1
    return power.systems_needed(value, precision) if known else None


def _clusters_needed(bounds: Interval | None, n_clusters: int, precision: float) -> int | None:
    if bounds is None or bounds[1] <= bounds[0]:
        return None
    return power.clusters_needed((bounds[1] - bounds[0]) / 2, n_clusters, precision)


def _why_undefined(points: Points, what: str, fewest: int = 2) -> str:
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
) -> Finding:
    """The finding at one level; `precision` is the half-width that the advice on more data aims at."""
    what = {"metric": table.name, "dimension": gold.dimension, "group": group or None}
    about: dict[str, Any] = {
        "what": {**what, "level": level, "statistic": statistic},
        "signature": str(table.metric.signature),
        "unscored": table.unscored,
    }
    function = correlate_systems if level == "system" else correlate_units
    try:
        answer = function(
            table, gold, statistic, precision=precision, intervals=intervals, draws=draws, rng=rng
        )
    except Refused as error:
        return Finding.refusal(about["what"], error, about["signature"])
    answer["details"] = {"better": better(table.metric), **answer["details"]}
    return Finding(**about, **answer)


def _clipped(bounds: Interval | None, statistic: str) -> Interval | None:
    """No further than the statistic can go."""
    low = 0.0 if statistic == "pairwise" else -1.0
    return bounds and (max(bounds[0], low), min(bounds[1], 1.0))


def _answer(value: float, p: float, *, reason: str, method: str, **more: Any) -> dict[str, Any]:
    if isnan(value):
        return {**more, "estimate": None, "status": "skipped", "reason": reason}
    return {**more, "estimate": value, "p": None if isnan(p) else p, "method": method}


def supports(table: ScoreTable, level: Level) -> bool:
    """Whether the metric has a number at this level."""
    order: Sequence[Level] = ("turn", "dialogue", "system")
    return order.index(table.metric.level) <= order.index(level)
