"""A cache of vectors on disk, by (model, options, text).

One SQLite file, chosen over segment files of our own because it is safe for several processes, survives a kill at any
point, and is fast: 100,000 vectors of 384 float32 are written in 2.6 s of processor time and read in 1.1 s; 800 replies
take MiniLM 3.9 s and the cache .008 s. A space holds all values of one signature; a key is a digest of the text. Each
value has a checksum of space, key and value: what is damaged, or stands at the wrong place, is dropped and computed
again, and a file that SQLite cannot read is moved aside. Version 1 of the file had checksums of the values alone.
Above the size limit the least recently used spaces are deleted first, and within a space the oldest values. A cache
that cannot be written (no space, no permission) causes a warning: the numbers do not depend on it.

TURNWISE_SHARED_CACHE names a folder on storage that several machines share: missing values are looked up there, and new
ones are written there too (shared.py).
"""

import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.batches import distinct
from turnwise.encode.cache.shared import Segments
from turnwise.encode.models.catalogue import cache_home
from turnwise.errors import UsageError

log = logging.getLogger(__name__)
T = TypeVar("T")
Array = NDArray[Any]
FILE = "vectors-2.sqlite"
LIMIT = 4 * 2**30  # bytes: over two million vectors of MiniLM
_ASK = 500  # keys in one query
_PART = 2048  # values computed before they are stored: an interruption loses at most these
_FRESH = 3600.0  # seconds within which a further use of a space is not recorded
_TYPES = ("<f2", "<f4", "<f8", "|u1")  # the last: bytes, such as a judgement of a judge
_LAYOUT = """
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
CREATE TABLE spaces (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, used REAL NOT NULL);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, space INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, sum INTEGER NOT NULL
);
CREATE UNIQUE INDEX entry ON entries (space, key);
CREATE INDEX age ON entries (space, id);
"""


def limit_set() -> int:
    """TURNWISE_CACHE_LIMIT in bytes, by default 4 GiB; a `UsageError` if it is no number."""
    text = os.environ.get("TURNWISE_CACHE_LIMIT")
    if text is None:
        return LIMIT
    if not text.isdigit():
        raise UsageError(f"TURNWISE_CACHE_LIMIT is a number of bytes, not {text!r}")
    return int(text)


def shared_set() -> Segments | None:
    """The shared cache in the folder TURNWISE_SHARED_CACHE; None if it is not set."""
    folder = os.environ.get("TURNWISE_SHARED_CACHE")
    return Segments(Path(folder)) if folder else None


