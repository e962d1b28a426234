"""CSV files with a header, in UTF-8; tabs separate the cells if the name ends in `.tsv`."""

import csv
from codecs import iterdecode
from collections.abc import Iterator

from turnwise.errors import DataError, Problem
from turnwise.logs.files import opened
from turnwise.logs.readers import table
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue

LONGEST = 1 << 30  # characters in a cell; the library's own limit is 128 Ki


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    csv.field_size_limit(LONGEST)
    delimiter = "\t" if path.removesuffix(".gz").endswith(".tsv") else ","
    with opened(path) as stream:
        # Spreadsheets begin their UTF-8 with a byte order mark, which `utf-8-sig` passes over.
        cells = csv.reader(iterdecode(stream, "utf-8-sig"), delimiter=delimiter, strict=True)
        try:
            header = next(cells, None)
            if not header:
                raise DataError(Problem(path, None, "", "is empty; expected a header and rows"))
            if len(set(header)) < len(header):
                raise DataError(Problem(path, 1, "", f"names a column twice: {', '.join(header)}"))
            rows = ((cells.line_num, row) for row in cells if row)
            yield from table.dialogues(_rows(rows, header, path), header, path, options or Options())
        except csv.Error as error:
            raise DataError(Problem(path, cells.line_num, "", f"is not CSV: {error}")) from None
        except UnicodeDecodeError as error:
            raise DataError(Problem(path, cells.line_num + 1, "", f"is not UTF-8: {error.reason}")) from None


def _rows(numbered: Iterator[tuple[int, list[str]]], header: list[str], path: str) -> Iterator[table.Row]:
    for number, row in numbered:
        if len(row) != len(header):
            found = f"has {len(row)} cells; expected {len(header)}, as the header has"
            raise DataError(Problem(path, number, "", found))
        yield table.Row(number, dict(zip(header, row, strict=True)))
