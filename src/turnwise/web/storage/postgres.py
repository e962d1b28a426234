"""The event log in a PostgreSQL database: one study per database, or per schema (`options` of the address).

A lost connection is opened again while raters wait. The events that were being written may or may not be stored, so
they are written again. If their numbers are taken, a comparison with the stored rows tells whether these are the same
events or those of another server. One server writes to a database: it holds an advisory lock, which ends with its
connection.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import psycopg

from turnwise.errors import DataError
from turnwise.web.storage.events import Event
from turnwise.web.storage.log import LogConflict, Redaction, other_server, without_credentials

_SCHEMA = """
CREATE TABLE IF NOT EXISTS turnwise_events (
    seq BIGINT PRIMARY KEY,
    at DOUBLE PRECISION NOT NULL,
    rater TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE OR REPLACE FUNCTION turnwise_events_stay() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'events are only ever added'; END $$;
CREATE OR REPLACE TRIGGER turnwise_events_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON turnwise_events
    EXECUTE FUNCTION turnwise_events_stay();
"""
RECONNECT_SECONDS = 30.0  # seconds that a write waits for a lost database
RETRY_SECONDS = 0.5  # seconds between two attempts to connect
LOCK_SECONDS = 5.0  # seconds that a server waits for the lock of one that was just killed
# The key of the lock is the table of this study, so that studies in different schemas do not lock each other out.
_LOCK = "SELECT pg_try_advisory_lock(hashtext('turnwise'), 'turnwise_events'::regclass::oid::int)"


class PostgresLog:
    """The event log in a PostgreSQL database."""

    def __init__(self, address: str, *, writable: bool = True) -> None:
        self._address, self._store = address, without_credentials(address)
        try:
            self._connection = psycopg.connect(address, autocommit=True)
            table_exists = self._connection.execute(
                "SELECT to_regclass('turnwise_events') IS NOT NULL"
            ).fetchone()
            if table_exists == (False,) and writable:
                self._connection.execute(_SCHEMA)
        except psycopg.Error as error:
            raise DataError(f"{self._store}: {error}".strip()) from None
        if table_exists == (False,) and not writable:
            self._connection.close()
            raise DataError(f"{self._store}: there are no ratings yet")
        if writable and not self._locked():
            self._connection.close()
            raise other_server(self._store, "another server")

    def _locked(self) -> bool:
        """Take the lock of the writing server, and return whether it was free."""
        deadline = time.monotonic() + LOCK_SECONDS
        while self._connection.execute(_LOCK).fetchone() != (True,):
            if time.monotonic() > deadline:
                return False
            time.sleep(RETRY_SECONDS)
        return True

    def append(self, events: Sequence[Event], /) -> None:
        """Store all events or none; a lost connection is opened again for up to 30 seconds.

        Raises `LogConflict` if other events have their numbers, and psycopg's error if the database stays away.
        """
        rows = [(e.seq, e.at, e.rater, e.kind, msgspec.json.encode(e.body).decode()) for e in events]
        deadline = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                if self._connection.closed:
                    self._connection = psycopg.connect(self._address, autocommit=True)
                    if not self._locked():
                        raise LogConflict(self._store)
                self._insert(rows)
                return
            except psycopg.errors.UniqueViolation:
                if self._is_stored(rows[-1]):
                    return
                raise LogConflict(self._store) from None
            except psycopg.OperationalError:
                if not self._connection.closed or time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)

    def _insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert all rows in one transaction."""
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany("INSERT INTO turnwise_events VALUES (%s, %s, %s, %s, %s)", rows)

    def _is_stored(self, row: tuple[Any, ...]) -> bool:
        """Whether exactly this event is stored; then all events of its transaction are."""
        query = "SELECT seq, at, rater, kind, body FROM turnwise_events WHERE seq = %s"
        return self._connection.execute(query, row[:1]).fetchone() == row

    def redact(self, redactions: Sequence[Redaction], /) -> None:
        """Replace the rater and the body of these events in one transaction.

        The old rows stay on disk until the database is vacuumed, and in its backups.
        """
        rows = [(one.rater, msgspec.json.encode(one.body).decode(), one.seq) for one in redactions]
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute("ALTER TABLE turnwise_events DISABLE TRIGGER turnwise_events_keep")
            cursor.executemany("UPDATE turnwise_events SET rater = %s, body = %s WHERE seq = %s", rows)
            cursor.execute("ALTER TABLE turnwise_events ENABLE TRIGGER turnwise_events_keep")

    def replay(self) -> Iterator[Event]:
        """All events in order."""
        rows = self._connection.execute("SELECT seq, at, rater, kind, body FROM turnwise_events ORDER BY seq")
        return (Event(seq, at, rater, kind, msgspec.json.decode(body)) for seq, at, rater, kind, body in rows)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
