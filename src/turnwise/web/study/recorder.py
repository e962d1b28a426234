"""Records events: applies each event to the ledger at once, and stores it in the log from a second thread.

Requests change the ledger only on the thread of the event loop, so no request sees a half-done change. The second
thread writes all events that have gathered since its last write in one transaction, so hundreds of raters can save at
the same time. A request is acknowledged after its events are on disk. If a write fails, the ledger is ahead of the
log: requests that change something are refused, and the write is tried again until it succeeds. What was not
acknowledged may then be stored after all, as after a crash. Only events of another server in the log end the writing.
"""

import asyncio
import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from turnwise.errors import TurnwiseError
from turnwise.web.storage.events import Event, Kind
from turnwise.web.storage.log import Log, LogConflict, Redaction
from turnwise.web.study.ledger import Ledger

_Callback = Callable[[], object]  # called when all events before it were written or failed
RETRY_SECONDS = 1.0  # seconds between two attempts to write


class Recorder:
    """A ledger with the log that stores its events."""

    def __init__(
        self, store: str, ledger: Ledger, log: Log, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.store = store
        self.ledger = ledger
        self.clock = clock
        self.write_error: Exception | None = None  # of the last write; None after a successful one
        self._log = log
        self._queue: queue.SimpleQueue[Event | _Callback | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def record(self, kind: Kind, rater: str = "", **body: Any) -> None:
        """Apply an event to the ledger at once and queue it for the log; it is on disk after `wait_until_stored`."""
        event = Event(self.ledger.seq + 1, round(self.clock(), 3), rater, kind, body)
        self.ledger.apply(event)
        self._queue.put(event)

    async def wait_until_stored(self) -> None:
        """Wait until all events recorded so far are on disk; raises `TurnwiseError` if a write has failed."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        self._queue.put(lambda: loop.is_closed() or loop.call_soon_threadsafe(done.set))
        await done.wait()
        self._check()

    def flush(self) -> None:
        """`wait_until_stored` for callers outside an event loop."""
        done = threading.Event()
        self._queue.put(done.set)
        done.wait()
        self._check()

    def invite(self, name: str) -> str:
        """Invite a rater and return the token of the rater's link."""
        token = new_token()
        self.record("rater", name, token=token)
        return token

    def redact(self, redactions: Sequence[Redaction]) -> None:
        """Replace the content of stored events; raises the log's error. Call it after `wait_until_stored`."""
        failed: list[Exception] = []
        done = threading.Event()

        def work() -> None:
            """Redact on the thread that writes, which alone may use the log."""
            try:
                self._log.redact(redactions)
            except Exception as error:  # passed on to the caller
                failed.append(error)
            done.set()

        self._queue.put(work)
        done.wait()
        if failed:
            raise TurnwiseError(f"events cannot be redacted: {failed[0]}") from failed[0]

    def close(self) -> None:
        """Write what is left, and close the log."""
        self._queue.put(None)
        self._thread.join()
        self._log.close()

    def _write(self) -> None:
        """Write queued events in batches until `close` is called; a batch that failed is tried again.

        Runs in the second thread.
        """
        unwritten: list[Event] = []
        closing = False
        while not closing:
            batch = self._next_batch(RETRY_SECONDS if unwritten else None)
            closing = None in batch
            unwritten += [one for one in batch if isinstance(one, Event)]
            if unwritten and not isinstance(self.write_error, LogConflict):
                try:
                    self._log.append(unwritten)
                except Exception as error:  # any error: events that were not written must not be acknowledged
                    self.write_error = error
                else:
                    self.write_error = None
                    unwritten = []
            for one in batch:
                if one is not None and not isinstance(one, Event):
                    one()

    def _next_batch(self, seconds: float | None) -> list[Event | _Callback | None]:
        """All that is queued, at least one; empty if nothing comes within `seconds`."""
        batch: list[Event | _Callback | None] = []
        try:
            batch.append(self._queue.get(timeout=seconds))
            while True:
                batch.append(self._queue.get_nowait())
        except queue.Empty:
            return batch

    def _check(self) -> None:
        """Raise `TurnwiseError` if a write has failed."""
        if self.write_error is not None:
            raise TurnwiseError(f"answers cannot be stored: {self.write_error}")


def new_token() -> str:
    """A random token of a link, of 192 bits."""
    return secrets.token_urlsafe(24)
