"""The event log in an SQLite file, in write-ahead mode, so that exports can read while raters write.

One server writes to a file: it holds a lock on `FILE.lock`, which ends with the process, also with `kill -9`.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from turnwise.errors import DataError
from turnwise.web.storage.events import Event
from turnwise.web.storage.log import LogConflict, Redaction, other_server

if sys.platform != "win32":
    import fcntl

_TRIGGERS = """
CREATE TRIGGER IF NOT EXISTS events_keep BEFORE UPDATE ON turnwise_events
    BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE DELETE ON turnwise_events
    BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
"""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS turnwise_events (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    rater TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
{_TRIGGERS}
"""
LOCK_SECONDS = 10.0  # seconds that a write waits for the lock of a backup or another program


class SqliteLog:
    """The event log in an SQLite file."""

    def __init__(self, path: str, *, writable: bool = True) -> None:
        self._path = path
        self._lock: int | None = None
        if not os.path.exists(path):
            if not writable:
                raise DataError(f"{path}: there are no ratings yet")
            os.close(os.open(path, os.O_CREAT, 0o600))  # private, because it has the raters' links
        if writable:
            self._lock = _locked(path)
        # One connection, used by one thread at a time: first the thread that replays, then the writing thread.
        try:
            self._connection = sqlite3.connect(
                path, timeout=LOCK_SECONDS, check_same_thread=False, isolation_level=None
            )
        except sqlite3.OperationalError as error:
            self._unlock()
            raise DataError(f"{path}: is no file of ratings: {error}") from None
        try:
            if writable:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=FULL")
                self._connection.execute("PRAGMA secure_delete=ON")  # what is redacted is overwritten
                self._connection.executescript(_SCHEMA)
            else:
                self._connection.execute("SELECT seq FROM turnwise_events LIMIT 1")
        except sqlite3.DatabaseError as error:
            self.close()
            raise DataError(f"{path}: is no file of ratings: {error}") from None

    def append(self, events: Sequence[Event], /) -> None:
        """Store all events or none, in one transaction; events that are stored already are not stored again.

        Raises `LogConflict` if other events have their numbers, and SQLite's error, such as that of a full disk.
        """
        rows = [(e.seq, e.at, e.rater, e.kind, msgspec.json.encode(e.body).decode()) for e in events]
        try:
            with self._transaction():
                self._connection.executemany("INSERT INTO turnwise_events VALUES (?, ?, ?, ?, ?)", rows)
        except sqlite3.IntegrityError:
            query = "SELECT seq, at, rater, kind, body FROM turnwise_events WHERE seq = ?"
            if self._connection.execute(query, rows[-1][:1]).fetchone() != rows[-1]:
                raise LogConflict(self._path) from None

    def redact(self, redactions: Sequence[Redaction], /) -> None:
        """Replace the rater and the body of these events, and overwrite the old content on disk."""
        with self._transaction():
            self._connection.execute("DROP TRIGGER IF EXISTS events_keep")
            self._connection.executemany(
                "UPDATE turnwise_events SET rater = ?, body = ? WHERE seq = ?",
                [(one.rater, msgspec.json.encode(one.body).decode(), one.seq) for one in redactions],
            )
            for statement in _TRIGGERS.split("END;")[:-1]:
                self._connection.execute(f"{statement}END;")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """A transaction that is undone after any error."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk may have undone it already
                self._connection.execute("ROLLBACK")
            raise

    def replay(self) -> Iterator[Event]:
        """All events in order."""
        rows = self._connection.execute("SELECT seq, at, rater, kind, body FROM turnwise_events ORDER BY seq")
        return (Event(seq, at, rater, kind, msgspec.json.decode(body)) for seq, at, rater, kind, body in rows)

    def close(self) -> None:
        """Close the file, so that another server may write to it."""
        self._connection.close()
        self._unlock()

    def _unlock(self) -> None:
        """Release the lock of the writing server."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(path: str) -> int:
    """Lock `path`.lock for this process and return the file; raises `DataError` if another process has it."""
    file = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if sys.platform != "win32":  # elsewhere the numbers of the events alone keep two servers apart
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(file, 100).decode("utf-8", "replace").strip()
        os.close(file)
        raise other_server(path, f"process {owner}" if owner else "another process") from None
    os.truncate(file, 0)
    os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
    return file
