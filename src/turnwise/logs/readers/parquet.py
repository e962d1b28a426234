"""Parquet files and Arrow streams: rows that are whole dialogues, or a table with a column map.

A column `messages` is read as the OpenAI format, `conversations` as ShareGPT's, unless a map says that the
table is one of messages or items. Where the columns are the keys of the native format, every command takes the file
as it takes JSON Lines, some rows at a time.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from turnwise.errors import DataError, MissingExtra, Problem
from turnwise.logs.checks import RuleError
from turnwise.logs.dialogue import RECORD
from turnwise.logs.files import Tap, count_read, is_parquet, stored
from turnwise.logs.memory import NamedLines, Repeated
from turnwise.logs.readers import table
from turnwise.logs.readers.row_records import RECORDS, Build, present, whole_dialogues
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, decoded
from turnwise.logs.readers.usual_columns import usual_columns
from turnwise.types import Dialogue

if TYPE_CHECKING:
    import polars

LOOKED_AT = 3  # rows by which a format is recognised
ROWS = 4096  # smallest number of rows read at a time
READ = 1 << 25  # approximate bytes read at a time
PACKED = 4  # approximate ratio of JSON Lines size to Parquet size
NESTED = RECORD - {"id", "agent"}


def recognises(sample: Sample) -> bool:
    """Whether a Parquet file has a column of whole dialogues, columns with usual names, or rows of a known format."""
    return sample.form == "parquet" and bool(
        {*RECORDS} & {*sample.header} or usual_columns(sample.header) or _of_records(sample.path) is not None
    )


def _of_records(path: str) -> str | None:
    """The format of JSON that the rows of a file have, as the hub stores other tools' files; None if there is none."""
    from turnwise.logs.readers import recognise_records

    if not find_spec("polars"):
        return None
    try:
        rows = [present(_plain(row)) for _, row in native_rows(path, stop=min(height(path), LOOKED_AT))]
    # Whoever reads the file says what is wrong with it.
    except DataError:
        return None
    return recognise_records(rows) if rows else None


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of one file."""
    return dialogues([path], path, options or Options())


def dialogues(files: Sequence[str], path: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of files that are parts of one table; problems are said to be in `path`.

    Parquet files whose first column of whole dialogues is of the same kind are read some thousand rows at a time; Arrow
    files, tables of messages or items, and anything with a map are read whole.
    """
    builds = {build for file in files for build in _builds(file)} if not options.columns else set()
    if len(builds) == 1 and all(is_parquet(file) for file in files):
        skip = options.records_to_skip(sum(map(height, files)))
        return whole_dialogues(_some_at_a_time(files, skip), path, builds.pop(), options)
    frame = _frame(files, path)
    rows = (table.Row(number, _plain(row)) for number, row in enumerate(frame.iter_rows(named=True), 1))
    whole = [build for column, build in RECORDS.items() if column in frame.columns]
    if not options.columns and not whole and not usual_columns(frame.columns):
        from turnwise.logs.readers import READERS

        name = _of_records(files[0]) if all(map(is_parquet, files)) else None
        if name is not None:
            encoded = Repeated(
                lambda: (msgspec.json.encode(present(_plain(row))) for row in frame.iter_rows(named=True))
            )
            return READERS[name].read(NamedLines(path, encoded), options)
    if options.columns or not whole:
        return table.dialogues(rows, frame.columns, path, options)
    return whole_dialogues(rows, path, whole[0], options)


def _builds(file: str) -> list[Build]:
    """A list of the function that builds dialogues from this file's rows; empty for Arrow files and if no
    column has whole dialogues.
    """
    if not is_parquet(file):
        return []
    with _opened(file) as polars:
        columns = polars.read_parquet_schema(file)
    return [build for column, build in RECORDS.items() if column in columns][:1]


def _some_at_a_time(files: Sequence[str], skip: int) -> Iterator[table.Row]:
    """The rows of all files, numbered on from 1, some thousand in memory at a time; no rows at all raise `DataError`.

    The first `skip` rows are passed over.
    """
    number = 0
    for file in files:
        start = min(height(file), max(0, skip - number))
        number += start
        for _, row in native_rows(file, start=start):
            number += 1
            yield table.Row(number, _plain(row))
    if not number:
        raise DataError(Problem(files[0], None, "", "has no rows; expected dialogues"))


def height(path: str) -> int:
    """How many rows a Parquet file has."""
    with _opened(path) as polars:
        return int(polars.scan_parquet(path).select(polars.len()).collect().item())


def native_rows(
    path: str, *, tap: Tap | None = None, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows from index `start` up to, not including, `stop` (None: the end), with their numbers from 1.

    `tap` is shown the bytes of the whole file first.
    """
    if tap is not None:
        for chunk in stored(path):
            tap(chunk)
    size, count = os.path.getsize(path), height(path)
    end = count if stop is None else stop
    count_read(size * start // max(count, 1))
    # A row group is unpacked for each read of a part of it, so reads are as large as memory allows.
    step = max(ROWS, READ * count // (PACKED * size))
    for at in range(start, end, step):
        with _opened(path) as polars:
            part = polars.scan_parquet(path).slice(at, min(step, end - at)).collect()
        count_read(size * part.height // count)
        yield from enumerate(part.iter_rows(named=True), at + 1)


def native_record(row: dict[str, Any]) -> dict[str, Any]:
    """The native record that a row is, without nulls.

    A column of a nested value may hold it as JSON text, for values whose types differ between rows.
    """
    record: dict[str, Any] = present(_plain(row))
    for column in NESTED & record.keys():
        if isinstance(record[column], str):
            try:
                record[column] = decoded(record[column])
            except RuleError as error:
                raise error.inside(column) from None
    return record


def _frame(files: Sequence[str], path: str) -> "polars.DataFrame":
    """All files as one table in memory; no rows raise `DataError`."""
    with _opened(path) as found:
        parts = [found.read_ipc_stream(f) if f.endswith(".arrow") else found.read_parquet(f) for f in files]
        frame: polars.DataFrame = found.concat(parts)
    if not frame.height:
        raise DataError(Problem(path, None, "", "has no rows; expected dialogues"))
    return frame


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """The module polars; its errors inside the block become `DataError` about `path`, and a missing package
    raises `MissingExtra`.
    """
    try:
        import polars
        from polars.exceptions import PolarsError
    except ImportError:
        raise MissingExtra("reading Parquet", "tables") from None
    try:
        yield polars
    except (PolarsError, OSError) as error:
        raise DataError(Problem(path, None, "", f"cannot be read: {error}")) from None


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row in JSON's types: dates, decimals and bytes become text."""
    return {column: msgspec.to_builtins(value) for column, value in row.items()}
