"""Progress journal: the finished parts of a task, from which an interrupted run is resumed.

The file is JSON Lines. The first line has the key of the run, which must match for parts to be reused. Each further
line has the number and the value of a part, and is synced to disk. An incomplete last line is cut off. If a part is
written twice, the last value counts.
"""

import os
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from turnwise.errors import UsageError
from turnwise.logs.files import lock


class _PartLine(msgspec.Struct):
    """Any line after the first: the number of a part and its value."""

    part: int
    value: Any


class _FirstLine(msgspec.Struct):
    """The first line: the key of the run."""

    key: str


class Journal:
    """The parts of a task by number; without a path they are kept in memory only.

    A file with another key, or `reuse=False`, starts empty. The file is deleted when the block ends without an error.
    """

    def __init__(self, path: Path | None, key: str, *, reuse: bool = True) -> None:
        self.path = path
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
        if not reuse or not _has_key(file, key):
            file.truncate(0)
            file.seek(0)
            _write_line(file, _FirstLine(key))
        file.truncate(self._read_index(file))

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

    def get(self, part: int) -> Any:
        """The last value written for a part, as plain JSON values; `KeyError` if there is none."""
        if self._file is None:
            return self._in_memory[part]
        offset, length = self._offsets[part]
        self._file.seek(offset)
        return msgspec.json.decode(self._file.read(length), type=_PartLine).value

    def put(self, part: int, value: Any) -> None:
        """Write a part, in place of an earlier value, and sync it to disk; without a path it is kept in memory."""
        if self._file is None:
            self._in_memory[part] = value
            return
        offset = self._file.seek(0, os.SEEK_END)
        self._offsets[part] = (offset, _write_line(self._file, _PartLine(part, value)))

    def _read_index(self, file: BinaryIO) -> int:
        """Record where each line after the first is, up to the first damaged one, and return where they end."""
        file.seek(0)
        end = len(file.readline())
        for line in file:
            try:
                part = msgspec.json.decode(line, type=_PartLine).part
            except (msgspec.DecodeError, UnicodeDecodeError):
                break
            if not line.endswith(b"\n"):
                break
            self._offsets[part] = (end, len(line))
            end += len(line)
        return end


def _has_key(file: BinaryIO, key: str) -> bool:
    """Whether the first line of the file has this key; False for an empty file or another content."""
    file.seek(0)
    try:
        return msgspec.json.decode(file.readline(), type=_FirstLine).key == key
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _write_line(file: BinaryIO, line: msgspec.Struct) -> int:
    """Write a line at the current position, sync it to disk, and return its length in bytes."""
    data = msgspec.json.encode(line) + b"\n"
    file.write(data)
    file.flush()
    os.fsync(file.fileno())
    return len(data)
