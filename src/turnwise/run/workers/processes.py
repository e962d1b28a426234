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
import time
import traceback
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from typing import Any

from turnwise.errors import out_of_memory
from turnwise.run.workers.execute import TRIES, Outcome, OutOfMemory, WorkersLost

log = logging.getLogger(__name__)
LOST = (EOFError, OSError)  # what a pipe says of a process that is gone, between messages or within one
LEAVE = 10.0  # seconds for a process to leave by itself
_packed = partial(pickle.dumps, protocol=5)  # which copies an array once, where the default does twice


class Crew:
    """Threads, each with a worker to itself, to which it gives one task after the other.

    They pass on bytes and do no more: tasks are packed before and answers unpacked after, while processes are at work.
    A stream that nobody holds any more may be ended by the garbage collector, in whatever thread that runs, so that
    nothing here waits for a lock, and no thread of the crew for another.
    """

    def __init__(self, size: int, function: Callable[[Any, Any], Any], shared: Any) -> None:
        work = _packed((function, shared))
        self._workers = [_Worker(work) for _ in range(size)]
        self._tasks: SimpleQueue[tuple[bytes, Future[bytes]] | None] = SimpleQueue()
        # Daemons, as Python waits for all other threads before it calls who wants to be called at its end.
        self._threads = [
            threading.Thread(target=self._pass_on, args=(worker,), daemon=True) for worker in self._workers
        ]
        atexit.register(self.end, at_work=True)  # Python would wait for the processes, and they for tasks
        for thread in self._threads:
            thread.start()

    def submit(self, task: Any) -> Future[bytes]:
        """The answer, for `unpacked`."""
        future: Future[bytes] = Future()
        self._tasks.put((_packed(task), future))
        return future

    def end(self, *, at_work: bool) -> None:
        """Processes that wait for tasks leave by themselves; those at work are stopped, as nobody wants it any more."""
        atexit.unregister(self.end)
        for worker in self._workers:
            if at_work:
                worker.stop()
            self._tasks.put(None)
        if threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join()

    def _pass_on(self, worker: "_Worker") -> None:
        for task, future in iter(self._tasks.get, None):
            try:
                future.set_result(worker.answer(task))
            except BaseException as error:  # raised where the answer is awaited
                future.set_exception(error)
        worker.leave()


def unpacked(answer: bytes) -> Outcome[Any]:
    """What came of a task; raises what the work raised and nobody has foreseen, from the words that say where."""
    found: Outcome[Any] | tuple[BaseException, str] = pickle.loads(answer)  # noqa: S301  # by a process of ours
    if isinstance(found, Outcome):
        return found
    error, where = found
    try:
        raise error from RuntimeError(where)
    finally:
        del error, found  # which would hold this frame, and it them


class _Worker:
    """A worker, seen from here: a process, and another in its place where one is lost.

    One thread asks it; any may stop it.
    """

    def __init__(self, work: bytes) -> None:
        self._work = work  # the function and what all tasks need, which go before the first task
        self._process: SpawnProcess | None = None
        self._stopped = False

    def answer(self, task: bytes) -> bytes:
        for left in reversed(range(TRIES)):
            begins = self._process is None
            if begins and not self._stopped:
                self._start()
            if self._stopped:  # perhaps since: who stops us says so first, and then looks for a process
                raise CancelledError
            try:
                if begins:
                    self._pipe.send_bytes(self._work)
                self._pipe.send_bytes(task)
                return self._pipe.recv_bytes()
            except LOST:
                code = self.leave()
                if left and not self._stopped:
                    log.warning("a worker was lost; what it had is done again")
        how = f"exit code {code}" if code is None or code >= 0 else f"killed by signal {-code}"
        raise WorkersLost(how, starved=code == -signal.SIGKILL)  # as the kernel does where memory runs out

    def stop(self) -> None:
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def leave(self) -> int | None:
        """The exit code of the process, which had some time to leave unless it was stopped."""
        process, self._process = self._process, None
        if process is None:
            return None
        self._pipe.close()
        until = time.monotonic() + LEAVE
        # Asked for again and again: children of its own may hold all else that tells its end.
        while process.exitcode is None and not self._stopped and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.join()
        return process.exitcode

    def _start(self) -> None:
        # Spawned, not forked: a fork of a process that holds threads (BLAS, torch) can hang.
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,))
        process.start()
        theirs.close()  # so that theirs is the only one, and ends with them
        self._process = process


def _serve(pipe: "Connection[Any, Any]") -> None:
    """The life of a worker: what all tasks need, then a task and its answer, until nobody asks any more."""
    # ^C reaches all processes, and the parent says what becomes of them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.register_at_fork(after_in_child=pipe.close)  # a child that outlives us would hold it open
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
                answer = _packed(Outcome.of(function, shared, pickle.loads(task)))  # noqa: S301  # as is this
            except BaseException as error:  # whatever the work may raise is its answer
                answer = _portable(error)
            pipe.send_bytes(answer)


def _portable(error: BaseException) -> bytes:
    """An error that nobody has foreseen, and where it arose; in words alone where it cannot travel as it is."""
    if out_of_memory(error):  # while a task or an answer was packed
        return _packed(Outcome.failed(OutOfMemory(str(error))))
    where = "".join(traceback.format_exception(error))
    try:
        data = _packed((error, where))
        pickle.loads(data)  # noqa: S301  # ours
    except Exception:
        return _packed((RuntimeError("".join(traceback.format_exception_only(error)).strip()), where))
    return data


def _follow_parent() -> None:
    """A parent that was killed wants no answer, and a worker may be long at work on one."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
