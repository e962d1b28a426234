"""The ledger and the log together: an event counts at once, and is acknowledged when it is on disk.

Requests change the ledger on the event loop's one thread, so none sees another half done. A second thread
writes: whatever has gathered while it was busy goes in one transaction, which is what lets hundreds of people
save at the same time. If a write fails the ledger is ahead of the log, and every further request is refused.
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

_Waiting = Callable[[], object]  # called when everything before it was written, or could not be


class Book:
    def __init__(
        self, place: str, ledger: Ledger, log: Log, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.place = place
        self.ledger = ledger
        self.clock = clock
        self.broken: Exception | None = None
        self._log = log
        self._queue: queue.SimpleQueue[Event | _Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def note(self, kind: Kind, rater: str = "", **body: Any) -> None:
        """An event happens. It is safe after `settled`."""
        event = Event(self.ledger.seq + 1, round(self.clock(), 3), rater, kind, body)
        self.ledger.apply(event)
        self._queue.put(event)

    async def settled(self) -> None:
        """Returns when everything noted so far is on disk; raises where it cannot be."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        self._queue.put(lambda: loop.is_closed() or loop.call_soon_threadsafe(done.set))
        await done.wait()
        self._check()

    def flush(self) -> None:
        """`settled` for those who are not in an event loop."""
        done = threading.Event()
        self._queue.put(done.set)
        done.wait()
        self._check()

    def invite(self, name: str) -> str:
        """A new rater's secret."""
        token = secrets.token_urlsafe(24)
        self.note("rater", name, token=token)
        return token

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()
        self._log.close()

    def _write(self) -> None:
        over = False
        while not over:
            batch = [self._queue.get()]
            while True:
                try:
                    batch.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            over = None in batch
            events = [one for one in batch if isinstance(one, Event)]
            try:
                if events and self.broken is None:
                    self._log.append(events)
            except Exception as error:  # of whatever kind: what was not written must not be acknowledged
                self.broken = error
            for one in batch:
                if one is not None and not isinstance(one, Event):
                    one()

    def _check(self) -> None:
        if self.broken is not None:
            raise TurnwiseError(f"answers cannot be stored: {self.broken}")
