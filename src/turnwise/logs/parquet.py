"""Parquet files and Arrow streams: rows that are whole conversations, or a table with a column map.

A column `messages` is read as the OpenAI format, `conversations` as ShareGPT's, unless a map says that the
table is one of messages or items.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from turnwise.errors import DataError, MissingExtra, Problem
from turnwise.logs import openai, sharegpt, table
from turnwise.logs.checks import RuleError
from turnwise.logs.source import Build, Options, refuse
from turnwise.types import Dialogue

if TYPE_CHECKING:
    import polars

RECORDS: Mapping[str, Build] = {"messages": openai.dialogue, "conversations": sharegpt.dialogue}


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    return dialogues([path], path, options or Options())


def dialogues(files: Sequence[str], path: str, options: Options) -> Iterator[Dialogue]:
    """The conversations of files that are parts of one table; problems are said to be in `path`."""
    frame = _frame(files, path)
    rows = (table.Row(number, _plain(row)) for number, row in enumerate(frame.iter_rows(named=True), 1))
    whole = [build for column, build in RECORDS.items() if column in frame.columns]
    if options.columns or not whole:
        return table.dialogues(rows, frame.columns, path, options)
    return _records(rows, path, whole[0])


def _frame(files: Sequence[str], path: str) -> "polars.DataFrame":
    try:
        import polars
        from polars.exceptions import PolarsError
    except ImportError:
        raise MissingExtra("reading Parquet", "tables") from None
    try:
        parts = [polars.read_ipc_stream(f) if f.endswith(".arrow") else polars.read_parquet(f) for f in files]
        frame = polars.concat(parts)
    except (PolarsError, OSError) as error:
        raise DataError(Problem(path, None, "", f"cannot be read: {error}")) from None
    if not frame.height:
        raise DataError(Problem(path, None, "", "has no rows; expected conversations"))
    return frame


def _records(rows: Iterator[table.Row], path: str, build: Build) -> Iterator[Dialogue]:
    for row in rows:
        try:
            yield build(_present(row.values), str(row.number))
        except RuleError as error:
            refuse(error, path, row.number)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row in JSON's types: dates, decimals and bytes become text."""
    return {column: msgspec.to_builtins(value) for column, value in row.items()}


def _present(value: Any) -> Any:
    """Without nulls: a table gives every record the keys of all others."""
    if isinstance(value, Mapping):
        return {key: _present(inner) for key, inner in value.items() if inner is not None}
    return [_present(inner) for inner in value] if isinstance(value, list) else value
