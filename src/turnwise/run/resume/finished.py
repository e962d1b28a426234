"""A finished run, read again: `rows.json` names the blocks of `rows.bin` that belong to it, by metric."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from turnwise.errors import UsageError
from turnwise.meta.table import COLUMNS, ScoreTable, UnscoredItem, stack_rows
from turnwise.metrics import resolve
from turnwise.protocols import metric_extras
from turnwise.run.resume.store import Store
from turnwise.types import Metric


class Part(msgspec.Struct):
    """The rows of one metric."""

    signature: str
    whole: bool  # whether its items are whole dialogues
    blocks: list[str]  # keys, in the order of the items


class _Line(msgspec.Struct):
    """What is wanted of a line of `items.jsonl`."""

    id: str
    dialogue: str
    turn: int | None
    agent: str
    group: str
    cluster: str
    pair: str
    weight: float


@dataclass(frozen=True, slots=True)
class Run:
    folder: Path
    parts: dict[str, Part]  # by metric
    lines: list[_Line]

    def table(self, name: str) -> ScoreTable:
        """All that one metric said in this run."""
        found, part = resolve(name), self.parts[name]
        metric = metric_extras(found).reducer or found
        if not isinstance(metric, Metric):
            raise UsageError(
                f"{name} cannot be compared between runs: its number needs what it was fitted on"
            )
        mine = [line for line in self.lines if (line.turn is None) is part.whole]
        rows, kept, lost, at = [], [], [], 0
        with Store(self.folder, write=False) as store:
            for key in part.blocks:
                block = store.get(key)
                if block is None:
                    raise UsageError(f"{self.folder}/rows.bin lacks rows of {name}; score again")
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


def read_run(folder: Path) -> Run:
    """A folder that `turnwise score -o` wrote."""
    try:
        parts = msgspec.json.decode((folder / "rows.json").read_bytes(), type=dict[str, Part])
        lines = msgspec.json.Decoder(_Line).decode_lines((folder / "items.jsonl").read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{folder} is no finished run of `turnwise score -o`: {error}") from None
    return Run(folder, parts, lines)
