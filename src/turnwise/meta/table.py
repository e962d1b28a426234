"""Score tables: one metric's rows for all items in memory, for statistics that need all items at once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from turnwise.conformance.calls import number_of, numbers_of
from turnwise.metrics.rows import dense
from turnwise.stats.clusters import cluster_sums
from turnwise.types import Floats, Ints, Metric, Rows, Status, Summed

# Column of a score table -> attribute of an item.
COLUMNS = {
    "ids": "id",
    "dialogues": "dialogue",
    "agents": "agent",
    "groups": "group",
    "clusters": "cluster",
    "pairs": "pair",
    "tasks": "task",
}


class UnscoredItem(NamedTuple):
    """An item without a score, and the reason."""

    agent: str
    group: str
    status: Status
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """One metric's rows for all scored items, with columns that describe the items."""

    name: str
    metric: Metric
    rows: Rows  # (n, k), scored items only
    ids: tuple[str, ...]
    dialogues: tuple[str, ...]
    agents: tuple[str, ...]
    groups: tuple[str, ...]
    clusters: tuple[str, ...]
    pairs: tuple[str, ...]
    tasks: tuple[str, ...]  # empty texts where the data names none
    weights: Floats  # (n,)
    lost: tuple[UnscoredItem, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def where(self, keep: Sequence[bool] | np.ndarray[Any, np.dtype[np.bool_]]) -> "ScoreTable":
        """The table of the rows with a true flag in `keep`; `lost` is not filtered."""
        chosen = np.flatnonzero(np.asarray(keep, dtype=bool))
        if len(chosen) == len(self):
            return self
        columns: dict[str, Any] = {name: tuple(getattr(self, name)[at] for at in chosen) for name in COLUMNS}
        return replace(self, rows=self.rows[chosen], weights=self.weights[chosen], **columns)

    def named_by(self, column: str) -> "ScoreTable":
        """The table with another column, such as `dialogues`, as ids."""
        return replace(self, ids=getattr(self, column))

    def of_group(self, group: str) -> "ScoreTable":
        """The scored and the lost items of one group."""
        mine = self.where([name == group for name in self.groups])
        return replace(mine, lost=tuple(loss for loss in self.lost if loss.group == group))

    def of_agent(self, agent: str) -> "ScoreTable":
        """The scored and the lost items of one agent."""
        mine = self.where([name == agent for name in self.agents])
        return replace(mine, lost=tuple(loss for loss in self.lost if loss.agent == agent))

    @property
    def has_tasks(self) -> bool:
        """Whether every row is of a task."""
        return bool(self.tasks) and all(self.tasks)

    @property
    def is_paired_by_task(self) -> bool:
        """Whether tasks are the pairs."""
        return self.has_tasks and self.pairs == self.tasks

    def paired_by_task(self) -> "ScoreTable":
        """The table with tasks as pairs."""
        return replace(self, pairs=self.tasks)

    @property
    def unscored(self) -> dict[str, int]:
        """Reason -> number of items without a score."""
        return dict(Counter(loss.reason for loss in self.lost))

    @property
    def empty_status(self) -> Status:
        """Status of a record if no item has a score: `error` if any item was lost to an error, else `skipped`."""
        return "error" if any(loss.status == "error" for loss in self.lost) else "skipped"


def unit_means(rows: Floats, codes: Ints, n_units: int, weights: Floats) -> Floats:
    """Weighted mean row of each unit, (n_units, k).

    `codes` has the unit of each row, and a unit without rows has zeros.
    """
    shares = weights / np.bincount(codes, weights=weights, minlength=n_units)[codes]
    return cluster_sums(rows * shares[:, None], codes, n_units)


def unit_scores(metric: Metric, rows: Rows, codes: Ints, n_units: int) -> Floats:
    """The metric's score of each unit (an item, a dialogue or an agent), (n_units,).

    `codes` has the unit of each row.
    """
    if isinstance(metric, Summed):
        return numbers_of(metric, cluster_sums(dense(rows), codes, n_units))
    return np.array([number_of(metric, rows[np.flatnonzero(codes == unit)]) for unit in range(n_units)])
