"""Files cut into shards that can be read apart: by anyone, in any order, in the memory of one conversation.

A plain file is cut at the ends of lines, about every `SIZE` bytes, and Parquet between rows, of which only those of
the shard are read; a gzip file can only be read from its beginning and is one shard. The cuts depend on the file
alone, so sums over shards come out the same whoever reads them.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.logs import parquet
from turnwise.logs.files import GZIP, lines
from turnwise.logs.native import id_prefixes, parse
from turnwise.types import Dialogue

SIZE = 1 << 25  # bytes: some seconds of work
PACKED = 4  # times that JSON Lines are as long as the same in Parquet, or about so


@dataclass(frozen=True, slots=True)
class Shard:
    path: str
    start: int  # bytes, or rows of Parquet
    stop: int | None  # None: a packed file, to its end
    rows: bool = False
    prefix: str = ""  # of ids that a line leaves out

    def read(self) -> Iterator[Dialogue]:
        """The conversations. A line without an id is called by the place of its first byte, a row by its number."""
        for number, line in self._numbered():
            yield parse(line, file=self.path, line_number=number, prefix=self.prefix)

    def _numbered(self) -> Iterator[tuple[int, Any]]:
        if self.rows:
            return parquet.native_rows(self.path, start=self.start, stop=self.stop)
        return lines(self.path) if self.stop is None else self._lines(self.stop)

    def _lines(self, stop: int) -> Iterator[tuple[int, bytes]]:
        with open(self.path, "rb") as file:
            file.seek(self.start)
            while (place := file.tell()) < stop:
                line = file.readline()
                if not line.isspace():
                    yield place, line


def shards(paths: Sequence[str], *, size: int = SIZE) -> list[Shard]:
    """All shards of the files, in order."""
    prefixes = id_prefixes(paths)
    return [
        Shard(path, start, stop, rows, prefixes[path])
        for path in paths
        for rows in [parquet.is_parquet(path)]
        for start, stop in (_rows if rows else _bytes)(path, size)
    ]


def _rows(path: str, size: int) -> Iterator[tuple[int, int | None]]:
    rows, packed = parquet.height(path), os.path.getsize(path)
    # Whole reads, so that no row is unpacked for two shards.
    step = max(1, rows * size // (PACKED * packed) // parquet.ROWS) * parquet.ROWS
    return ((start, min(start + step, rows)) for start in range(0, rows, step))


def _bytes(path: str, size: int) -> Iterator[tuple[int, int | None]]:
    with open(path, "rb") as file:
        if file.read(len(GZIP)) == GZIP:
            yield 0, None
            return
        end, start = file.seek(0, os.SEEK_END), 0
        while start < end:
            file.seek(min(start + size, end))
            file.readline()
            yield start, file.tell()
            start = file.tell()
