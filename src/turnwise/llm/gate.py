"""Holds requests back: while a server asks to wait, and so that no more are sent in a minute than are allowed."""

from threading import Event, Lock
from time import monotonic


class Gate:
    """The gate before a server, which all threads that ask it share."""

    def __init__(self, per_minute: float | None = None) -> None:
        self._spacing = 60.0 / per_minute if per_minute else 0.0
        self._open_at = self._next = 0.0
        self._lock = Lock()

    def close(self, seconds: float) -> None:
        """Let no request pass for this long."""
        with self._lock:
            self._open_at = max(self._open_at, monotonic() + seconds)

    def wait(self, until: float, stop: Event) -> None:
        """Wait until a request may be sent, at most to the time `until` or until `stop` is set.

        Requests are sent one after the other with an equal distance, so no burst goes beyond the rate.
        """
        with self._lock:
            turn = max(self._open_at, self._next, monotonic())
            self._next = turn + self._spacing if self._spacing else self._next
        if (left := min(turn, until) - monotonic()) > 0:
            stop.wait(left)
