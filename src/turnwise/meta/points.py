"""Points of a correlation: a metric's scores and people's mean ratings of the same units, or of agents."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from turnwise.meta.gold import Gold
from turnwise.meta.table import ScoreTable, unit_scores
from turnwise.stats import correlation
from turnwise.stats.clusters import cluster_codes, cluster_sums, codes
from turnwise.types import ChecksSample, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """A metric's scores and people's mean ratings: one point for each rated unit, or for each agent."""

    names: tuple[str, ...]
    x: Floats  # scores, oriented so that higher is better
    y: Floats  # mean ratings
    agents: tuple[str, ...]  # of each point
    contexts: tuple[str, ...]  # of each point; empty for points over agents
    codes: Ints  # cluster of each point; for points over agents, of each row
    n_clusters: int


def rated_rows(table: ScoreTable, gold: Gold) -> ScoreTable:
    """The rows of rated units, with the unit as the id of each row.

    The unit is the turn where turns were rated, else the dialogue; for a metric of whole dialogues always the dialogue.
    """
    whole_dialogues = "dialogue" in table.metric.needs
    column = "ids" if gold.level == "turn" and not whole_dialogues else "dialogues"
    known = gold.by_unit(whole_dialogues=whole_dialogues)
    return table.where([unit in known for unit in getattr(table, column)]).named_by(column)


def unit_points(table: ScoreTable, gold: Gold) -> Points:
    """One point for each rated turn or dialogue, in order of the rows; units without a score are left out."""
    rows = rated_rows(table, gold)
    unit_codes, n_units = codes(rows.ids)
    first = np.unique(unit_codes, return_index=True)[1]
    x = sign(table) * unit_scores(table.metric, rows.rows, unit_codes, n_units)
    kept = first[~np.isnan(x)]
    names = tuple(rows.ids[at] for at in kept)
    known = gold.by_unit(whole_dialogues="dialogue" in table.metric.needs)
    of_cluster, n_clusters = cluster_codes([rows.clusters[at] for at in kept])
    return Points(
        names,
        x[~np.isnan(x)],
        np.array([known[name] for name in names]),
        tuple(rows.agents[at] for at in kept),
        tuple(_contexts(rows, unit_codes, n_units)[~np.isnan(x)]),
        of_cluster,
        n_clusters,
    )


def agent_points(table: ScoreTable, gold: Gold) -> Points:
    """One point for each agent: its score on all rated units, and the mean rating of those units.

    Raises `Refused` if the metric's check refuses the rows of an agent.
    """
    rows = rated_rows(table, gold)
    agent_codes, n_agents = codes(rows.agents)
    names = tuple(dict.fromkeys(rows.agents))
    if isinstance(table.metric, ChecksSample):
        for code in range(n_agents):
            table.metric.check(rows.rows[np.flatnonzero(agent_codes == code)])
    x = sign(table) * unit_scores(table.metric, rows.rows, agent_codes, n_agents)
    y = mean_ratings(cluster_sums(rating_sums(rows, gold), agent_codes, n_agents))
    return Points(names, x, y, names, (), *cluster_codes(rows.clusters))


def _contexts(rows: ScoreTable, unit_codes: Ints, n_units: int) -> np.ndarray[Any, np.dtype[np.object_]]:
    """(n_units,) the context of each unit: the pair that all its rows share, or the unit's own number where they
    differ, as the turns of a dialogue do.
    """
    found = np.array([None] * n_units, dtype=object)
    for at, (unit, pair) in enumerate(zip(unit_codes.tolist(), rows.pairs, strict=True)):
        if found[unit] is None:
            found[unit] = pair
        elif found[unit] != pair:
            found[unit] = f"unit {at}"
    return found


def sign(table: ScoreTable) -> int:
    """1 for a metric of which higher is better, else -1."""
    return 1 if table.metric.higher_is_better else -1


def rating_sums(rows: ScoreTable, gold: Gold) -> Floats:
    """(n, 2): for each row the rating of its turn or dialogue, and 1, both over the number of rows with the same id."""
    unit_codes, _ = codes(rows.ids)
    share = 1 / np.bincount(unit_codes)[unit_codes] if len(rows) else np.zeros(0)
    known = gold.by_unit(whole_dialogues="dialogue" in rows.metric.needs)
    values = np.array([known[name] for name in rows.ids])
    return np.stack([values * share, share], axis=1)


def mean_ratings(sums: Floats) -> Floats:
    """(..., 2) sums of `rating_sums` -> (...) mean ratings; NaN where there is no unit."""
    return correlation.divide_or_nan(sums[..., 0], sums[..., 1])