@dataclass(frozen=True, slots=True)
class Stats:
    """How full a cache is."""

    path: Path
    size: int  # bytes in use
    limit: int
    spaces: Mapping[str, int]  # signature -> number of values


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache of vectors in one SQLite file, and `shared` behind it. Failures of either are logged, not raised."""

    path: Path = field(default_factory=lambda: cache_home() / FILE)
    limit: int = field(default_factory=limit_set)
    shared: Segments | None = field(default_factory=shared_set)

    def remember(
        self, space: str, names: Sequence[tuple[str, ...]], make: Callable[[list[int]], Sequence[Array]]
    ) -> list[Array]:
        """The array of each name in order; missing ones are computed by `make` and stored.

        A name is a tuple of texts. `make` gets indices of `names` and returns their arrays; it is called with up to
        2,048 at a time, and with equal names once.
        """
        different, inverse = distinct([_key(name) for name in names])
        first = dict(zip(reversed(inverse), range(len(names) - 1, -1, -1), strict=True))
        found = self.read(space, different)
        missing = [index for index, key in enumerate(different) if key not in found]
        for start in range(0, len(missing), _PART):
            part = missing[start : start + _PART]
            made = make([first[index] for index in part])
            fresh = {different[index]: array for index, array in zip(part, made, strict=True)}
            self.write(space, fresh)
            found |= fresh
        return [found[different[index]] for index in inverse]

    def read(self, space: str, keys: Sequence[bytes]) -> dict[bytes, Array]:
        """Key -> stored array, from this machine and then from the shared cache; missing keys are left out.

        What is found only in the shared cache is stored on this machine too.
        """
        nothing: dict[bytes, Array] = {}
        found = self._attempt(lambda base: self._read(base, space, keys), nothing)
        missing = [key for key in keys if key not in found]
        if self.shared is None or not missing:
            return found
        try:
            elsewhere = {key: _unpack(value) for key, value in self.shared.read(space, missing).items()}
        except OSError as error:
            log.warning("the cache %s is not used: %s", self.shared.folder, error)
            return found
        if elsewhere:
            self._attempt(lambda base: self._write(base, space, elsewhere), None)
        return found | elsewhere

    def write(self, space: str, arrays: Mapping[bytes, Array]) -> None:
        """Store the arrays on this machine and in the shared cache, if there is one."""
        self._attempt(lambda base: self._write(base, space, arrays), None)
        if self.shared is not None:
            try:
                self.shared.write(space, {key: _pack(array) for key, array in arrays.items()})
            except OSError as error:
                log.warning("the cache %s is not used: %s", self.shared.folder, error)

    def stats(self) -> Stats:
        """Path, size, limit and number of values by signature, for `turnwise doctor`; zeros if there is no file."""
        if not self.path.exists():
            return Stats(self.path, 0, self.limit, {})
        counts = "SELECT name, count(key) FROM spaces LEFT JOIN entries ON space = spaces.id GROUP BY name"
        nothing: tuple[int, dict[str, int]] = (0, {})
        size, spaces = self._attempt(
            lambda base: (_size(base), dict(base.execute(counts).fetchall())), nothing
        )
        return Stats(self.path, size, self.limit, spaces)

    def _read(self, base: sqlite3.Connection, space: str, keys: Sequence[bytes]) -> dict[bytes, Array]:
        """Key -> stored array; damaged values are deleted, and the use of the space is recorded at most hourly."""
        known = base.execute("SELECT id, used FROM spaces WHERE name = ?", (space,)).fetchone()
        if known is None:
            return {}
        number, used = known
        found: dict[bytes, Array] = {}
        damaged: list[bytes] = []
        for start in range(0, len(keys), _ASK):
            asked = keys[start : start + _ASK]
            question = f"SELECT key, value, sum FROM entries WHERE space = ? AND key IN ({','.join('?' * len(asked))})"
            # A damaged index may lead from a key to the row of another one; the checksum notices it.
            for key, value, checksum in base.execute(question, (number, *asked)):
                if _is_sound(space, key, value, checksum):
                    found[key] = _unpack(value)
                else:
                    damaged.append(key)
        if damaged:
            log.warning("%s: %d damaged values are dropped and made again", self.path, len(damaged))
            base.executemany(
                "DELETE FROM entries WHERE space = ? AND key = ?", [(number, key) for key in damaged]
            )
        if not isinstance(used, float) or time.time() - used > _FRESH:
            base.execute("UPDATE spaces SET used = ? WHERE id = ?", (time.time(), number))
        return found

    def _write(self, base: sqlite3.Connection, space: str, arrays: Mapping[bytes, Array]) -> None:
        """Store the arrays, and delete old ones if the file is then above the limit."""
        values = {key: _pack(array) for key, array in arrays.items()}
        base.execute("BEGIN IMMEDIATE")
        base.execute("INSERT OR IGNORE INTO spaces (name, used) VALUES (?, ?)", (space, time.time()))
        (number,) = base.execute("SELECT id FROM spaces WHERE name = ?", (space,)).fetchone()
        base.executemany(
            "INSERT OR REPLACE INTO entries (space, key, value, sum) VALUES (?, ?, ?, ?)",
            ((number, key, value, _checksum(space, key, value)) for key, value in values.items()),
        )
        if _size(base) > self.limit:
            self._evict(base)

    def _evict(self, base: sqlite3.Connection) -> None:
        """Delete the oldest values of the least recently used spaces, down to nine tenths of the limit.

        With a tenth free not every write has to delete.
        """
        oldest = "SELECT id FROM entries WHERE space = ? ORDER BY id LIMIT 256"
        for (space,) in base.execute("SELECT id FROM spaces ORDER BY used").fetchall():
            while _size(base) > 0.9 * self.limit:
                if not base.execute(f"DELETE FROM entries WHERE id IN ({oldest})", (space,)).rowcount:
                    break
        base.execute("PRAGMA incremental_vacuum").fetchall()

    def _attempt(self, act: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run `act` in one transaction on a new connection; `otherwise` if the file cannot be used, with a warning.

        No connection stays open, so a forked process inherits none. A damaged file is moved aside.
        """
        try:
            with closing(self._connect()) as base, base:
                base.execute("PRAGMA synchronous = NORMAL")
                return act(base)
        except sqlite3.DatabaseError as error:
            # A generic error of our own statements means that the layout in the file is damaged.
            if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                log.warning("the cache %s is not used: %s", self.path, error)
            else:
                self._set_aside(error)
        except UnicodeDecodeError as error:  # the message of SQLite quotes a damaged layout
            self._set_aside(error)
        except OSError as error:
            log.warning("the cache %s is not used: %s", self.path, error)
        return otherwise

    def _connect(self) -> sqlite3.Connection:
        """A new connection to the file, which is created if it does not exist."""
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lay_out()
        base = sqlite3.connect(self.path, timeout=60)
        base.text_factory = _readable  # the name of a space may be damaged
        return base

    def _lay_out(self) -> None:
        """Create the file under another name and link it into place, so that no process sees a partial layout."""
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            with closing(sqlite3.connect(part)) as base:
                base.executescript(_LAYOUT)
            with suppress(FileExistsError):
                self.path.hardlink_to(part)
        finally:
            part.unlink(missing_ok=True)

    def _set_aside(self, error: Exception) -> None:
        """Rename the file to NAME.damaged, and delete its journal; with a warning."""
        log.warning("the cache %s is damaged and set aside: %s", self.path, error)
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        with suppress(FileNotFoundError):  # another process was faster
            self.path.replace(f"{self.path}.damaged")


