"""Files cut into shards that can be read apart: by anyone, in any order, in the memory of one dialogue.

A plain file is cut at the ends of lines, about every `SIZE` bytes, and Parquet between rows, of which only those of
the shard are read; a gzip file can only be read from its beginning and is one shard. The cuts depend on the file
alone, so sums over shards come out the same whoever reads them. Lines are counted while the file is cut: a line has
the number, and a dialogue without an id the name, that they have where the file is read as a whole.

A shard is read where it was cut, so on a cluster the file has to lie at the same place on every node. A shard of lines
in memory holds its lines.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from turnwise.errors import DataError, Problem
from turnwise.logs.files import BOM, CHUNK, GZIP, is_parquet, lines
from turnwise.logs.memory import NamedLines
from turnwise.logs.native import id_prefixes, parse
from turnwise.logs.readers import parquet
from turnwise.types import Dialogue

SIZE = 1 << 25  # bytes: some seconds of work


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a file between two line ends or rows, which is read without the rest of the file."""

    path: str  # as it was given, and is shown
    place: str  # where it lies, whatever folder a worker is in
    size: int  # bytes of the whole file
    start: int  # bytes, or rows of Parquet
    stop: int | None  # None: a packed file, to its end
    before: int = 0  # lines of the file
    rows: bool = False
    prefix: str = ""  # prefix of ids that a line leaves out

    def read(self) -> Iterator[Dialogue]:
        """The dialogues, with the ids that they have where the whole file is read; a bad line, or a file whose
        size has changed, raises `DataError`.
        """
        if not isinstance(self.path, NamedLines):
            self._check()
        for number, line in self._numbered():
            yield parse(line, file=self.path, line_number=number, prefix=self.prefix)

    def _check(self) -> None:
        """Raise `DataError` if the file is gone or has another size than when it was cut."""
        with _readable(self.path, self.place):
            size = os.path.getsize(self.place)
        if size != self.size:
            found = f"has {size} bytes at {self.place} and had {self.size} when it was cut"
            raise DataError(Problem(self.path, None, "", f"{found}; expected one file, which nobody changes"))

    def _numbered(self) -> Iterator[tuple[int, Any]]:
        """The lines or rows of the shard with their numbers in the whole file, from 1."""
        if isinstance(self.path, NamedLines):
            return ((number + self.before, line) for number, line in lines(self.path))
        if self.rows:
            return parquet.native_rows(self.place, start=self.start, stop=self.stop)
        return lines(self.place) if self.stop is None else self._lines(self.stop)

    def _lines(self, stop: int) -> Iterator[tuple[int, bytes]]:
        """The lines that begin before byte `stop`, with their numbers in the whole file; blank ones are left out."""
        number = self.before
        with _readable(self.path, self.place), open(self.place, "rb") as file:
            file.seek(self.start)
            if self.start == 0 and file.read(len(BOM)) != BOM:
                file.seek(0)
            while file.tell() < stop:
                number += 1
                line = file.readline()
                if not line.isspace():
                    yield number, line


def shards(paths: Sequence[str], *, size: int = SIZE) -> list[Shard]:
    """All shards of the files, in order; `size` is about how many bytes of JSON Lines one has."""
    prefixes = id_prefixes(paths)
    return [shard for path in paths for shard in _cut(path, prefixes[path], size)]


def _cut(path: str, prefix: str, size: int) -> Iterator[Shard]:
    """The shards of one file."""
    if isinstance(path, NamedLines):
        yield from _held(path, prefix, size)
        return
    place, rows = os.path.abspath(path), is_parquet(path)
    with _readable(path, place):
        whole = os.path.getsize(place)
        for start, stop, before in (_rows if rows else _bytes)(place, size):
            yield Shard(path, place, whole, start, stop, before, rows, prefix)


def _held(path: NamedLines, prefix: str, size: int) -> Iterator[Shard]:
    """The shards of lines in memory, each with lines of about `size` bytes."""
    whole = sum(map(len, path.lines))
    some: list[bytes] = []
    before = held = 0
    for number, line in enumerate(path.lines, 1):
        some.append(line)
        held += len(line)
        if held >= size:
            yield Shard(NamedLines(path, tuple(some)), path, whole, 0, None, before, prefix=prefix)
            some, before, held = [], number, 0
    if some:
        yield Shard(NamedLines(path, tuple(some)), path, whole, 0, None, before, prefix=prefix)


@contextmanager
def _readable(path: str, place: str) -> Iterator[None]:
    """Turn an `OSError` of the block into a `DataError` that names the place where workers look for the file."""
    try:
        yield
    except OSError as error:
        found = (
            f"cannot be read: {error.strerror or error}; expected a file that every worker finds at {place}"
        )
        raise DataError(Problem(path, None, "", found)) from None


def _rows(path: str, size: int) -> Iterator[tuple[int, int | None, int]]:
    """Start, stop and rows before of each part of a Parquet file, in multiples of the rows that are read at once."""
    rows, packed = parquet.height(path), os.path.getsize(path)
    # Whole reads, so that no row is unpacked for two shards.
    step = max(1, rows * size // (parquet.PACKED * packed) // parquet.ROWS) * parquet.ROWS
    return ((start, min(start + step, rows), start) for start in range(0, rows, step))


def _bytes(path: str, size: int) -> Iterator[tuple[int, int | None, int]]:
    """Start and stop in bytes, and lines before, of each part of a plain file; a gzip file is one part with
    stop None.
    """
    with open(path, "rb") as file:
        if file.read(len(GZIP)) == GZIP:
            yield 0, None, 0
            return
        end, start, before = file.seek(0, os.SEEK_END), 0, 0
        file.seek(0)
        while start < end:
            ends = _ends(file, size) + file.readline().endswith(b"\n")
            yield start, file.tell(), before
            start, before = file.tell(), before + ends


def _ends(file: BinaryIO, size: int) -> int:
    """How many line ends are in the next `size` bytes; the file is left after them."""
    count = 0
    while size > 0 and (some := file.read(min(size, CHUNK))):
        count += some.count(b"\n")
        size -= len(some)
    return count
