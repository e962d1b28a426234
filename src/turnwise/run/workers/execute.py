"""Tasks through workers, results in the order of the tasks: neither how many workers there are nor where shows.

Two kinds of workers, one interface: processes of this machine (`Local`), and actors of a Ray cluster (`cluster.py`).
What every task needs is sent to a worker once. A worker that is lost (killed, out of memory, its machine gone) has
its tasks done again by another; a result is taken once, whatever was done twice on the way to it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, Self, TypeVar

from turnwise.errors import TurnwiseError, Unmeasured, out_of_memory

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

TRIES = 3  # workers that one task may cost
_MORE = "fewer --jobs leave each worker more"
_KEPT = "with -o, what was done is kept and the same command resumes; only `simulate` begins anew"


class WorkersLost(Unmeasured):
    """Work that no worker survives: `how` the last one ended, and whether want of memory may have ended it."""

    def __init__(self, how: str, *, starved: bool = False) -> None:
        super().__init__(
            f"{TRIES} workers in a row were lost over the same work{', as when memory runs out' if starved else ''}"
            f" ({how}); {f'{_MORE}; ' if starved else ''}{_KEPT}"
        )


class OutOfMemory(Unmeasured):
    """Work that asks for more memory than there is, where the system says so and does not end the process."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"memory ran out{f' ({detail})' if detail else ''}; {_MORE}; {_KEPT}")


class Executor(Protocol):
    """Whoever has tasks done, from `with` to the end of it."""

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
        """Each task with `function(shared, task)`, over a bounded window: a long stream stays a stream.

        `model` says that the work runs a model, which wants a GPU where there are some.
        """
        ...


def executor(jobs: int | None = None, *, on: str = "local", address: str | None = None) -> Executor:
    """Of so many workers; by default one here, and on a cluster as many as it has CPUs."""
    if on == "local":
        return Local(jobs or 1)
    from turnwise.run.workers.cluster import Cluster  # Ray is loaded for those who ask for it

    return Cluster(jobs, address)


@dataclass(frozen=True, slots=True)
class Local:
    """Processes of this machine; one job is this process itself."""

    jobs: int = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Processes end with the stream that they were started for."""

    def in_order(
        self,
        function: Callable[[Shared, Task], Result],
        shared: Shared,
        tasks: Iterable[Task],
        *,
        model: bool = False,
    ) -> Iterator[tuple[Task, Result]]:
        if self.jobs == 1:
            for task in tasks:
                yield task, _done(function, shared, task)
            return
        from turnwise.run.workers.processes import Crew, unpacked  # which one job has no need of

        crew = Crew(self.jobs, function, shared)
        stream = iter(tasks)
        window: deque[tuple[Task, Future[bytes]]] = deque()  # the head stays until it is done
        try:
            while True:
                for task in islice(stream, 2 * self.jobs - len(window)):
                    window.append((task, crew.submit(task)))
                if not window:
                    return
                task, future = window[0]
                answer = future.result()
                window.popleft()
                yield task, unpacked(answer).result()
        finally:
            crew.end(at_work=bool(window))


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """What came of a task, as it travels: an error of ours is its words and code, as not every one can be pickled."""

    value: Result | None = None
    error: str | None = None
    code: int = 0

    @classmethod
    def of(cls, function: Callable[[Shared, Task], Result], shared: Shared, task: Task) -> "Outcome[Result]":
        try:
            return cls(_done(function, shared, task))
        except TurnwiseError as error:
            return cls.failed(error)

    @classmethod
    def failed(cls, error: TurnwiseError) -> "Outcome[Result]":
        return cls(error=str(error), code=error.exit_code)

    def result(self, where: str = "") -> Result:
        if self.error is not None:
            failure = TurnwiseError(where + self.error)
            failure.exit_code = self.code
            raise failure
        return self.value  # type: ignore[return-value]  # None is a result like any other


def _done(function: Callable[[Shared, Task], Result], shared: Shared, task: Task) -> Result:
    try:
        return function(shared, task)
    except SystemExit as error:  # its end is not ours, nor is its worker lost
        raise Unmeasured(f"what was run called sys.exit: {error.code}") from error
    except Exception as error:
        if out_of_memory(error):
            raise OutOfMemory(str(error)) from None
        raise
