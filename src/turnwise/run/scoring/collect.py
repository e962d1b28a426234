"""Collects all shards into one score table for each metric, for commands that need all items at once."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from turnwise.logs.items.items import Selection
from turnwise.logs.scan import Census
from turnwise.meta.table import COLUMNS, ScoreTable, UnscoredItem
from turnwise.metrics.rows import stack_rows
from turnwise.metrics.scorer import no_rows
from turnwise.run.progress import progress
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.listing import Listing
from turnwise.run.scoring.shards import Watch, shards
from turnwise.run.spec import Spec
from turnwise.run.workers.execute import Executor
from turnwise.types import Item, Metric, Rows


class _TableBuilder:
    """Accumulates the rows of one metric."""

    def __init__(self, name: str, metric: Metric) -> None:
        self.name, self.metric = name, metric
        self.rows: list[Rows] = []
        self.columns: dict[str, list[str]] = {column: [] for column in COLUMNS}
        self.weights: list[float] = []
        self.lost: list[UnscoredItem] = []

    def table(self) -> ScoreTable:
        """The score table of all rows added so far."""
        rows = stack_rows(self.rows) if self.rows else no_rows(self.metric)
        columns: dict[str, Any] = {column: tuple(values) for column, values in self.columns.items()}
        return ScoreTable(
            name=self.name,
            metric=self.metric,
            rows=rows,
            weights=np.array(self.weights, dtype=np.float64),
            lost=tuple(self.lost),
            **columns,
        )


def collect(
    spec: Spec,
    census: Census,
    metrics: Mapping[str, Metric],
    store: BlockStore,
    selection: Selection,
    *,
    watch: Watch,
    workers: Executor,
    lines: Listing | None = None,
) -> tuple[dict[str, ScoreTable], dict[str, Item]]:
    """Score all items: the table of each metric that was not stopped, and the items by id.

    Each shard is also written to `lines`, if given. Raises `TooManyErrors` when every metric was stopped.
    """
    builders = {name: _TableBuilder(name, metric) for name, metric in metrics.items()}
    items: dict[str, Item] = {}
    with progress("scoring", census.n_dialogues, quiet=spec.quiet) as advance:
        for shard in shards(spec, census, metrics, store, selection, watch, workers):
            items.update((item.id, item) for item in shard.items)
            if lines is not None:
                lines.add(shard)
            for name, block in shard.blocks.items():
                mine = builders[name]
                chosen = [shard.items[at] for at in block.scored]
                mine.rows.append(block.rows)
                for column, attribute in COLUMNS.items():
                    mine.columns[column].extend(getattr(item, attribute) for item in chosen)
                mine.weights.extend(item.weight for item in chosen)
                for failure in block.failures:
                    item = shard.items[failure.position]
                    mine.lost.append(UnscoredItem(item.agent, item.group, failure.status, failure.reason))
            advance(len({item.dialogue for item in shard.items}))
    return {name: mine.table() for name, mine in builders.items() if name not in watch.stopped}, items
