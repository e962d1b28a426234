"""The replies on which a metric and people disagree most, for a reader who wants to see them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from turnwise.meta.gold import Gold
from turnwise.meta.points import Points, unit_points
from turnwise.meta.table import ScoreTable
from turnwise.types import Floats, Item

EACH = 3  # replies that the metric puts far above people, and as many below


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedApart:
    """A reply that a metric and people rank differently among the replies of its agent."""

    metric: str
    dimension: str
    group: str | None
    id: str
    score: float
    people: float
    rank_difference: float  # share of the replies that the metric puts it higher by


def disagreements(table: ScoreTable, gold: Gold, *, group: str) -> list[RankedApart]:
    """The replies whose rank among the agent's replies differs most between the metric and people.

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
    return [
        RankedApart(
            metric=table.name,
            dimension=gold.dimension,
            group=group or None,
            id=points.names[at],
            score=float(sign * points.x[at]),
            people=float(points.y[at]),
            rank_difference=float(gaps[at]),
        )
        for at in (*order[:EACH], *order[-EACH:])
    ]


def with_texts(replies: Sequence[RankedApart], items: Iterable[Item]) -> list[dict[str, Any]]:
    """The lines of examples.jsonl: the replies with their agents, the last turns of their contexts and their texts.

    A reply without an item of its id is left out.
    """
    wanted = {reply.id for reply in replies}
    item_of = {item.id: item for item in items if item.id in wanted}
    return [
        {
            "metric": reply.metric,
            "dimension": reply.dimension,
            "group": reply.group,
            "id": reply.id,
            "agent": item.agent,
            "context": _last(item),
            "reply": item.reply,
            "score": reply.score,
            "people": reply.people,
            "rank_difference": reply.rank_difference,
        }
        for reply in replies
        if (item := item_of.get(reply.id)) is not None
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
