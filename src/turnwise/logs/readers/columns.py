"""What the columns of a table mean: the `--map` of csv, parquet and hf.

A map names a column for each meaning, `id=conv_id,rating:overall[1-5]=score`; a column that already has the
name of a meaning needs no mention. A rating may have its scale in brackets.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnwise.errors import UsageError
from turnwise.logs.checks import Check, T, number, required, wrong

PLAIN = (
    "id", "role", "content", "turn", "time", "message", "reply_to", "agent", "context", "response", "rater",
    "reference", "messages", "goal",
)  # fmt: skip
NAMED = ("rating", "dialogue-rating", "alternative", "say")  # each with a name: rating:overall, say:user
REPEATED = ("reference", "say")  # meanings that several columns may have, in the order of the map
RATED = ("rating", "dialogue-rating")
MEANINGS = ", ".join((*PLAIN, *(f"{kind}:NAME{'[LOW-HIGH]' * (kind in RATED)}" for kind in NAMED)))
NUMBER = r"-?\d+(?:\.\d+)?"
SCALE = re.compile(rf"(.+)\[({NUMBER})-({NUMBER})\]")

Scale = tuple[float, float]


def is_layout(header: Sequence[str]) -> bool:
    """Whether a table needs no map: its columns are called `id`, `role` and `content`, or `context` and `response`."""
    return {"id", "role", "content"} <= set(header) or {"context", "response"} <= set(header)


def parse(written: str) -> dict[str, tuple[str, ...]]:
    """Meaning -> columns of a `--map`; only `reference` and `say:ROLE` may have several.

    A part that is not MEANING=COLUMN with a known meaning raises `UsageError`.
    """
    columns: dict[str, tuple[str, ...]] = {}
    for part in filter(None, written.split(",")):
        meaning, sign, column = (side.strip() for side in part.partition("="))
        if not sign or not column or not _known(meaning):
            raise UsageError(f"--map {part}: expected MEANING=COLUMN, where MEANING is one of {MEANINGS}")
        bare = _bare(meaning)
        taken = next((columns[other][0] for other in columns if _bare(other) == bare), None)
        if taken is not None and meaning.partition(":")[0] not in REPEATED:
            raise UsageError(f"--map {part}: `{bare}` already is the column `{taken}`")
        columns[meaning] = (*columns.get(meaning, ()), column)
    return columns


def _known(meaning: str) -> bool:
    """Whether a meaning is one of `PLAIN`, or a kind of `NAMED` with a name after the colon."""
    kind, colon, label = meaning.partition(":")
    return meaning in PLAIN or bool(kind in NAMED and colon and label)


def _bare(meaning: str) -> str:
    """A meaning without the scale in brackets that a rating may have."""
    kind, colon, label = meaning.partition(":")
    return kind + colon + (scaled(label)[0] if kind in RATED else label)


def scaled(label: str) -> tuple[str, Scale | None]:
    """`overall[1-5]` as the dimension and its scale; the scale is None if there are no brackets.

    Ends that are not in order raise `UsageError`.
    """
    parts = SCALE.fullmatch(label)
    if parts is None:
        return label, None
    low, high = float(parts[2]), float(parts[3])
    if not low < high:
        raise UsageError(f"`{label}`: expected a scale [LOW-HIGH] whose ends are in order")
    return parts[1], (low, high)


@dataclass(frozen=True, slots=True)
class Columns:
    """Meaning -> columns, all of which the table has."""

    meanings: Mapping[str, tuple[str, ...]]

    @classmethod
    def fitted(cls, given: Mapping[str, tuple[str, ...]], header: Sequence[str]) -> "Columns":
        """The given map, and every other column of the header whose own name is a meaning; a given column that
        the header lacks raises `UsageError`.
        """
        for meaning, columns in given.items():
            for column in columns:
                if column not in header:
                    there = ", ".join(header)
                    raise UsageError(f"--map {meaning}={column}: there is no such column; there are {there}")
        taken = {column for columns in given.values() for column in columns}
        said = {_bare(meaning) for meaning in given}
        own = {
            name: (name,) for name in header if name not in taken and _known(name) and _bare(name) not in said
        }
        return cls({**own, **given})

    def __contains__(self, meaning: str) -> bool:
        return meaning in self.meanings

    def cells(self, row: Mapping[str, Any], meaning: str, check: Check[T]) -> list[T]:
        """The checked values of a row's cells with this meaning, in the order of the map; empty cells are left out."""
        filled = [column for column in self.meanings.get(meaning, ()) if row[column] not in (None, "")]
        return [required(row, column, check) for column in filled]

    def cell(self, row: Mapping[str, Any], meaning: str, check: Check[T]) -> T | None:
        """The first checked value with this meaning; None if all cells are empty or no column has it."""
        return next(iter(self.cells(row, meaning, check)), None)

    def labelled(self, row: Mapping[str, Any], kind: str, check: Check[T]) -> dict[str, T]:
        """Name -> checked value of the row's cells with a meaning `kind:NAME`; empty cells are left out."""
        found = {}
        for meaning in self.meanings:
            if meaning.startswith(f"{kind}:") and (value := self.cell(row, meaning, check)) is not None:
                found[meaning.partition(":")[2]] = value
        return found

    def ratings(self, row: Mapping[str, Any], kind: str) -> Iterator[tuple[str, float, Scale | None]]:
        """Dimension, value and scale (None if the map has none) of the row's cells with a meaning `kind:NAME`;
        empty cells are left out.
        """
        for meaning in self.meanings:
            if meaning.startswith(f"{kind}:"):
                dimension, scale = scaled(meaning.partition(":")[2])
                value = self.cell(row, meaning, _Measured(scale))
                if value is not None:
                    yield dimension, value, scale

    def unmapped(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The cells of columns that have no meaning, without nulls."""
        taken = {column for columns in self.meanings.values() for column in columns}
        return {column: value for column, value in row.items() if column not in taken and value is not None}


def written(value: Any) -> str:
    """A cell as text; a number, as tables may store ids, with up to 15 digits. Other types raise `RuleError`."""
    if isinstance(value, str):
        return value
    if type(value) is int or type(value) is float:
        return f"{value:.15g}"
    raise wrong(value, "a text")


def measured(value: Any) -> float:
    """A cell as a finite number, also from text, as CSV has texts only; else raises `RuleError`."""
    if isinstance(value, str):
        try:
            return number(float(value))
        except ValueError:
            raise wrong(value, "a number") from None
    return number(value)


def moment(value: Any) -> float:
    """A cell as seconds: a number, also as text, as it is; ISO 8601 as a Unix time. Else raises `RuleError`."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip()).timestamp()
        except ValueError:
            return measured(value)
    return measured(value)


@dataclass(frozen=True, slots=True)
class _Measured:
    """The check of a cell that is a rating: a number that lies on the scale, if there is one."""

    scale: Scale | None

    def __call__(self, cell: Any) -> float:
        value = measured(cell)
        if self.scale is not None and not self.scale[0] <= value <= self.scale[1]:
            raise wrong(cell, f"a number on the scale {self.scale[0]:g} to {self.scale[1]:g}")
        return value
