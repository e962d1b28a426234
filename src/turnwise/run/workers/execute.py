"""Runs tasks on workers and yields the results in the order of the tasks, whatever the number and place of workers.

There are two kinds of workers with one interface: processes of this machine (`Local`), and actors of a Ray cluster
(`cluster.py`). The data that all tasks share is sent to a worker once. The tasks of a lost worker (killed, out of
memory, machine lost) are run again by another worker, and each result is yielded once.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, Self, TypeVar

from turnwise.errors import TurnwiseError, Unmeasured, out_of_memory
from turnwise.terminal import visible

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

TRIES = 3  # workers that may be lost on one task before it fails
_MORE = "fewer --jobs leave each worker more"
_KEPT = "with -o, what was done is kept and the same command resumes; only `simulate` begins anew"


class WorkersLost(Unmeasured):
    """A task on which every worker was lost. `how` says how the last one ended, `starved` whether memory may be why."""

    def __init__(self, how: str, *, starved: bool = False) -> None:
        super().__init__(
            f"{TRIES} workers in a row were lost over the same work{', as when memory runs out' if starved else ''}"
            f" ({how}); {f'{_MORE}; ' if starved else ''}{_KEPT}"
        )


class OutOfMemory(Unmeasured):
    """A task that raised an out-of-memory error, in a process that still runs."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"memory ran out{f' ({detail})' if detail else ''}; {_MORE}; {_KEPT}")


class Executor(Protocol):
    """Runs tasks on workers. A context manager: the workers end with it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def in_order(
        self,
        function: Callable[[Shared, Task], Result],
        shared: Shared,
        tasks: Iterable[Task],
        *,
        model: bool = False,
    ) -> Iterator[tuple[Task, Result]]:
        """Each task with `function(shared, task)`, in order. `tasks` is read a bounded window ahead.

        `model` says that the function runs a model, so that it gets a GPU where there is one.
        """
        ...


def executor(jobs: int | None = None, *, on: str = "local", address: str | None = None) -> Executor:
    """Create an executor with `jobs` workers. The default is one on this machine, and one for each CPU of a cluster."""
    if on == "local":
        return Local(jobs or 1)
    from turnwise.run.workers.cluster import Cluster  # imports Ray

    return Cluster(jobs, address)


@dataclass(frozen=True, slots=True)
class Local:
    """Worker processes on this machine. With one job, tasks run in this process."""

    jobs: int = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to do: `in_order` ends its processes itself."""

    def in_order(
        self,
        function: Callable[[Shared, Task], Result],
        shared: Shared,
        tasks: Iterable[Task],
        *,
        model: bool = False,
    ) -> Iterator[tuple[Task, Result]]:
        """Yield each task with `function(shared, task)`, in order; raises the error of a task when its turn comes.

        With one job the tasks run in this process, otherwise in new processes that end with the iteration. `model` is
        not used.
        """
        if self.jobs == 1:
            for task in tasks:
                yield task, _run(function, shared, task)
            return
        from turnwise.run.workers.processes import ProcessPool, unpacked  # not needed for one job

        pool = ProcessPool(self.jobs, function, shared)
        stream = iter(tasks)
        window: deque[tuple[Task, Future[bytes]]] = deque()  # the first stays until it is done
        try:
            while True:
                for task in islice(stream, 2 * self.jobs - len(window)):
                    window.append((task, pool.submit(task)))
                if not window:
                    return
                task, future = window[0]
                packed = future.result()
                window.popleft()
                yield task, unpacked(packed).result()
        finally:
            pool.end(at_work=bool(window))


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """The result of a task, or its error as message and exit code: not every error can be pickled."""

    value: Result | None = None
    error: str | None = None
    code: int = 0

    @classmethod
    def of(cls, function: Callable[[Shared, Task], Result], shared: Shared, task: Task) -> "Outcome[Result]":
        """Run a task; an error of turnwise becomes a failed outcome, any other exception is raised."""
        try:
            return cls(_run(function, shared, task))
        except TurnwiseError as error:
            return cls.failed(error)

    @classmethod
    def failed(cls, error: TurnwiseError) -> "Outcome[Result]":
        """The outcome of a task that raised `error`."""
        return cls(error=str(error), code=error.exit_code)

    def result(self, where: str = "") -> Result:
        """The result; if the task failed, raises a `TurnwiseError` with its message after `where` and its exit code."""
        if self.error is not None:
            failure = TurnwiseError(where + self.error)
            failure.exit_code = self.code
            raise failure
        return self.value  # type: ignore[return-value]  # None is a valid result


def _run(function: Callable[[Shared, Task], Result], shared: Shared, task: Task) -> Result:
    """`function(shared, task)`, with `sys.exit` and out-of-memory errors as errors of turnwise."""
    try:
        return function(shared, task)
    except SystemExit as error:  # ends the task, not the run or the worker
        raise Unmeasured(f"what was run called sys.exit: {error.code}") from error
    except Exception as error:
        if out_of_memory(error):
            raise OutOfMemory(str(error)) from None
        raise


@contextmanager
def progress(
    what: str, total: int | None, *, quiet: bool, in_bytes: bool = False
) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances the bar by the given amount; without a terminal or if `quiet` it does nothing.

    `what` is shown before the bar, `total` is the amount at its end (None: unknown). With `in_bytes` the bar has sizes
    and a rate.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import DownloadColumn, Progress, SpinnerColumn, TimeElapsedColumn, TransferSpeedColumn

    extra = (DownloadColumn(), TransferSpeedColumn()) if in_bytes else ()
    # A batch of a large model can take a minute: the spinner and the clock move meanwhile.
    columns = (SpinnerColumn(), TimeElapsedColumn(), *Progress.get_default_columns(), *extra)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(escape(visible(what)), total=total)
        yield lambda done: bar.advance(task, done)
