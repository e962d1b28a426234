"""Work in parts, kept beside the file that it will become: a run that was killed goes on after its last whole part.

JSON Lines: first the key of the run, which says what must be equal for the parts to be ours; then one line a part, its
number and its value, synced before the work goes on. A line that is not whole is cut off; a part that is written
again counts as written last.
"""

import os
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from turnwise.errors import UsageError
from turnwise.run.resume.store import lock


class _Line(msgspec.Struct):
    part: int
    value: Any


class _Head(msgspec.Struct):
    key: str


class Journal:
    """Without a path parts are held in memory, and nothing survives."""

    def __init__(self, path: Path | None, key: str, *, reuse: bool = True) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._held: dict[int, Any] = {}
        self._places: dict[int, tuple[int, int]] = {}
        if path is None:
            return
        try:
            self._file = file = path.open("r+b" if path.exists() else "w+b")
        except OSError as error:
            raise UsageError(f"cannot write to {path.parent}: {error.strerror or error}") from None
        lock(file, path)
        if not reuse or not _is_of(file, key):
            file.truncate(0)
            file.seek(0)
            _write(file, _Head(key))
        file.truncate(self._index(file))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        if self.path is not None and kind is None:  # all is done, and stands where it belongs
            self.path.unlink(missing_ok=True)

    def __contains__(self, part: int) -> bool:
        return part in self._held or part in self._places

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def get(self, part: int) -> Any:
        if self._file is None:
            return self._held[part]
        place, length = self._places[part]
        self._file.seek(place)
        return msgspec.json.decode(self._file.read(length), type=_Line).value

    def put(self, part: int, value: Any) -> None:
        if self._file is None:
            self._held[part] = value
            return
        place = self._file.seek(0, os.SEEK_END)
        self._places[part] = (place, _write(self._file, _Line(part, value)))

    def _index(self, file: BinaryIO) -> int:
        """Finds the whole lines; where they end."""
        file.seek(0)
        end = len(file.readline())
        for line in file:
            try:
                part = msgspec.json.decode(line, type=_Line).part
            except (msgspec.DecodeError, UnicodeDecodeError):
                break
            if not line.endswith(b"\n"):
                break
            self._places[part] = (end, len(line))
            end += len(line)
        return end


def _is_of(file: BinaryIO, key: str) -> bool:
    """Whether what is there was begun by the same run."""
    file.seek(0)
    try:
        return msgspec.json.decode(file.readline(), type=_Head).key == key
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _write(file: BinaryIO, line: msgspec.Struct) -> int:
    data = msgspec.json.encode(line) + b"\n"
    file.write(data)
    file.flush()
    os.fsync(file.fileno())
    return len(data)
