"""Workers on a Ray cluster: actors, which live as long as the run and keep their models loaded.

Ray places the actors and starts a lost one again elsewhere; what is left to do here is to keep a window of tasks at
work, to give those of a lost worker to the next that is free, and to take the results in order. Ray could repeat tasks
by itself, but counts every call to a node that does not answer, long before it knows whether that is gone. What the
tasks share lies in Ray's object store, and a worker fetches it once. A task goes to a worker that has said it is ready:
one for which the cluster has no room yet holds nothing up. Nodes need the same version of turnwise, and whatever
weights and modules the metrics name.
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

log = logging.getLogger(__name__)
AHEAD = 2  # tasks a worker has: one at work and one waiting, so that it need not
WINDOW = 4  # tasks a worker, begun and not yet taken: a slow one holds up no more than these
PATIENCE = 60.0  # seconds of silence before a word about it
KNOCK = 5.0  # seconds for an address to answer; Ray itself would wait for minutes
# What a worker takes over of the environment that the command was typed in.
PASSED = ("TURNWISE_SHARED_CACHE", "TURNWISE_CACHE_LIMIT")


class Cluster:
    """`jobs` workers, by default as many as the cluster has CPUs, and for models as many as it has GPUs.

    Without an address, nor one in RAY_ADDRESS, it is a cluster of this machine alone, which ends with the run. A
    process that has joined a cluster already stays in it.
    """

    def __init__(self, jobs: int | None = None, address: str | None = None) -> None:
        self.jobs, self.address = jobs, address
        self._crew: list[Any] = []
        self._n_gpu = 0  # of them, the first, that have a GPU or a share of one
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            # Ray prints news of lost workers to stdout, where results and nothing else may stand.
            opened.enter_context(redirect_stdout(sys.stderr))
            self._ray, mine = _joined(self.jobs, self.address)
            if mine:
                opened.callback(self._ray.shutdown)
            self._held = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss()
        self._held.close()

    def in_order(
        self,
        function: Callable[[Shared, Task], Result],
        shared: Shared,
        tasks: Iterable[Task],
        *,
        model: bool = False,
    ) -> Iterator[tuple[Task, Result]]:
        stream = iter(tasks)
        some = list(islice(stream, 1))
        if not some:  # nobody need start for it
            return
        stream = chain(some, stream)
        ray, crew = self._ray, self._called(model)
        held = [
            ray.put((function, shared))
        ]  # in a list, so that the worker and not Ray decides when to fetch it
        starting = {_ready(worker): worker for worker in crew}
        free: deque[Any] = deque()
        at_work: dict[Any, tuple[Any, _Asked]] = {}  # reference -> worker and what it was asked
        window: deque[_Asked] = deque()  # in order; the head is taken when it is answered
        unasked: deque[_Asked] = deque()  # of these: those of lost workers, then new ones
        while True:
            room = min(len(free) - len(unasked), WINDOW * len(crew) - len(window))
            for task in islice(stream, max(0, room)):
                window.append(_Asked(task))
                unasked.append(window[-1])
            while free and unasked:
                worker, asked = free.popleft(), unasked.popleft()
                at_work[worker.work.remote(held, asked.task)] = worker, asked
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
                    _check_version(_said(ray, reference))
                    free.extend(AHEAD * [starting.pop(reference)])
                    continue
                worker, asked = at_work[reference]
                loss = asked.take(ray, reference)
                if loss is None:
                    del at_work[reference]
                    free.append(worker)
                    continue
                log.warning("a worker was lost; what it had is done again")
                had = [given for given, (whose, _) in at_work.items() if whose is worker]
                back = [at_work.pop(given)[1] for given in had]
                back[0].count(loss)  # it was at work on the first; the others waited
                unasked.extendleft(asked for asked in reversed(back) if not asked.answer.done())
                free = deque(other for other in free if other is not worker)
                starting[_ready(worker)] = worker
            while window and window[0].answer.done():
                asked = window.popleft()
                outcome, host = asked.answer.result()
                yield asked.task, outcome.result(f"on worker {host}: ")

    def _called(self, model: bool) -> list[Any]:
        """The workers; those that run models have the GPUs, where the cluster has some.

        Each of these has a GPU to itself, unless `jobs` asks for more of them than there are GPUs; then they share.
        They do other work too, beside workers that have none, and are the first. A crew that was called before it was
        known that a model runs makes room: a worker holds its CPU, and both crews at once would wait for each other.
        """
        resources = self._ray.cluster_resources()
        size = self.jobs or max(1, int(resources.get("CPU", 1)))
        gpus = resources.get("GPU", 0.0) if model else 0.0
        if not self._crew or (gpus and not self._n_gpu):
            self._dismiss()
            self._n_gpu = 0 if not gpus else size if self.jobs else min(size, max(1, int(gpus)))
            share = min(1.0, gpus / self._n_gpu) if self._n_gpu else 0.0
            passed = {name: os.environ[name] for name in PASSED if name in os.environ}
            kind = self._ray.remote(_Worker)
            for place in range(size):
                options = {"num_cpus": 1, "num_gpus": share if place < self._n_gpu else 0.0}
                worker = kind.options(**options, max_restarts=-1)
                self._crew.append(worker.remote(passed, sys.path))
        return self._crew[: self._n_gpu] if gpus else self._crew

    def _dismiss(self) -> None:
        for worker in self._crew:
            self._ray.kill(worker)
        self._crew = []


class _Worker:
    """An actor. It holds what the tasks at hand share; the models that they load stay with its process."""

    def __init__(self, environment: dict[str, str], paths: list[str]) -> None:
        os.environ.update(environment)
        sys.path += [
            path for path in paths if path not in sys.path
        ]  # a metric of one's own lies beside the data
        self._of: Any = None
        self._shared: tuple[Callable[[Any, Any], Any], Any] | None = None

    def ready(self) -> str:
        return __version__

    def work(self, held: list[Any], task: Any) -> tuple[Outcome[Any], str]:
        import ray

        host = socket.gethostname()
        if self._shared is None or self._of != held[0]:
            try:
                self._of, self._shared = held[0], ray.get(held[0])
            except ray.exceptions.RaySystemError as error:  # a module that is not there
                return Outcome(error=f"cannot load what the work is made of: {error}", code=USAGE), host
        function, shared = self._shared
        return Outcome.of(function, shared, task), host


@dataclass(eq=False)
class _Asked:
    """A task, and what becomes of it."""

    task: Any
    answer: Future[tuple[Outcome[Any], str]] = field(default_factory=Future)  # and the host that gave it
    losses: int = 0

    def take(self, ray: Any, reference: Any) -> Exception | None:
        """The answer, unless the worker or what it found was lost; then what Ray says of that."""
        try:
            self.answer.set_result(ray.get(reference))
        except ray.exceptions.RayTaskError as error:
            # Raised by the work, or where Ray packs what it found; neither is the loss of a worker.
            self.answer.set_exception(OutOfMemory(str(error.cause)) if out_of_memory(error) else error)
        except ray.exceptions.RayError as error:
            return error  # type: ignore[no-any-return]  # Ray has no types here
        return None

    def count(self, loss: Exception) -> None:
        self.losses += 1
        if self.losses == TRIES:
            self.answer.set_exception(WorkersLost(type(loss).__name__, starved=True))


def _ready(worker: Any) -> Any:
    """A reference to the version that a worker has, which comes when it is there, be it for the second time."""
    return worker.ready.options(max_task_retries=-1).remote()


def _said(ray: Any, reference: Any) -> str:
    try:
        return ray.get(reference)  # type: ignore[no-any-return]  # as above
    except ray.exceptions.RayError as error:
        why = str(error).strip().splitlines()[-1]
        if "creation task" not in str(error):
            raise Unmeasured(f"a worker of the cluster is gone for good. Ray says: {why}") from None
        raise UsageError(
            f"a worker of the cluster could not start; its nodes need turnwise {__version__} and what it "
            f"imports: pip install 'turnwise[cluster]'. It said: {why}"
        ) from None


def _check_version(theirs: str) -> None:
    if theirs != __version__:
        raise UsageError(f"this is turnwise {__version__}, and a worker of the cluster has {theirs}")


def _joined(jobs: int | None, address: str | None) -> tuple[Any, bool]:
    """Ray, and whether it is ours to leave."""
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtra("--on ray", "cluster") from None
    if ray.is_initialized():
        return ray, False
    # Output of workers would be mixed with ours; errors of theirs come back with their work.
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    address = address or os.environ.get("RAY_ADDRESS")
    if address is None:
        ray.init(address="local", num_cpus=jobs, include_dashboard=False, **quiet)
        return ray, True
    _knock(address)
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _unreachable(address, str(error)) from None
    return ray, True


def _knock(address: str) -> None:
    """Raises where nobody answers at host:port; other ways to name a cluster are Ray's to judge."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host or "127.0.0.1", int(port)), timeout=KNOCK).close()
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from None


def _unreachable(address: str, why: str) -> UsageError:
    return UsageError(
        f"no Ray cluster answers at {address}: {why}; `ray status` on its head node tells the address, and without "
        "--address this machine is used alone"
    )
