"""CSV files with a header. What separates the cells (comma, semicolon, tab, bar) is found from the header.

Text is UTF-8, with or without a byte order mark, or UTF-16 with one; a file that is neither is read as Windows-1252,
and a note says so.
"""

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain

from turnwise.errors import DataError, Problem
from turnwise.logs.files import PIPE, opened
from turnwise.logs.readers import table
from turnwise.logs.readers.row_records import RECORDS, whole_dialogues
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, is_large
from turnwise.logs.readers.usual_columns import usual_columns
from turnwise.types import Dialogue

DELIMITERS = ",;\t|"
SAMPLE = 1 << 20  # bytes that decide the encoding
LONGEST = 1 << 30  # characters in a cell; the library's own limit is 128 Ki


def recognises(sample: Sample) -> bool:
    """Whether the columns of a table have the names of meanings, so that it needs no map."""
    return sample.form == "table" and bool({*RECORDS} & {*sample.header} or usual_columns(sample.header))


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of a table, by the map in `options`; an empty file, a header that repeats a name, or broken
    CSV raises `DataError`.
    """
    options = options or Options()
    encoding = _encoding(path, options)
    with _opened(path, encoding) as (header, found):
        build = next((build for column, build in RECORDS.items() if column in header), None)
        if build is not None and not options.columns:
            yield from whole_dialogues(found, path, build, options)
            return
        again = _Again(path, encoding) if is_large(path) else None
        yield from table.dialogues(found, header, path, options, again=again)


def rows(path: str, options: Options) -> Iterator[table.Row]:
    """The rows of a file; broken CSV raises `DataError`."""
    with _opened(path, _encoding(path, options)) as (_, found):
        yield from found


@dataclass(frozen=True, slots=True)
class _Again:
    """The rows of a file, which is opened anew at each call."""

    path: str
    encoding: str

    def __call__(self) -> Iterator[table.Row]:
        with _opened(self.path, self.encoding) as (_, found):
            yield from found


@contextmanager
def _opened(path: str, encoding: str) -> Iterator[tuple[list[str], Iterator[table.Row]]]:
    """The header and the rows of a file."""
    csv.field_size_limit(LONGEST)
    with opened(path) as stream:
        text = TextIOWrapper(stream, encoding, newline="")
        try:
            first = text.readline()
            cells = csv.reader(chain([first], text), delimiter=_delimiter(first, path), strict=True)
            header = next(cells, None)
            if not header:
                raise DataError(Problem(path, None, "", "is empty; expected a header and rows"))
            if len(set(header)) < len(header):
                raise DataError(Problem(path, 1, "", f"names a column twice: {', '.join(header)}"))
            numbered = ((cells.line_num, row) for row in cells if row)
            yield header, _rows(numbered, header, path)
        except csv.Error as error:
            raise DataError(Problem(path, cells.line_num, "", f"is not CSV: {error}")) from None
        except UnicodeDecodeError as error:
            raise DataError(Problem(path, None, "", f"is not {encoding}: {error.reason}")) from None


def _encoding(path: str, options: Options) -> str:
    """The encoding by the first MiB: UTF-16 if it has its mark, UTF-8 if it can be that, else Windows-1252 with a note.

    Always UTF-8 for stdin.
    """
    if path == PIPE:  # what is read from a pipe is gone
        return "utf-8-sig"
    with opened(path) as stream:
        begin = stream.read(SAMPLE)
    if begin.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    try:
        getincrementaldecoder("utf-8")().decode(begin)
    except UnicodeDecodeError:
        options.notes.append("the file is not UTF-8, and is read as Windows-1252")
        return "cp1252"
    return "utf-8-sig"


def _delimiter(header: str, path: str) -> str:
    """A tab if the file is called .tsv, else the most frequent of `,;|` and tab in the header; a comma if there
    is none.
    """
    if path.removesuffix(".gz").endswith(".tsv"):
        return "\t"
    counts = {mark: header.count(mark) for mark in DELIMITERS}
    return max(counts, key=lambda mark: counts[mark]) if any(counts.values()) else ","


def _rows(numbered: Iterator[tuple[int, list[str]]], header: list[str], path: str) -> Iterator[table.Row]:
    """The rows as column -> cell with their line numbers; a row with more or fewer cells than the header raises
    `DataError`.
    """
    for number, row in numbered:
        if len(row) != len(header):
            found = f"has {len(row)} cells; expected {len(header)}, as the header has"
            raise DataError(Problem(path, number, "", found))
        yield table.Row(number, dict(zip(header, row, strict=True)))
