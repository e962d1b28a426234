"""Files cut into shards that can be read apart: by anyone, in any order, in the memory of one conversation.

A plain file is cut at the ends of lines, about every `SIZE` bytes; a gzip file can only be read from its beginning
and is one shard. The cuts depend on the file alone, so sums over shards come out the same whoever reads them.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from turnwise.logs.files import GZIP, lines
from turnwise.logs.native import id_prefixes, parse
from turnwise.types import Dialogue

SIZE = 1 << 25  # bytes: some seconds of work


@dataclass(frozen=True, slots=True)
class Shard:
    path: str
    start: int  # bytes
    stop: int | None  # None: a packed file, to its end
    prefix: str = ""  # of ids that a line leaves out

    def read(self) -> Iterator[Dialogue]:
        """The conversations. A line without an id is called by the place of its first byte."""
        if self.stop is None:
            for number, line in lines(self.path):
                yield parse(line, file=self.path, line_number=number, prefix=self.prefix)
            return
        with open(self.path, "rb") as file:
            file.seek(self.start)
            while (place := file.tell()) < self.stop:
                line = file.readline()
                if not line.isspace():
                    yield parse(line, file=self.path, line_number=place, prefix=self.prefix)


def shards(paths: Sequence[str], *, size: int = SIZE) -> list[Shard]:
    """All shards of the files, in order."""
    prefixes = id_prefixes(paths)
    return [Shard(path, *bounds, prefixes[path]) for path in paths for bounds in _bounds(path, size)]


def _bounds(path: str, size: int) -> Iterator[tuple[int, int | None]]:
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
