"""The event log: the interface of the SQLite and the PostgreSQL log, and the choice between them.

Only one server may write a log at a time: it computes who gets which task from a state in memory. A second one is
refused when it starts. Should the lock fail (a file system without locks), events are still never mixed: the server
numbers the events, the number is the primary key, and the slower of two servers gets an error.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from turnwise.errors import DataError, MissingExtra, TurnwiseError
from turnwise.web.storage.events import Event


class LogConflict(TurnwiseError):
    """The error of a server on whose log another server writes."""

    def __init__(self, store: str) -> None:
        super().__init__(
            f"{store}: another server writes to this store; stop this server. No acknowledged answer is lost"
        )


def other_server(store: str, owner: str) -> DataError:
    """The error of a second server on the same store."""
    return DataError(
        f"{store}: {owner} writes to this store already. One server serves one study: several behind one address would"
        " give the same task to too many raters. Stop the other one, or give another --store"
    )


@dataclass(frozen=True, slots=True)
class Redaction:
    """What replaces the content of a stored event."""

    seq: int
    rater: str
    body: Mapping[str, Any]


class Log(Protocol):
    """An append-only list of events on disk."""

    def append(self, events: Sequence[Event], /) -> None:
        """Store all events or none. Afterwards they survive a crash of the process and of the machine."""
        ...

    def redact(self, redactions: Sequence[Redaction], /) -> None:
        """Replace the rater and the body of these events, all or none; their numbers, times and kinds stay."""
        ...

    def replay(self) -> Iterator[Event]:
        """All events in order."""
        ...

    def close(self) -> None:
        """Release the file or the connection."""
        ...


def without_credentials(store: str) -> str:
    """The store for messages: an address without user name, password and options; a file path as it is."""
    scheme, sign, rest = store.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if sign else store


def open_log(store: str, *, writable: bool = True) -> Log:
    """Open the log in an SQLite file, or at a `postgresql://` address; a new log is made if `writable`.

    Raises `DataError` if it cannot be opened, or does not exist and is not `writable`; `MissingExtra` without the
    PostgreSQL driver.
    """
    if store.startswith(("postgresql://", "postgres://")):
        try:
            from turnwise.web.storage.postgres import PostgresLog
        except ModuleNotFoundError:
            raise MissingExtra("a log in PostgreSQL", "postgres") from None
        return PostgresLog(store, writable=writable)
    from turnwise.web.storage.sqlite import SqliteLog

    return SqliteLog(store, writable=writable)
