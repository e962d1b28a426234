"""A finished run, read again: `rows.json` names the blocks of `rows.bin` that belong to it, by metric."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from turnwise.errors import UsageError
from turnwise.meta.table import COLUMNS, ScoreTable, stack
from turnwise.metrics import resolve
from turnwise.run.store import Store
from turnwise.types import Metric


class Part(msgspec.Struct):
    """The rows of one metric."""

    signature: str
    whole: bool  # whether its items are whole dialogues
    blocks: list[str]  # keys, in the order of the items


class _Line(msgspec.Struct):
    id: str
    dialogue: str
    turn: int | None
    agent: str
    group: str
    cluster: str
    pair: str
    weight: float


def read_run(folder: Path) -> dict[str, tuple[str, ScoreTable]]:
    """metric -> (signature, table) of a folder that `turnwise score -o` wrote."""
    try:
        parts = msgspec.json.decode((folder / "rows.json").read_bytes(), type=dict[str, Part])
        lines = msgspec.json.Decoder(_Line).decode_lines((folder / "items.jsonl").read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{folder} is no finished run of `turnwise score -o`: {error}") from None
    with Store(folder, write=False) as store:
        return {
            name: (part.signature, _table(folder, name, part, lines, store)) for name, part in parts.items()
        }


def _table(folder: Path, name: str, part: Part, lines: list[_Line], store: Store) -> ScoreTable:
    metric = resolve(name)
    if not isinstance(metric, Metric):
        raise UsageError(
            f"{name} cannot be compared between runs: its number needs the data it was fitted on"
        )
    mine = [line for line in lines if (line.turn is None) is part.whole]
    rows, kept, at = [], [], 0
    for key in part.blocks:
        block = store.get(key)
        if block is None:
            raise UsageError(f"{folder}/rows.bin lacks rows of {name}; run the same `turnwise score` again")
        rows.append(block.rows)
        kept += [mine[at + position] for position in block.scored]
        at += len(block.scored) + len(block.failures)
    columns: dict[str, Any] = {
        column: tuple(getattr(line, field) for line in kept) for column, field in COLUMNS.items()
    }
    weights = np.array([line.weight for line in kept], dtype=np.float64)
    return ScoreTable(name=name, metric=metric, rows=stack(rows), weights=weights, **columns)
