"""Workers on a Ray cluster: actors that live as long as the run and keep their models loaded.

Ray places the actors and restarts a lost one on another node. This module keeps a window of tasks running, gives the
tasks of a lost worker to the next free one, and yields the results in order. Ray's own retries are not used: Ray counts
every call to a node that does not respond as a try, before it knows whether the node is lost. The data that all tasks
share is in Ray's object store, and a worker fetches it once. A task is sent only to a worker that has reported that it
is ready, so a worker that the cluster has no room for yet blocks nothing. The nodes need the same version of turnwise,
and the weights and modules that the metrics name.
"""

import logging
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Self

from turnwise import __version__
from turnwise.errors import USAGE, MissingExtra, Unmeasured, UsageError, out_of_memory
from turnwise.run.workers.execute import (
    TRIES,
    Outcome,
    OutOfMemory,
    Result,
    Shared,
    Task,
    WorkersLost,
)
from turnwise.run.workers.threads import limited_threads

log = logging.getLogger(__name__)
AHEAD = 2  # tasks sent to a worker: one that runs and one that waits, so that the worker is never idle
WINDOW = 4  # tasks for each worker that are sent and not yet yielded; a slow task delays no more than these
PATIENCE = 60.0  # seconds without any result, after which a warning is logged
CONNECT_TIMEOUT = 5.0  # seconds; Ray itself would wait for minutes
# Environment variables that workers get from the process that starts them.
PASSED = ("TURNWISE_SHARED_CACHE", "TURNWISE_CACHE_LIMIT")


class Cluster:
    """`jobs` workers, by default as many as the cluster has CPUs, and for models as many as it has GPUs.

    Without an address and without RAY_ADDRESS, a cluster of this machine alone is started and ends with the run. A
    process that is already connected to a cluster uses that one.
    """

    def __init__(self, jobs: int | None = None, address: str | None = None) -> None:
        self.jobs, self.address = jobs, address
        self._crew: list[Any] = []
        self._n_gpu = 0  # workers with a GPU or a share of one; they come first in `_crew`
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            # Ray prints messages about lost workers to stdout, which is for results only.
            opened.enter_context(redirect_stdout(sys.stderr))
            self._ray, mine = _connect(self.jobs, self.address)
            if mine:
                opened.callback(self._ray.shutdown)
            self._held = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_workers()
        self._held.close()

    def in_order(
        self,
        function: Callable[[Shared, Task], Result],
        shared: Shared,
        tasks: Iterable[Task],
        *,
        model: bool = False,
    ) -> Iterator[tuple[Task, Result]]:
        """Yield each task with `function(shared, task)`, in order; raises the error of a task when its turn comes.

        The task of a lost worker goes to another one; `WorkersLost` after three losses. With `model` only workers with
        a GPU are used, if the cluster has GPUs.
        """
        stream = iter(tasks)
        some = list(islice(stream, 1))
        if not some:  # no worker needs to start
            return
        stream = chain(some, stream)
        ray, workers = self._ray, self._workers(model)
        # In a list, so that the worker and not Ray decides when to fetch it.
        held = [ray.put((function, shared))]
        starting = {_ready(worker): worker for worker in workers}
        free: deque[Any] = deque()
        at_work: dict[Any, tuple[Any, _SentTask]] = {}  # reference -> worker and its task
        window: deque[_SentTask] = deque()  # in order; the first is yielded when it has its result
        unsent: deque[_SentTask] = (
            deque()
        )  # those of the window that no worker has: of lost workers, then new ones
        while True:
            room = min(len(free) - len(unsent), WINDOW * len(workers) - len(window))
            for task in islice(stream, max(0, room)):
                window.append(_SentTask(task))
                unsent.append(window[-1])
            while free and unsent:
                worker, sent = free.popleft(), unsent.popleft()
                at_work[worker.work.remote(held, sent.task)] = worker, sent
            if not window and free:
                return
            done, _ = ray.wait([*at_work, *starting], num_returns=1, timeout=PATIENCE)
            if not done and starting:
                idle = ray.available_resources().get("CPU", 0)
                log.warning(
                    "workers that wait for room: %d; CPUs of the cluster that are free: %g",
                    len(starting),
                    idle,
                )
            for reference in done:
                if reference in starting:
                    _check_version(_reported_version(ray, reference))
                    free.extend(AHEAD * [starting.pop(reference)])
                    continue
                worker, sent = at_work[reference]
                loss = sent.take(ray, reference)
                if loss is None:
                    del at_work[reference]
                    free.append(worker)
                    continue
                log.warning("a worker was lost; what it had is done again")
                had = [given for given, (whose, _) in at_work.items() if whose is worker]
                back = [at_work.pop(given)[1] for given in had]
                back[0].count(loss)  # it was running the first; the others waited
                unsent.extendleft(sent for sent in reversed(back) if not sent.result.done())
                free = deque(other for other in free if other is not worker)
                starting[_ready(worker)] = worker
            while window and window[0].result.done():
                sent = window.popleft()
                outcome, host = sent.result.result()
                yield sent.task, outcome.result(f"on worker {host}: ")

    def _workers(self, model: bool) -> list[Any]:
        """Start the workers if needed, and return those for this work: for models those with GPUs, if there are GPUs.

        Each worker for models has its own GPU, unless `jobs` is larger than the number of GPUs; then they share. They
        come first in the list, and also do other work. Workers that were started without GPUs are ended first when a
        model runs: a worker occupies its CPU, and old and new workers at once would wait for each other.
        """
        resources = self._ray.cluster_resources()
        size = self.jobs or max(1, int(resources.get("CPU", 1)))
        gpus = resources.get("GPU", 0.0) if model else 0.0
        if not self._crew or (gpus and not self._n_gpu):
            self._end_workers()
            self._n_gpu = 0 if not gpus else size if self.jobs else min(size, max(1, int(gpus)))
            share = min(1.0, gpus / self._n_gpu) if self._n_gpu else 0.0
            passed = {name: os.environ[name] for name in PASSED if name in os.environ}
            kind = self._ray.remote(_Worker)
            for index in range(size):
                options = {"num_cpus": 1, "num_gpus": share if index < self._n_gpu else 0.0}
                worker = kind.options(**options, max_restarts=-1)
                self._crew.append(worker.remote(passed, sys.path))
        return self._crew[: self._n_gpu] if gpus else self._crew

    def _end_workers(self) -> None:
        """End all workers."""
        for worker in self._crew:
            self._ray.kill(worker)
        self._crew = []