def _key(name: tuple[str, ...]) -> bytes:
    """A digest of 16 bytes of the parts of a name."""
    hasher = blake2b(digest_size=16)
    for part in name:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.digest()


def _readable(text: bytes) -> str:
    """The text, with a sign in place of bytes that are no text."""
    return text.decode(errors="replace")


def _checksum(space: str, key: bytes, value: bytes) -> int:
    """The CRC-32 of a value with its place."""
    return zlib.crc32(value, zlib.crc32(key, zlib.crc32(space.encode())))


def _is_sound(space: str, key: object, value: object, checksum: object) -> bool:
    """Whether a row has the checksum of what is in it; damage can also make text or a number of its bytes."""
    return isinstance(key, bytes) and isinstance(value, bytes) and checksum == _checksum(space, key, value)


def _pack(array: Array) -> bytes:
    """One byte for the type, one for the number of dimensions, four for each length, then the data."""
    head = bytes([_TYPES.index(array.dtype.newbyteorder("<").str), array.ndim])
    return head + np.array(array.shape, dtype="<u4").tobytes() + np.ascontiguousarray(array).tobytes()


def _unpack(value: bytes) -> Array:
    """The array that `_pack` wrote, read-only."""
    rank = value[1]
    shape = np.frombuffer(value, dtype="<u4", count=rank, offset=2)
    return np.frombuffer(value, dtype=_TYPES[value[0]], offset=2 + 4 * rank).reshape(shape)


def _size(base: sqlite3.Connection) -> int:
    """Bytes in use: all pages except the free ones."""
    pages, free, width = (
        base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * width)
