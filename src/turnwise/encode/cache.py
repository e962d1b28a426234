"""What was computed once is kept on disk, by (model, options, text).

One SQLite file. It was chosen over segment files of our own because it is safe for several processes, survives a kill
at any point, and is fast enough to be out of the way: 100,000 vectors of 384 float32 are read in about 1 s, which the
encoder needs minutes for. A space is everything made with one signature; a key is a digest of the text. Each value
carries a checksum: a damaged one is dropped and made again, and a file that SQLite cannot read is set aside.
Beyond the limit the least recently used spaces go first, and within one the oldest values.
"""

import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.batches import distinct
from turnwise.encode.weights import cache_home
from turnwise.errors import UsageError

log = logging.getLogger(__name__)
LIMIT = 4 * 2**30  # bytes: two million vectors of MiniLM
_ASK = 500  # keys in a question
_PART = 2048  # values made before they are stored: what an interruption may cost
_LAYOUT = """
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS spaces (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, used REAL NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, space INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, sum INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS entry ON entries (space, key);
"""
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Stats:
    path: Path
    size: int  # bytes on disk
    limit: int
    spaces: Mapping[str, int]  # signature -> number of values


@dataclass(frozen=True)
class Cache:
    path: Path = field(default_factory=lambda: cache_home() / "vectors.sqlite")
    limit: int = field(default_factory=lambda: _limit())

    def remember(
        self, space: str, texts: Sequence[Any], make: Callable[[list[Any]], Sequence[Array]]
    ) -> list[Array]:
        """The array of each text: kept ones are read, the others made, in parts, and kept. Equal texts are one."""
        different, inverse = distinct(texts)
        keys = [_key(text) for text in different]
        found = self.read(space, keys)
        missing = [place for place, key in enumerate(keys) if key not in found]
        for start in range(0, len(missing), _PART):
            part = missing[start : start + _PART]
            made = make([different[place] for place in part])
            fresh = {keys[place]: array for place, array in zip(part, made, strict=True)}
            self.write(space, fresh)
            found |= fresh
        return [found[keys[place]] for place in inverse]

    def read(self, space: str, keys: Sequence[bytes]) -> dict[bytes, Array]:
        """The kept arrays of these keys."""
        found: dict[bytes, Array] = {}
        damaged: list[bytes] = []
        with self._open() as base:
            number = self._space(base, space)
            for start in range(0, len(keys), _ASK):
                asked = keys[start : start + _ASK]
                marks = ",".join("?" * len(asked))
                question = f"SELECT key, value, sum FROM entries WHERE space = ? AND key IN ({marks})"
                for key, value, checksum in base.execute(question, (number, *asked)):
                    if zlib.crc32(value) == checksum:
                        found[key] = _unpack(value)
                    else:
                        damaged.append(key)
            base.executemany("DELETE FROM entries WHERE space = ? AND key = ?", ((number, key) for key in damaged))
        if damaged:
            log.warning("%s: %d damaged values were dropped and will be made again", self.path, len(damaged))
        return found

    def write(self, space: str, arrays: Mapping[bytes, Array]) -> None:
        rows = [(key, value, zlib.crc32(value)) for key, array in arrays.items() for value in [_pack(array)]]
        with self._open() as base:
            number = self._space(base, space)
            base.executemany(
                "INSERT OR REPLACE INTO entries (space, key, value, sum) VALUES (?, ?, ?, ?)",
                ((number, *row) for row in rows),
            )
            self._evict(base)

    def stats(self) -> Stats:
        """For `turnwise doctor`."""
        with self._open() as base:
            counted = base.execute(
                "SELECT name, count(entries.id) FROM spaces LEFT JOIN entries ON space = spaces.id GROUP BY name"
            )
            spaces = dict(counted.fetchall())
            return Stats(self.path, _size(base), self.limit, spaces)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction: none is kept, so none can be carried into a forked process."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            base = self._connect()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise UsageError(f"the cache {self.path} cannot be opened ({error}): run with --no-cache") from error
            self._set_aside(error)
            base = self._connect()
        try:
            with base:
                yield base
        finally:
            base.close()

    def _connect(self) -> sqlite3.Connection:
        base = sqlite3.connect(self.path, timeout=60)
        try:
            base.executescript(_LAYOUT)
            base.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.DatabaseError:
            base.close()
            raise
        return base

    def _set_aside(self, error: Exception) -> None:
        log.warning("the cache %s is damaged (%s): it is set aside and a new one begun", self.path, error)
        for suffix in ("-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        self.path.replace(f"{self.path}.damaged")

    def _space(self, base: sqlite3.Connection, name: str) -> int:
        base.execute(
            "INSERT INTO spaces (name, used) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET used = excluded.used",
            (name, time.time()),
        )
        (number,) = base.execute("SELECT id FROM spaces WHERE name = ?", (name,)).fetchone()
        return int(number)

    def _evict(self, base: sqlite3.Connection) -> None:
        """Down to nine tenths of the limit, so that it does not happen at every write."""
        if _size(base) <= self.limit:
            return
        for (space,) in base.execute("SELECT id FROM spaces ORDER BY used").fetchall():
            while _size(base) > 0.9 * self.limit:
                oldest = "SELECT id FROM entries WHERE space = ? ORDER BY id LIMIT 512"
                if not base.execute(f"DELETE FROM entries WHERE id IN ({oldest})", (space,)).rowcount:
                    break