class _Worker:
    """A Ray actor. It keeps the shared data of the current tasks; loaded models stay in its process."""

    def __init__(self, environment: dict[str, str], paths: list[str]) -> None:
        os.environ.update(environment)
        sys.stdout = sys.stderr  # Ray would print it on the standard output of the driver
        # The user's own metrics are imported from these paths.
        sys.path += [path for path in paths if path not in sys.path]
        self._of: Any = None
        self._shared: tuple[Callable[[Any, Any], Any], Any] | None = None

    def ready(self) -> str:
        """The version of turnwise on this node."""
        return __version__

    def work(self, held: list[Any], task: Any) -> tuple[Outcome[Any], str]:
        """The outcome of one task, and the name of this host. `held` has the reference to the shared data."""
        import ray

        host = socket.gethostname()
        if self._shared is None or self._of != held[0]:
            try:
                self._of, self._shared = held[0], ray.get(held[0])
            except ray.exceptions.RaySystemError as error:  # a module is missing on this node
                return Outcome(error=f"cannot load what the work is made of: {error}", code=USAGE), host
        function, shared = self._shared
        with limited_threads():
            return Outcome.of(function, shared, task), host


@dataclass(eq=False)
class _SentTask:
    """A task and its result."""

    task: Any
    result: Future[tuple[Outcome[Any], str]] = field(default_factory=Future)  # the outcome and the host
    losses: int = 0

    def take(self, ray: Any, reference: Any) -> Exception | None:
        """Store the result, or the exception that the task raised, in `result`, and return None.

        If the worker or its result was lost, nothing is stored, and Ray's error is returned.
        """
        try:
            self.result.set_result(ray.get(reference))
        except ray.exceptions.RayTaskError as error:
            # Raised by the task, or while Ray serialised its result. The worker is not lost.
            self.result.set_exception(OutOfMemory(str(error.cause)) if out_of_memory(error) else error)
        except ray.exceptions.RayError as error:
            return error  # type: ignore[no-any-return]  # Ray has no types here
        return None

    def count(self, loss: Exception) -> None:
        """Count the loss of a worker that ran this task; after `TRIES` losses the task fails."""
        self.losses += 1
        if self.losses == TRIES:
            self.result.set_exception(WorkersLost(type(loss).__name__, starved=True))


def _ready(worker: Any) -> Any:
    """A reference to the version of turnwise that a worker reports once it has started or restarted."""
    return worker.ready.options(max_task_retries=-1).remote()


def _reported_version(ray: Any, reference: Any) -> str:
    """The version of turnwise that a worker reports.

    Raises `UsageError` if it could not start, `Unmeasured` if it is gone.
    """
    try:
        return ray.get(reference)  # type: ignore[no-any-return]  # as above
    except ray.exceptions.RayError as error:
        why = str(error).strip().splitlines()[-1]
        if not (isinstance(error, ray.exceptions.RayActorError) and error.actor_init_failed):
            raise Unmeasured(f"a worker of the cluster is gone for good. Ray says: {why}") from None
        raise UsageError(
            f"a worker of the cluster could not start; its nodes need turnwise {__version__} and what it "
            f"imports: pip install 'turnwise[cluster]'. It said: {why}"
        ) from None


def _check_version(theirs: str) -> None:
    """Raise `UsageError` if a worker has another version of turnwise."""
    if theirs != __version__:
        raise UsageError(f"this is turnwise {__version__}, and a worker of the cluster has {theirs}")


def _connect(jobs: int | None, address: str | None) -> tuple[Any, bool]:
    """The module `ray`, connected, and whether this run made the connection and must close it.

    Raises `MissingExtra` without Ray, and `UsageError` if no cluster answers at the address.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtra("--on ray", "cluster") from None
    if ray.is_initialized():
        return ray, False
    # The output of workers would be mixed with this process's; their errors come back with the results.
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    address = address or os.environ.get("RAY_ADDRESS")
    if address is None:
        ray.init(address="local", num_cpus=jobs, include_dashboard=False, **quiet)
        return ray, True
    _check_reachable(address)
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _unreachable(address, str(error)) from None
    return ray, True


def _check_reachable(address: str) -> None:
    """Raise `UsageError` if nothing accepts connections at host:port. Other forms of address are left to Ray."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host or "127.0.0.1", int(port)), timeout=CONNECT_TIMEOUT).close()
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from None


def _unreachable(address: str, why: str) -> UsageError:
    """The error (not raised) for an address at which there is no cluster."""
    return UsageError(
        f"no Ray cluster answers at {address}: {why}; `ray status` on its head node tells the address, and without "
        "--address this machine is used alone"
    )
