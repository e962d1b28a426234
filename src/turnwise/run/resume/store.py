"""`rows.bin`: an append-only journal of blocks, addressed by content, that survives being killed.

Each record is a header (magic, length, CRC of the payload) and a payload; it is written whole and synced
before the work goes on. On opening, everything up to the first record that is not whole is kept and the
rest is cut off: a torn write at the moment of death costs that block and nothing else.
"""

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from turnwise.errors import UsageError
from turnwise.run.scoring.blocks import Block, decode, encode

MAGIC = b"TWR1"
HEADER = struct.Struct("<4sQI")  # magic, payload length, CRC-32


class _Head(msgspec.Struct):
    """The part of a payload that the index needs."""

    key: str
    failed: bool


class Store:
    """Blocks by key. Without a folder nothing is kept and nothing is found.

    A block in which the metric failed can be read, but does not count as there: resuming tries it again.
    """

    def __init__(self, folder: Path | None, *, reuse: bool = True, write: bool = True) -> None:
        self._file: BinaryIO | None = None
        self._places: dict[str, tuple[int, int]] = {}
        self._failed: set[str] = set()
        if folder is None:
            return
        path = folder / "rows.bin"
        if write:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = path.open("r+b" if path.exists() else "w+b")
            lock(self._file, path)
            if not reuse:  # only now: another run's journal must not be cut off under it
                self._file.truncate(0)
        else:
            self._file = path.open("rb")
        end = 0
        for place, length, payload in _records(self._file):
            head = msgspec.msgpack.decode(payload, type=_Head)
            self._index(head.key, place, length, failed=head.failed)
            end = place + length
        if write:
            self._file.truncate(end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._places and key not in self._failed

    def _index(self, key: str, place: int, length: int, *, failed: bool) -> None:
        self._places[key] = (place, length)
        (self._failed.add if failed else self._failed.discard)(key)

    def get(self, key: str) -> Block | None:
        if self._file is None or key not in self._places:
            return None
        place, length = self._places[key]
        self._file.seek(place)
        return decode(self._file.read(length))

    def put(self, key: str, block: Block) -> None:
        if self._file is None:
            return
        payload = encode(block, key)
        self._file.seek(0, os.SEEK_END)
        self._file.write(HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._index(key, self._file.tell() - len(payload), len(payload), failed=block.failed)


def _records(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """(place, length, payload) of each whole record."""
    file.seek(0)
    while len(header := file.read(HEADER.size)) == HEADER.size:
        magic, length, crc = HEADER.unpack(header)
        place = file.tell()
        payload = file.read(length) if magic == MAGIC else b""
        if len(payload) < length or magic != MAGIC or zlib.crc32(payload) != crc:
            return
        yield place, length, payload


def lock(file: BinaryIO, path: Path) -> None:
    """Two runs writing one journal would interleave their records."""
    with contextlib.suppress(ImportError):  # Windows has no fcntl, and its open files are exclusive enough
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise UsageError(f"{path.parent} is in use by another run; give this one its own -o") from error
