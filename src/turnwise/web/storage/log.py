"""Where events are kept: a protocol that SQLite and PostgreSQL both meet, and the choice between them.

A log is written by one server at a time. Events are numbered by the server and the number is the key, so
that of two servers on one log the slower one is refused instead of being mixed in.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from turnwise.errors import MissingExtra, TurnwiseError
from turnwise.web.storage.events import Event


class Overtaken(TurnwiseError):
    """Another server writes to the same log."""

    def __init__(self, place: str) -> None:
        super().__init__(f"{place}: another server writes here; stop this one, nothing acknowledged is lost")


class Log(Protocol):
    def append(self, events: Sequence[Event], /) -> None:
        """All of them or none; when this returns they survive a crash of the process and of the machine."""
        ...

    def replay(self) -> Iterator[Event]: ...

    def close(self) -> None: ...


def shown(place: str) -> str:
    """The place as it may be told: an address without who logs in, and with what password."""
    scheme, sign, rest = place.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if sign else place


def opened(place: str, *, writable: bool = True) -> Log:
    """The log at a path, or at a `postgresql://` address."""
    if place.startswith(("postgresql://", "postgres://")):
        try:
            from turnwise.web.storage.postgres import PostgresLog
        except ModuleNotFoundError:
            raise MissingExtra("a log in PostgreSQL", "postgres") from None
        return PostgresLog(place, writable=writable)
    from turnwise.web.storage.sqlite import SqliteLog

    return SqliteLog(place, writable=writable)
