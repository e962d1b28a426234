"""`rows.bin`: an append-only file of scored blocks, addressed by a key of their content.

Each record is a header (magic number, length, CRC of the payload) and a payload. It is written and synced to disk
before the next one. On opening, complete records are kept and an incomplete one at the end is cut off, so an
interruption loses at most the block that was being written. A damaged record is passed over, and those after it are
kept; a block that is damaged later is found by its CRC when it is read.
"""

import logging
import os
import struct
import zlib
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

import msgspec

from turnwise.logs.files import lock
from turnwise.run.scoring.blocks import Block, decode, encode

log = logging.getLogger(__name__)
MAGIC = b"TWR1"
HEADER = struct.Struct("<4sQI")  # magic number, payload length, CRC-32 of the payload


class _RecordHead(msgspec.Struct):
    """The key of a stored block and whether the metric failed in it, decoded without the rest of the payload."""

    key: str
    failed: bool


class BlockStore:
    """Blocks by key. Without a folder nothing is stored and nothing is found.

    A block in which the metric failed can be read, but does not count as stored: a resumed run scores it again.
    """

    def __init__(self, folder: Path | None, *, reuse: bool = True, write: bool = True) -> None:
        self._file: BinaryIO | None = None
        self._places: dict[str, _Place] = {}
        self._failed: set[str] = set()
        if folder is None:
            return
        path = folder / "rows.bin"
        if write:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = path.open("r+b" if path.exists() else "w+b")
            lock(self._file, path)
            if not reuse:  # after locking, so that the file of another run is not emptied
                self._file.truncate(0)
        else:
            self._file = path.open("rb")
        end = 0
        for offset, crc, payload in _complete_records(self._file):
            head = msgspec.msgpack.decode(payload, type=_RecordHead)
            if offset - HEADER.size > end:
                log.warning("%s: damaged rows are passed over and made again", path)
            self._index(head.key, _Place(offset, len(payload), crc), failed=head.failed)
            end = offset + len(payload)
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
        """Whether a block in which the metric did not fail is stored under this key."""
        return key in self._places and key not in self._failed

    def _index(self, key: str, place: "_Place", *, failed: bool) -> None:
        """Record where the payload of a key is; a later record of the same key replaces an earlier one."""
        self._places[key] = place
        (self._failed.add if failed else self._failed.discard)(key)

    def get(self, key: str) -> Block | None:
        """The last block written under this key, also a failed one; None if there is none, or if it is damaged."""
        if self._file is None or key not in self._places:
            return None
        place = self._places[key]
        self._file.seek(place.offset)
        payload = self._file.read(place.length)
        return decode(payload) if zlib.crc32(payload) == place.crc else None

    def put(self, key: str, block: Block) -> None:
        """Append a block and sync it to disk; does nothing without a folder."""
        if self._file is None:
            return
        payload = encode(block, key)
        crc = zlib.crc32(payload)
        self._file.seek(0, os.SEEK_END)
        self._file.write(HEADER.pack(MAGIC, len(payload), crc) + payload)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._index(key, _Place(self._file.tell() - len(payload), len(payload), crc), failed=block.failed)


class _Place(NamedTuple):
    """Where the payload of a record is, and its CRC-32."""

    offset: int
    length: int
    crc: int


def _complete_records(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield (offset of the payload, CRC, payload) of each complete record; what is between two of them is damaged."""
    size, at = file.seek(0, os.SEEK_END), 0
    while size - at >= HEADER.size:
        file.seek(at)
        magic, length, crc = HEADER.unpack(file.read(HEADER.size))
        if magic == MAGIC and length <= size - at - HEADER.size:  # a damaged length may exceed the memory
            payload = file.read(length)
            if zlib.crc32(payload) == crc:
                yield at + HEADER.size, crc, payload
                at += HEADER.size + length
                continue
        at = _next_magic(file, at + 1, size)


def _next_magic(file: BinaryIO, start: int, size: int) -> int:
    """The first offset from `start` on at which the magic number stands; the size of the file if there is none."""
    with mmap(file.fileno(), size, access=ACCESS_READ) as content:
        found = content.find(MAGIC, start)
    return size if found < 0 else found
