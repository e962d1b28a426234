"""The log in a PostgreSQL database, one study a database (or a schema, by the address's `options`).

A connection that is lost is made anew, and raters wait meanwhile. What was being written then may be there or
not: it is written again, and if its number is taken, by itself or by another server's event, the log tells which.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import psycopg

from turnwise.errors import DataError
from turnwise.web.storage.events import Event
from turnwise.web.storage.log import Overtaken, shown

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
PATIENCE = 30.0  # seconds that a write waits for the database to come back
PAUSE = 0.5  # seconds between two attempts


class PostgresLog:
    def __init__(self, address: str, *, writable: bool = True) -> None:
        self._address, self._place = address, shown(address)
        try:
            self._connection = psycopg.connect(address, autocommit=True)
            there = self._connection.execute("SELECT to_regclass('turnwise_events') IS NOT NULL").fetchone()
            if there == (False,) and writable:
                self._connection.execute(_SCHEMA)
        except psycopg.Error as error:
            raise DataError(f"{self._place}: {error}".strip()) from None
        if there == (False,) and not writable:
            self._connection.close()
            raise DataError(f"{self._place}: there are no ratings yet")

    def append(self, events: Sequence[Event], /) -> None:
        rows = [(e.seq, e.at, e.rater, e.kind, msgspec.json.encode(e.body).decode()) for e in events]
        until, lost = time.monotonic() + PATIENCE, False
        while True:
            try:
                if self._connection.closed:
                    lost = True
                    self._connection = psycopg.connect(self._address, autocommit=True)
                self._insert(rows)
                return
            except psycopg.errors.UniqueViolation:
                if lost and self._holds(rows[-1]):
                    return
                raise Overtaken(self._place) from None
            except psycopg.OperationalError:
                if not self._connection.closed or time.monotonic() > until:
                    raise
                time.sleep(PAUSE)

    def _insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany("INSERT INTO turnwise_events VALUES (%s, %s, %s, %s, %s)", rows)

    def _holds(self, row: tuple[Any, ...]) -> bool:
        """Whether this very event is there, and with it all of its transaction."""
        query = "SELECT seq, at, rater, kind, body FROM turnwise_events WHERE seq = %s"
        return self._connection.execute(query, row[:1]).fetchone() == row

    def replay(self) -> Iterator[Event]:
        rows = self._connection.execute("SELECT seq, at, rater, kind, body FROM turnwise_events ORDER BY seq")
        return (Event(seq, at, rater, kind, msgspec.json.decode(body)) for seq, at, rater, kind, body in rows)

    def close(self) -> None:
        self._connection.close()
