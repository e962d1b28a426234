"""What becomes of the scored shards: lines of files, and one score table for each metric.

`items.jsonl` and `dialogues.jsonl` have the score of each item and dialogue, or the reason why there is none.
`transcripts.jsonl` has the turns of a few dialogues, one for each agent. A report shows them with their scores.
Commands that need all items at once collect the shards into score tables.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import numpy as np
from msgspec import UNSET

from turnwise.conformance.calls import number_of
from turnwise.errors import PluginError
from turnwise.logs.items.items import Selection
from turnwise.logs.scan import Census
from turnwise.meta.table import COLUMNS, ScoreTable, UnscoredItem
from turnwise.metrics.rows import no_rows, stack_rows
from turnwise.protocols import metric_extras
from turnwise.report.lines import DialogueLine, ItemLine, TranscriptLine
from turnwise.report.run_files import RunFiles
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.resume.finished_run import MetricBlocks
from turnwise.run.scoring.blocks import item_scores
from turnwise.run.scoring.shards import Shard, Watch, shards
from turnwise.run.workers.execute import Executor, progress
from turnwise.types import Floats, Item, Metric, Rows

if TYPE_CHECKING:
    from turnwise.settings.groups import Evaluating

_encoder = msgspec.json.Encoder()
TRANSCRIPTS = 4  # dialogues whose turns are kept
REPLIES = 3  # scored replies that such a dialogue has at least


class Listing:
    """Writes the scores of shards as they come.

    The items of a dialogue are consecutive, so only the rows of the current dialogue are kept in memory.
    """

    def __init__(
        self, metrics: Mapping[str, Metric], items: BinaryIO, dialogues: BinaryIO, transcripts: BinaryIO
    ) -> None:
        self._metrics = metrics
        self._items = items
        self._dialogues = dialogues
        self._transcripts = transcripts
        self._shown: set[str] = set()  # agents with a transcript
        self._last: dict[
            tuple[str, str], Item
        ] = {}  # (group, agent) -> its last item in the current dialogue
        self._open: str | None = None
        self._rows: dict[tuple[str, str], dict[str, list[Rows]]] = {}  # (group, agent) -> metric -> rows
        self._counts: dict[tuple[str, str], int] = {}
        self._names: tuple[str, ...] = ()  # metrics that score the current dialogue
        self._whole = False

    def add(self, shard: Shard) -> None:
        """Write a line for each item of the shard, and collect its rows by dialogue."""
        lines = [_line(item) for item in shard.items]
        for name, block in shard.blocks.items():
            scores = self._scores(name, block.rows)
            half = metric_extras(self._metrics[name]).half_width
            for at, value in zip(block.scored, scores.tolist(), strict=True):
                lines[at].scores[name] = value if math.isfinite(value) else None
                if half is not None and math.isfinite(value):
                    lines[at].add_interval(name, (value - half, value + half))
            for position, said in block.explained.items():
                lines[position].add_explanation(name, said)
            for failure in block.failures:
                lines[failure.position].add_failure(name, failure.status, failure.reason)
        self._items.writelines(_encoder.encode(line) + b"\n" for line in lines)
        self._gather(shard)

    def _scores(self, name: str, rows: Rows) -> Floats:
        """One number for each row. NaN if the metric breaks its contract; its finding reports that."""
        try:
            return item_scores(self._metrics[name], rows)
        except PluginError:
            return np.full(rows.shape[0], np.nan)

    def _gather(self, shard: Shard) -> None:
        """Collect the rows of the current dialogue, and write it when another begins."""
        rows_of = {
            name: {int(at): row for row, at in enumerate(block.scored)}
            for name, block in shard.blocks.items()
        }
        for positions in _runs(shard.items):
            first = shard.items[positions[0]]
            whole = first.turn is None
            if first.dialogue != self._open or whole != self._whole:
                self.flush()
                self._open, self._whole, self._names = first.dialogue, whole, tuple(shard.blocks)
            place = (first.group, first.agent)
            self._counts[place] = self._counts.get(place, 0) + len(positions)
            self._last[place] = shard.items[positions[-1]]
            for name, block in shard.blocks.items():
                mine = [rows_of[name][at] for at in positions if at in rows_of[name]]
                if mine:
                    self._rows.setdefault(place, {}).setdefault(name, []).append(block.rows[np.array(mine)])

    def flush(self) -> None:
        """Write the current dialogue: one line for each (group, agent) in it, and perhaps a transcript.

        Nothing if there is none.
        """
        for (group, agent), count in self._counts.items():
            rows = self._rows.get((group, agent), {})
            scores = {name: self._score(name, rows.get(name)) for name in self._names}
            last = self._last[group, agent]
            line = DialogueLine(
                dialogue=last.dialogue, agent=agent, group=group, unit="dialogue" if self._whole else "reply",
                n_items=count, scores=scores,
            )  # fmt: skip
            self._dialogues.write(_encoder.encode(line) + b"\n")
            self._write_transcript(last, count)
        self._rows, self._counts, self._last, self._open = {}, {}, {}, None

    def _write_transcript(self, last: Item, count: int) -> None:
        """Write the turns of a dialogue with `count` replies, the first with at least `REPLIES` of each agent."""
        if self._whole or count < REPLIES or last.agent in self._shown or len(self._shown) == TRANSCRIPTS:
            return
        self._shown.add(last.agent)
        line = TranscriptLine(
            id=last.dialogue, agent=last.agent, roles=[turn.role for turn in last.turns],
            turns=[turn.text for turn in last.turns],
        )  # fmt: skip
        self._transcripts.write(_encoder.encode(line) + b"\n")

    def _score(self, name: str, rows: list[Rows] | None) -> float | None:
        """The score of a metric for one dialogue; None if it has none."""
        if rows is None or self._metrics[name].level == "system":
            return None
        try:
            value = number_of(self._metrics[name], stack_rows(rows))
        except PluginError:  # its finding reports it
            return None
        return value if math.isfinite(value) else None


@contextmanager
def listing(metrics: Mapping[str, Metric], files: RunFiles | None) -> Iterator[Listing | None]:
    """A listing whose content becomes files of the run when all is written; None without files."""
    if files is None:
        yield None
        return
    with ExitStack() as stack:
        items = stack.enter_context(files.replacing("items.jsonl"))
        dialogues = stack.enter_context(files.replacing("dialogues.jsonl"))
        transcripts = stack.enter_context(files.replacing("transcripts.jsonl"))
        lines = Listing(metrics, items, dialogues, transcripts)
        yield lines
        lines.flush()


def _line(item: Item) -> ItemLine:
    """The line of an item in `items.jsonl`, still without scores."""
    return ItemLine(
        id=item.id, dialogue=item.dialogue, turn=item.turn, agent=item.agent, group=item.group, cluster=item.cluster,
        pair=item.pair, task=item.task or UNSET, trial=item.trial or UNSET, failure=item.failure or UNSET,
        weight=item.weight,
    )  # fmt: skip


def _runs(items: Sequence[Item]) -> Iterator[list[int]]:
    """The positions of the items of each (group, agent), one dialogue after the other."""
    at = 0
    while at < len(items):
        runs: dict[tuple[str, str], list[int]] = {}
        dialogue = items[at].dialogue
        while at < len(items) and items[at].dialogue == dialogue:
            runs.setdefault((items[at].group, items[at].agent), []).append(at)
            at += 1
        yield from runs.values()


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
    spec: "Evaluating",
    census: Census,
    metrics: Mapping[str, Metric],
    store: BlockStore,
    selection: Selection,
    *,
    watch: Watch,
    workers: Executor,
    lines: Listing | None = None,
    parts: Mapping[str, MetricBlocks] | None = None,
    see: Callable[[Sequence[Item]], None] | None = None,
) -> tuple[dict[str, ScoreTable], dict[str, Item]]:
    """Score all items: the table of each metric that was not stopped, and the items by id.

    With `see`, which is called with the items of each shard, none are kept, and the dictionary is empty. Each shard is
    also written to `lines`, and the keys of its blocks are added to `parts`, if given. Raises `TooManyErrors` when
    every metric was stopped.
    """
    builders = {name: _TableBuilder(name, metric) for name, metric in metrics.items()}
    items: dict[str, Item] = {}
    with progress("scoring", census.n_dialogues, quiet=spec.quiet) as advance:
        for shard in shards(spec, census, metrics, store, selection, watch, workers):
            if see is None:
                items.update((item.id, item) for item in shard.items)
            else:
                see(shard.items)
            if lines is not None:
                lines.add(shard)
            for name, block in shard.blocks.items():
                if parts is not None:
                    parts[name].blocks.append(shard.keys[name])
                mine = builders[name]
                chosen = [shard.items[at] for at in block.scored]
                mine.rows.append(block.rows)
                for column, attribute in COLUMNS.items():
                    mine.columns[column].extend(getattr(item, attribute) for item in chosen)
                mine.weights.extend(item.weight for item in chosen)
                for failure in block.failures:
                    item = shard.items[failure.position]
                    mine.lost.append(UnscoredItem(item.agent, item.group, failure.status, failure.counted_as))
            advance(len({item.dialogue for item in shard.items}))
    return {name: mine.table() for name, mine in builders.items() if name not in watch.stopped}, items
