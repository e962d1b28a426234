"""Records events: applies each event to the ledger at once, and stores it in the log from a second thread.

Requests change the ledger only on the thread of the event loop, so no request sees a half-done change. The second
thread writes all events that have gathered since its last write in one transaction, so hundreds of raters can save at
the same time. A request is acknowledged after its events are on disk. If a write fails, the ledger is ahead of the
log, and every further request is refused.
"""

import asyncio
import queue
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from turnwise.errors import TurnwiseError
from turnwise.web.storage.events import Event, Kind
from turnwise.web.storage.log import Log
from turnwise.web.study.ledger import Ledger

_Callback = Callable[[], object]  # called when all events before it were written or failed


class Recorder:
    """A ledger with the log that stores its events."""

    def __init__(
        self, store: str, ledger: Ledger, log: Log, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.store = store
        self.ledger = ledger
        self.clock = clock
        self.write_error: Exception | None = None
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
        token = secrets.token_urlsafe(24)
        self.record("rater", name, token=token)
        return token

    def close(self) -> None:
        """Write what is left, and close the log."""
        self._queue.put(None)
        self._thread.join()
        self._log.close()

    def _write(self) -> None:
        """Write queued events in batches until `close` is called; after a failed write nothing more is written.

        Runs in the second thread.
        """
        closing = False
        while not closing:
            batch = [self._queue.get()]
            while True:
                try:
                    batch.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            closing = None in batch
            events = [one for one in batch if isinstance(one, Event)]
            try:
                if events and self.write_error is None:
                    self._log.append(events)
            except Exception as error:  # any error: events that were not written must not be acknowledged
                self.write_error = error
            for one in batch:
                if one is not None and not isinstance(one, Event):
                    one()

    def _check(self) -> None:
        """Raise `TurnwiseError` if a write has failed."""
        if self.write_error is not None:
            raise TurnwiseError(f"answers cannot be stored: {self.write_error}")
