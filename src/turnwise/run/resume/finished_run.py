"""Reads a finished run: `rows.json` lists, for each metric, its blocks in `rows.bin`."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from turnwise.errors import DataError, UsageError
from turnwise.meta.table import COLUMNS, ScoreTable, UnscoredItem
from turnwise.metrics import is_rating, resolve
from turnwise.metrics.rating import RatedLevel, parse, rating_metric
from turnwise.metrics.rows import stack_rows
from turnwise.protocols import metric_extras
from turnwise.records import Origin
from turnwise.report import results
from turnwise.run.resume.block_store import BlockStore
from turnwise.types import Direction, Metric, NeedsFitting

ITEMS = "items.jsonl"


class MetricBlocks(msgspec.Struct):
    """The blocks of one metric, as listed in `rows.json`."""

    signature: str
    whole: bool  # whether its items are whole dialogues
    blocks: list[str]  # keys in the block store, in the order of the items
    items: str = ""  # sha256 of `items.jsonl`; empty in runs of earlier versions


def no_blocks(metrics: Mapping[str, Metric]) -> dict[str, MetricBlocks]:
    """Metric -> its blocks, none yet, for `rows.json`."""
    return {
        name: MetricBlocks(str(metric.signature), "dialogue" in metric.needs, [])
        for name, metric in metrics.items()
    }


class _Finished(msgspec.Struct):
    """Of a results.json its command, and where its numbers come from."""

    command: str = ""
    origin: Origin | None = None


def origin_of(folder: Path) -> Origin | None:
    """Where the numbers of a finished run come from; None if its results.json does not say so."""
    return msgspec.json.decode((folder / "results.json").read_bytes(), type=_Finished).origin


class ItemLine(msgspec.Struct):
    """The fields of a line of `items.jsonl` that are needed here."""

    id: str
    dialogue: str
    turn: int | None
    agent: str
    group: str
    cluster: str
    pair: str
    weight: float
    task: str = ""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """The output folder of a finished run, with the blocks of each metric and the items."""

    folder: Path
    parts: dict[str, MetricBlocks]  # by metric
    lines: list[ItemLine]

    def lines_of(self, name: str, agent: str, group: str) -> list[ItemLine]:
        """The items of an agent in a group that the metric `name` was asked to score, whether it could or not."""
        whole = self.parts[name].whole
        return [
            line
            for line in self.lines
            if (line.turn is None) is whole and (line.agent, line.group) == (agent, group)
        ]

    def table(self, name: str) -> ScoreTable:
        """The score table of the metric `name`: rows of the scored items in their order, and the items without a score.

        Raises `UsageError` if a block is not stored, or if the metric's score depends on data that it was fitted on.
        """
        part = self.parts[name]
        found = restored_rating(name, part) if is_rating(name) else resolve(name)
        metric = metric_extras(found).reducer or found
        if not isinstance(metric, Metric):
            raise UsageError(
                f"{name} cannot be compared between runs: its score depends on the data that it was fitted on"
            )
        mine = [line for line in self.lines if (line.turn is None) is part.whole]
        rows, kept, lost, at = [], [], [], 0
        with BlockStore(self.folder, write=False) as store:
            for key in part.blocks:
                block = store.get(key)
                if block is None:
                    raise UsageError(
                        f"{self.folder}/rows.bin lacks rows of {name}; run `turnwise score` again"
                    )
                rows.append(block.rows)
                kept += [mine[at + position] for position in block.scored]
                for failure in block.failures:
                    line = mine[at + failure.position]
                    lost.append(UnscoredItem(line.agent, line.group, failure.status, failure.reason))
                at += len(block.scored) + len(block.failures)
        columns: dict[str, Any] = {
            column: tuple(getattr(line, field) for line in kept) for column, field in COLUMNS.items()
        }
        weights = np.array([line.weight for line in kept], dtype=np.float64)
        columns["lost"] = tuple(lost)
        return ScoreTable(name=name, metric=metric, rows=stack_rows(rows), weights=weights, **columns)


def restored_rating(name: str, part: MetricBlocks) -> Metric | NeedsFitting:
    """The metric of ratings that the blocks were scored with: its level and direction are in the signature."""
    dimension, written = parse(name)
    level: RatedLevel = "dialogue" if part.whole else "turn"
    direction: Direction = "lower" if "better:lower" in part.signature.split("|") else "higher"
    return rating_metric(dimension, **{**written, "level": level, "direction": direction})


def read_run(folder: Path) -> FinishedRun:
    """Read the folder that `turnwise score -o` or `turnwise compare -o` wrote; raises `UsageError` if it is not that of
    a finished run.

    An `items.jsonl` that was changed since is a `DataError`.
    """
    try:
        parts = msgspec.json.decode((folder / "rows.json").read_bytes(), type=dict[str, MetricBlocks])
        items = (folder / ITEMS).read_bytes()
        if any(part.items not in ("", sha256(items).hexdigest()) for part in parts.values()):
            raise DataError(
                f"{folder / ITEMS} has another checksum than when it was written; run `turnwise score` again"
            )
        lines = msgspec.json.Decoder(ItemLine).decode_lines(items)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{folder} {_what_it_is(folder, error)}") from None
    return FinishedRun(folder, parts, lines)


def _what_it_is(folder: Path, error: Exception) -> str:
    """What a folder holds in place of a finished run with its rows, in words for an error."""
    try:
        command = msgspec.json.decode((folder / "results.json").read_bytes(), type=_Finished).command
    except (OSError, msgspec.DecodeError):
        command = ""
    if command in ("", "score", "compare"):
        return f"is not a finished run of `turnwise score -o`: {error}"
    return (
        f"is a run of `turnwise {command}`, which keeps no scores of items; expected the folder of a run of "
        "`turnwise score -o` or `turnwise compare -o`"
    )


def write_parts(folder: Path, parts: Mapping[str, MetricBlocks]) -> None:
    """Write `rows.json` beside the `items.jsonl` that the blocks belong to."""
    with (folder / ITEMS).open("rb") as file:
        items = file_digest(file, "sha256").hexdigest()
    results.write(
        folder / "rows.json",
        {name: msgspec.structs.replace(part, items=items) for name, part in parts.items()},
    )
