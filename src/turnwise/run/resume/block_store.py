"""`rows.bin`: an append-only file of scored blocks, addressed by a key of their content.

Each record is a header (magic number, length, CRC of the payload) and a payload. It is written and synced to disk
before the next one. On opening, complete records are kept and the rest is cut off, so an interruption loses at most the
block that was being written.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from turnwise.logs.files import lock
from turnwise.run.scoring.blocks import Block, decode, encode

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
        self._offsets: dict[str, tuple[int, int]] = {}
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
        for offset, length, payload in _complete_records(self._file):
            head = msgspec.msgpack.decode(payload, type=_RecordHead)
            self._index(head.key, offset, length, failed=head.failed)
            end = offset + length
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
        return key in self._offsets and key not in self._failed

    def _index(self, key: str, offset: int, length: int, *, failed: bool) -> None:
        """Record where the payload of a key is; a later record of the same key replaces an earlier one."""
        self._offsets[key] = (offset, length)
        (self._failed.add if failed else self._failed.discard)(key)

    def get(self, key: str) -> Block | None:
        """The last block written under this key, also a failed one; None if there is none."""
        if self._file is None or key not in self._offsets:
            return None
        offset, length = self._offsets[key]
        self._file.seek(offset)
        return decode(self._file.read(length))

    def put(self, key: str, block: Block) -> None:
        """Append a block and sync it to disk; does nothing without a folder."""
        if self._file is None:
            return
        payload = encode(block, key)
        self._file.seek(0, os.SEEK_END)
        self._file.write(HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._index(key, self._file.tell() - len(payload), len(payload), failed=block.failed)


def _complete_records(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield (offset, length, payload) of each record from the start of the file up to the first damaged one."""
    file.seek(0)
    while len(header := file.read(HEADER.size)) == HEADER.size:
        magic, length, crc = HEADER.unpack(header)
        offset = file.tell()
        payload = file.read(length) if magic == MAGIC else b""
        if len(payload) < length or magic != MAGIC or zlib.crc32(payload) != crc:
            return
        yield offset, length, payload
