"""The replies on which a metric and people disagree most, for a reader who wants to see them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from turnwise.meta.gold import Gold
from turnwise.meta.points import Points, unit_points
from turnwise.meta.table import ScoreTable
from turnwise.types import Floats, Item

EACH = 3  # replies that the metric puts far above people, and as many below


def disagreements(table: ScoreTable, gold: Gold, *, group: str) -> list[dict[str, Any]]:
    """The replies whose rank among the agent's replies differs most between the metric and people, by id.

    First those that the metric ranks higher. Empty for ratings of whole dialogues, for a metric without a score of
    single replies, and with fewer than twice as many replies.
    """
    if gold.level != "turn" or table.metric.level != "turn":
        return []
    points = unit_points(table, gold)
    if len(points.names) < 4 * EACH:
        return []
    gaps = _rank_shares(points, points.x) - _rank_shares(points, points.y)
    order = np.argsort(-gaps, kind="stable")
    sign = 1 if table.metric.higher_is_better else -1
    found = []
    for at in (*order[:EACH], *order[-EACH:]):
        name = points.names[at]
        about = {"metric": table.name, "dimension": gold.dimension, "group": group or None, "id": name}
        numbers = {"score": float(sign * points.x[at]), "people": float(points.y[at])}
        found.append({**about, **numbers, "rank_difference": float(gaps[at])})
    return found


def with_texts(records: Sequence[Mapping[str, Any]], items: Iterable[Item]) -> list[dict[str, Any]]:
    """The records of `disagreements` with the agent, the last turn of the context and the reply of each.

    A record without an item of its id is left out.
    """
    wanted = {record["id"] for record in records}
    texts = {
        item.id: {"agent": item.agent, "context": _last(item), "reply": item.reply}
        for item in items
        if item.id in wanted
    }
    first = ("metric", "dimension", "group", "id")  # in the order of examples.jsonl
    return [
        {**{key: record[key] for key in first}, **texts[record["id"]], **record}
        for record in records
        if record["id"] in texts
    ]


def _rank_shares(points: Points, values: Floats) -> Floats:
    """The rank of each value among those of the same agent, from 0 to 1."""
    from scipy.stats import rankdata

    agents, found = np.array(points.agents), np.empty(len(values))
    for agent in dict.fromkeys(points.agents):
        mine = agents == agent
        found[mine] = rankdata(values[mine]) / np.count_nonzero(mine)
    return found


def _last(item: Item) -> str:
    """The last turn of the item's context; empty if there is none."""
    return item.context[-1].text if item.context else ""
