"""Tasks through workers, results in the order of the tasks: the number of processes never shows."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any, TypeVar

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

_shared: Any = None  # in a worker: what every task needs, sent once


def in_order(
    function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task], *, jobs: int
) -> Iterator[Result]:
    """`function(shared, task)` for each task, over a bounded window: a long stream stays a stream."""
    if jobs == 1:
        for task in tasks:
            yield function(shared, task)
        return
    # Spawned, not forked: a fork of a process that holds threads (BLAS, torch) can hang.
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_receive, initargs=(shared,)) as pool:
        stream = iter(tasks)
        window: deque[Future[Result]] = deque()
        window.extend(pool.submit(_call, function, task) for task in islice(stream, 2 * jobs))
        while window:
            yield window.popleft().result()
            window.extend(pool.submit(_call, function, task) for task in islice(stream, 1))


def _receive(shared: Any) -> None:
    global _shared
    _shared = shared
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """A parent that was killed cannot stop its workers, which would wait for tasks for ever."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _call(function: Callable[[Any, Task], Result], task: Task) -> Result:
    return function(_shared, task)
