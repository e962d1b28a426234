"""Progress journal: the finished parts of a task, from which an interrupted run is resumed.

The file is JSON Lines. The first line has the key of the run, which must match for parts to be reused. Each further
line has the number and the value of a part with a checksum of these and of the key, and is synced to disk. A damaged
line is passed over, and its part computed again; an incomplete last line is cut off. If a part is written twice, the
last value counts. A file without checksums is of an earlier version and starts empty.
"""

import os
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from turnwise.errors import DataError, UsageError
from turnwise.logs.files import lock


class _PartLine(msgspec.Struct):
    """Any line after the first: the number of a part, its value and the checksum."""

    part: int
    value: msgspec.Raw
    checksum: int

    @classmethod
    def of(cls, key: str, part: int, value: Any) -> "_PartLine":
        """The line of a part in the journal of a run."""
        encoded = msgspec.json.encode(value)
        return cls(part, msgspec.Raw(encoded), _checksum(key, part, encoded))


class _FirstLine(msgspec.Struct):
    """The first line: the key of the run, and its checksum."""

    key: str
    checksum: int


def _checksum(key: str, part: int = 0, value: bytes = b"") -> int:
    """The CRC-32 of a part of a run; without a part, of the key."""
    return zlib.crc32(value, zlib.crc32(f"{key} {part} ".encode()))


class Journal:
    """The parts of a task by number; without a path they are kept in memory only.

    A file with another key, or `reuse=False`, starts empty. The file is deleted when the block ends without an error.
    """

    def __init__(self, path: Path | None, key: str, *, reuse: bool = True) -> None:
        self.path = path
        self._key = key
        self._file: BinaryIO | None = None
        self._in_memory: dict[int, Any] = {}
        self._offsets: dict[int, tuple[int, int]] = {}
        if path is None:
            return
        try:
            self._file = file = path.open("r+b" if path.exists() else "w+b")
        except OSError as error:
            raise UsageError(f"cannot write to {path.parent}: {error.strerror or error}") from None
        lock(file, path)
        end = 0 if not reuse or _is_of_another_run(file, key) else self._read_index(file, key)
        file.truncate(end)
        if not end:
            file.seek(0)
            _write_line(file, _FirstLine(key, _checksum(key)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        if self.path is not None and kind is None:  # the run is complete, and its results are written
            self.path.unlink(missing_ok=True)

    def __contains__(self, part: int) -> bool:
        return part in self._in_memory or part in self._offsets

    def __len__(self) -> int:
        """The number of different parts."""
        return len(self._in_memory) + len(self._offsets)

    @property
    def parts(self) -> list[int]:
        """The numbers of the parts, in order; one may be absent between others if its line was damaged."""
        return sorted({*self._in_memory, *self._offsets})

    def get(self, part: int) -> Any:
        """The last value written for a part, as plain JSON values; `KeyError` if there is none.

        A line that was damaged since the journal was opened is a `DataError`.
        """
        if self._file is None:
            return self._in_memory[part]
        offset, length = self._offsets[part]
        self._file.seek(offset)
        line = _decoded(self._file.read(length), self._key)
        if line is None:
            raise DataError(
                f"{self.path} was damaged during the run; the same command computes the damaged part again"
            )
        return msgspec.json.decode(line.value)

    def put(self, part: int, value: Any) -> None:
        """Write a part, in place of an earlier value, and sync it to disk; without a path it is kept in memory."""
        if self._file is None:
            self._in_memory[part] = value
            return
        offset = self._file.seek(0, os.SEEK_END)
        self._offsets[part] = (offset, _write_line(self._file, _PartLine.of(self._key, part, value)))

    def _read_index(self, file: BinaryIO, key: str) -> int:
        """Record where each sound line of this run is, and return the end of the last one; 0 without any."""
        file.seek(0)
        at = end = 0
        for line in file:
            found = _decoded(line, key) if line.endswith(b"\n") else None
            if found is not None:
                self._offsets[found.part] = (at, len(line))
                end = at + len(line)
            at += len(line)
        return end


def _decoded(line: bytes, key: str) -> _PartLine | None:
    """The line of a part of this run; None for one that is damaged, of another run, or no such line."""
    try:
        found = msgspec.json.decode(line, type=_PartLine)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.checksum == _checksum(key, found.part, bytes(found.value)) else None


def _is_of_another_run(file: BinaryIO, key: str) -> bool:
    """Whether the first line of the file has another key; False for an empty file and for a damaged line."""
    file.seek(0)
    try:
        found = msgspec.json.decode(file.readline(), type=_FirstLine)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return found.key != key and found.checksum == _checksum(found.key)


def _write_line(file: BinaryIO, line: msgspec.Struct) -> int:
    """Write a line at the current position, sync it to disk, and return its length in bytes."""
    data = msgspec.json.encode(line) + b"\n"
    file.write(data)
    file.flush()
    os.fsync(file.fileno())
    return len(data)
