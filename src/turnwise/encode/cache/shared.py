"""A cache of vectors on storage that several machines share: segment files that are never changed once written.

The SQLite cache of one machine (disk.py) needs locks, which network file systems do not provide reliably. This cache
has no locks: each write is a new file with a unique name, moved into place by a rename. Writers cannot overwrite each
other, and a reader sees a whole segment or none. A value that is written twice is stored twice, with equal bytes. A
damaged segment is ignored and its values are computed again. Nothing is deleted here: the owner of the storage may
delete the oldest files at any time.
"""

import logging
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from turnwise.logs.files import atomic

log = logging.getLogger(__name__)
ENDING = ".seg"
_HEAD = struct.Struct("<4sII")  # magic, number of values, CRC-32 of the index
_ENTRY = struct.Struct("<16sQII")  # key, offset of the value, its length, its CRC-32
_MAGIC = b"TWS1"


class _StoredAt(NamedTuple):
    """Where a value is: file, offset and length in bytes, CRC-32."""

    path: str
    start: int
    length: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Segments:
    """The segment files of a folder.

    The index of every space that was used is held in memory: about 280 bytes a key.
    """

    folder: Path
    _known: dict[str, set[str]] = field(default_factory=dict)  # space -> segment files that were indexed
    _stored: dict[tuple[str, bytes], _StoredAt] = field(default_factory=dict)

    def read(self, space: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Key -> stored value; missing and damaged ones are left out.

        After a miss, new segments of other machines are indexed.
        """
        if any((space, key) not in self._stored for key in keys):
            self._look(space)
        wanted = [(self._stored[space, key], key) for key in keys if (space, key) in self._stored]
        found: dict[bytes, bytes] = {}
        for stored, key in sorted(wanted):  # file by file
            value = _value(stored)
            if value is None:
                # The next read then looks for a newer copy.
                self._stored.pop((space, key), None)
            else:
                found[key] = value
        return found

    def write(self, space: str, values: Mapping[bytes, bytes]) -> None:
        """Write the values as one new segment file; nothing for no values."""
        if not values:
            return
        index, start = [], _HEAD.size + _ENTRY.size * len(values)
        for key, value in values.items():
            index.append(_ENTRY.pack(key, start, len(value), zlib.crc32(value)))
            start += len(value)
        entries = b"".join(index)
        head = _HEAD.pack(_MAGIC, len(values), zlib.crc32(entries))
        folder = self._folder(space)
        folder.mkdir(parents=True, exist_ok=True)
        with atomic(folder / f"{uuid4().hex}{ENDING}") as file:
            file.writelines([head, entries, *values.values()])

    def _folder(self, space: str) -> Path:
        """The folder of a space, named by a hash of it."""
        return self.folder / blake2b(space.encode(), digest_size=8).hexdigest()

    def _look(self, space: str) -> None:
        """Index the segments that are new since the last call."""
        known = self._known.setdefault(space, set())
        try:
            there = [one.path for one in os.scandir(self._folder(space)) if one.name.endswith(ENDING)]
        except FileNotFoundError:
            return
        for path in there:
            if path not in known:
                known.add(path)
                self._index(space, path)

    def _index(self, space: str, path: str) -> None:
        """Add the entries of a segment to the index; a damaged segment is skipped with a warning."""
        try:
            with open(path, "rb") as file:
                magic, count, checksum = _HEAD.unpack(file.read(_HEAD.size))
                entries = file.read(_ENTRY.size * count)
        except (OSError, struct.error):
            magic, count, checksum, entries = b"", 0, 1, b""
        if magic != _MAGIC or zlib.crc32(entries) != checksum or len(entries) != _ENTRY.size * count:
            log.warning("%s is damaged and passed over; what it held is made again", path)
            return
        for key, start, length, value_sum in _ENTRY.iter_unpack(entries):
            self._stored[space, key] = _StoredAt(path, start, length, value_sum)


def _value(stored: _StoredAt) -> bytes | None:
    """The value that is stored there; None if the file was deleted or the value is damaged."""
    try:
        with open(stored.path, "rb") as file:
            file.seek(stored.start)
            value = file.read(stored.length)
    except OSError:  # deleted since
        return None
    return value if zlib.crc32(value) == stored.checksum else None
