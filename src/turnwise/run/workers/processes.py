"""Worker processes on this machine. Each has its own pipe, so the loss of one does not affect the others.

A pool whose processes share one queue (`concurrent.futures`) hangs when one of them is killed at a bad moment: while it
sends a result, because the rest is then awaited for ever; or while another process starts, because that one is then
neither ended nor read from. Here the pipe of a process ends when the process ends, at any moment. The thread that waits
at the other end then starts another process and sends the task again.
"""

import atexit
import logging
import os
import pickle
import signal
import sys
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
from turnwise.run.workers.heap import keep_freed_memory
from turnwise.run.workers.threads import limited_threads

log = logging.getLogger(__name__)
LOST = (EOFError, OSError)  # raised by a pipe whose process has ended, between messages or within one
EXIT_TIMEOUT = 10.0  # seconds for a process to exit by itself
_packed = partial(pickle.dumps, protocol=5)  # copies an array once; the default protocol copies it twice


class ProcessPool:
    """A pool of worker processes. Each has a thread that sends it one task after the other.

    The threads only pass bytes on: tasks are pickled before and results unpickled after, while the processes run. The
    garbage collector may end an abandoned stream in any thread. So nothing here waits for a lock, and no thread of the
    pool waits for another one.
    """

    def __init__(self, size: int, function: Callable[[Any, Any], Any], shared: Any) -> None:
        work = _packed((function, shared))
        self._workers = [_Worker(work) for _ in range(size)]
        self._tasks: SimpleQueue[tuple[bytes, Future[bytes]] | None] = SimpleQueue()
        # Daemons: Python waits for all other threads before it calls the functions registered with atexit.
        self._threads = [
            threading.Thread(target=self._pass_on, args=(worker,), daemon=True) for worker in self._workers
        ]
        atexit.register(
            self.end, at_work=True
        )  # else Python waits for the processes, and they wait for tasks
        for thread in self._threads:
            thread.start()

    def submit(self, task: Any) -> Future[bytes]:
        """Queue a task. The future's bytes are for `unpacked`."""
        future: Future[bytes] = Future()
        self._tasks.put((_packed(task), future))
        return future

    def end(self, *, at_work: bool) -> None:
        """End the processes. With `at_work` they are killed, because their results are not needed; else they exit."""
        atexit.unregister(self.end)
        for worker in self._workers:
            if at_work:
                worker.stop()
            self._tasks.put(None)
        if threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join()

    def _pass_on(self, worker: "_Worker") -> None:
        """Send queued tasks to `worker` until the queue gives None, then end it."""
        for task, future in iter(self._tasks.get, None):
            try:
                future.set_result(worker.do(task))
            except BaseException as error:  # raised where the result is awaited
                future.set_exception(error)
        worker.leave()


def unpacked(packed: bytes) -> Outcome[Any]:
    """The outcome of a task. An unexpected exception of the task is raised here, with its traceback as the cause."""
    found: Outcome[Any] | tuple[BaseException, str] = pickle.loads(packed)  # noqa: S301  # written by our worker
    if isinstance(found, Outcome):
        return found
    error, where = found
    try:
        raise error from RuntimeError(where)
    finally:
        del error, found  # a reference cycle with this frame


class _Worker:
    """The parent's side of a worker: a process, and its replacement when it is lost.

    One thread sends it tasks; any thread may stop it.
    """

    def __init__(self, work: bytes) -> None:
        self._work = work  # the function and the shared data, sent before the first task
        self._process: SpawnProcess | None = None
        self._stopped = False

    def do(self, task: bytes) -> bytes:
        """The result of a task. A lost process is replaced; after `TRIES` losses it raises `WorkersLost`.

        Raises `CancelledError` if the worker was stopped.
        """
        for left in reversed(range(TRIES)):
            begins = self._process is None
            if begins and not self._stopped:
                self._start()
            if (
                self._stopped
            ):  # `stop` may have run meanwhile: it sets the flag first and then kills the process
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
        raise WorkersLost(
            how, starved=code == -signal.SIGKILL
        )  # the kernel sends SIGKILL when memory runs out

    def stop(self) -> None:
        """Kill the process, and start no other."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def leave(self) -> int | None:
        """End the process and return its exit code; None if there is no process.

        It has `EXIT_TIMEOUT` to exit, unless it was stopped; then it is killed.
        """
        process, self._process = self._process, None
        if process is None:
            return None
        self._pipe.close()
        until = time.monotonic() + EXIT_TIMEOUT
        # Polled: children of the process may keep its sentinel and its pipe open.
        while process.exitcode is None and not self._stopped and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.join()
        return process.exitcode

    def _start(self) -> None:
        """Start the process and open its pipe."""
        # Spawned, not forked: a fork of a process with threads (BLAS, torch) can hang.
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,))
        process.start()
        theirs.close()  # so that the worker has the only copy, which is closed when it ends
        self._process = process


def _serve(pipe: "Connection[Any, Any]") -> None:
    """The main function of a worker: receives the shared data, then tasks until the pipe is closed."""
    # ^C reaches all processes; the parent decides when the workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.register_at_fork(after_in_child=pipe.close)  # a child that outlives this process would keep it open
    threading.Thread(target=_follow_parent, daemon=True).start()
    sys.stdout = sys.stderr  # standard output is for results; plugins that are unpickled here may print
    keep_freed_memory()
    with limited_threads(), suppress(EOFError):
        held = pipe.recv_bytes()
        work: tuple[Callable[[Any, Any], Any], Any] | None = None
        while True:
            task = pipe.recv_bytes()
            try:
                if work is None:
                    work, held = pickle.loads(held), b""  # noqa: S301  # written by our parent
                function, shared = work
                packed = _packed(Outcome.of(function, shared, pickle.loads(task)))  # noqa: S301  # as is this
            except BaseException as error:  # any exception of the task is its result
                packed = _portable(error)
            pipe.send_bytes(packed)


def _portable(error: BaseException) -> bytes:
    """An unexpected error with its traceback, pickled; as a `RuntimeError` with its text if it cannot be pickled."""
    if out_of_memory(error):  # raised while a task or a result was pickled
        return _packed(Outcome.failed(OutOfMemory(str(error))))
    where = "".join(traceback.format_exception(error))
    try:
        data = _packed((error, where))
        pickle.loads(data)  # noqa: S301  # ours
    except Exception:
        return _packed((RuntimeError("".join(traceback.format_exception_only(error)).strip()), where))
    return data


def _follow_parent() -> None:
    """Exit when the parent process ends: its worker may otherwise run a task for long."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
