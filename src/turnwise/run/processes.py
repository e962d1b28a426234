"""Worker processes of this machine: each has a pipe of its own, so that what befalls one touches nobody else's work.

A pool of processes that share one queue (`concurrent.futures`) hangs when one of them is killed at a bad moment: in the
middle of an answer, of which the rest is then awaited for ever; or while another is being started, which is then
neither ended nor listened to. Here the end of a process is the end of its pipe, at whatever moment it comes, and the
thread that waits at the other end starts another and asks again.
"""

import atexit
import logging
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from turnwise.run.execute import TRIES, Outcome, WorkersLost

log = logging.getLogger(__name__)
LOST = (EOFError, OSError)  # what a pipe says of a process that is gone, between messages or within one


class Crew:
    """Threads, each with a process to itself, to which it gives one task after the other.

    They pass on bytes and do no more: tasks are packed before and answers unpacked after, while processes are at work.
    """

    def __init__(self, size: int, function: Callable[[Any, Any], Any], shared: Any) -> None:
        self._work = function, shared
        self._threads = ThreadPoolExecutor(size)
        self._own = threading.local()  # of each thread: its process
        self._all: list[_Process] = []
        self._ended = False
        self._lock = threading.Lock()  # no process is started once the crew has ended
        atexit.register(self.end, at_work=True)  # Python would wait for the processes, and they for tasks

    def submit(self, task: Any) -> Future[bytes]:
        """The answer, for `unpacked`."""
        return self._threads.submit(self._answer, pickle.dumps(task))

    def end(self, *, at_work: bool) -> None:
        """Processes that wait for tasks leave by themselves; those at work are stopped, as nobody wants it any more."""
        atexit.unregister(self.end)
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._ended = True
            if at_work:
                for process in self._all:
                    process.kill()
        self._threads.shutdown()
        for process in self._all:
            process.close()

    def _answer(self, task: bytes) -> bytes:
        for left in reversed(range(TRIES)):
            process = self._process()
            try:
                return process.ask(self._work, task)
            except LOST:
                self._dismiss(process)
                if left and not self._ended:
                    log.warning("a worker was lost; what it had is done again")
        raise WorkersLost

    def _process(self) -> "_Process":
        """That of this thread."""
        if not hasattr(self._own, "process"):
            with self._lock:
                if self._ended:
                    raise WorkersLost
                self._own.process = _Process()
                self._all.append(self._own.process)
        return self._own.process  # type: ignore[no-any-return]  # a local of a thread has no types

    def _dismiss(self, process: "_Process") -> None:
        """One that was lost."""
        with self._lock:
            self._all.remove(process)
        del self._own.process
        process.kill()  # it does not answer, but may not be gone
        process.close()


def unpacked(answer: bytes) -> Outcome[Any]:
    """What came of a task; raises what the work raised and nobody has foreseen."""
    found: Outcome[Any] | Exception = pickle.loads(answer)  # noqa: S301  # written by a process of ours
    if isinstance(found, Exception):
        raise found
    return found


class _Process:
    """A worker, seen from here."""

    def __init__(self) -> None:
        # Spawned, not forked: a fork of a process that holds threads (BLAS, torch) can hang.
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,))
        self._process.start()
        theirs.close()  # so that theirs is the only one, and ends with them
        self._knows = False

    def ask(self, work: tuple[Callable[[Any, Any], Any], Any], task: bytes) -> bytes:
        """The answer to a task. The function and what all tasks need go before the first."""
        if not self._knows:
            self._pipe.send_bytes(pickle.dumps(work))
            self._knows = True
        self._pipe.send_bytes(task)
        return self._pipe.recv_bytes()

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._pipe.close()
        self._process.join()


def _serve(pipe: "Connection[Any, Any]") -> None:
    """The life of a worker: what all tasks need, then a task and its answer, until nobody asks any more."""
    # ^C reaches all processes, and the parent says what becomes of them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    with suppress(EOFError):
        held = pipe.recv_bytes()
        work: tuple[Callable[[Any, Any], Any], Any] | None = None
        while True:
            task = pipe.recv_bytes()
            try:
                if work is None:
                    work, held = pickle.loads(held), b""  # noqa: S301  # written by our parent
                function, shared = work
                answer = pickle.dumps(Outcome.of(function, shared, pickle.loads(task)))  # noqa: S301  # as is this
            except Exception as error:
                answer = _portable(error)
            pipe.send_bytes(answer)


def _portable(error: Exception) -> bytes:
    """An error that nobody has foreseen, with where it arose; in words alone where it cannot travel as it is."""
    where = "".join(traceback.format_exception(error))
    error.add_note(where)
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # noqa: S301  # ours
    except Exception:
        return pickle.dumps(RuntimeError(where))
    return data


def _follow_parent() -> None:
    """A parent that was killed wants no answer, and a worker may be long at work on one."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
