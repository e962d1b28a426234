"""The event log in an SQLite file, in write-ahead mode, so that exports can read while raters write."""

import os
import sqlite3
from collections.abc import Iterator, Sequence

import msgspec

from turnwise.errors import DataError
from turnwise.web.storage.events import Event
from turnwise.web.storage.log import LogConflict

_SCHEMA = """
CREATE TABLE IF NOT EXISTS turnwise_events (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    rater TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS events_keep BEFORE UPDATE ON turnwise_events
    BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE DELETE ON turnwise_events
    BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
"""
LOCK_SECONDS = 10.0  # seconds that a write waits for the lock of a backup or another program


class SqliteLog:
    """The event log in an SQLite file."""

    def __init__(self, path: str, *, writable: bool = True) -> None:
        self._path = path
        if not os.path.exists(path):
            if not writable:
                raise DataError(f"{path}: there are no ratings yet")
            os.close(os.open(path, os.O_CREAT, 0o600))  # private, because it has the raters' links
        # One connection, used by one thread at a time: first the thread that replays, then the writing thread.
        try:
            self._connection = sqlite3.connect(
                path, timeout=LOCK_SECONDS, check_same_thread=False, isolation_level=None
            )
        except sqlite3.OperationalError as error:
            raise DataError(f"{path}: is no file of ratings: {error}") from None
        try:
            if writable:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=FULL")
                self._connection.executescript(_SCHEMA)
            else:
                self._connection.execute("SELECT seq FROM turnwise_events LIMIT 1")
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise DataError(f"{path}: is no file of ratings: {error}") from None

    def append(self, events: Sequence[Event], /) -> None:
        """Store all events or none, in one transaction; raises `LogConflict` if their numbers are taken."""
        rows = [(e.seq, e.at, e.rater, e.kind, msgspec.json.encode(e.body).decode()) for e in events]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("INSERT INTO turnwise_events VALUES (?, ?, ?, ?, ?)", rows)
            self._connection.execute("COMMIT")
        except sqlite3.IntegrityError:
            self._connection.execute("ROLLBACK")
            raise LogConflict(self._path) from None

    def replay(self) -> Iterator[Event]:
        """All events in order."""
        rows = self._connection.execute("SELECT seq, at, rater, kind, body FROM turnwise_events ORDER BY seq")
        return (Event(seq, at, rater, kind, msgspec.json.decode(body)) for seq, at, rater, kind, body in rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
