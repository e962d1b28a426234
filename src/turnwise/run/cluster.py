"""Workers on a Ray cluster: actors, which live as long as the run and keep their models loaded.

Ray places the actors, starts a lost one again elsewhere and gives it its task anew; what is left to do here is to
keep a window of tasks at work and to take the results in order. What the tasks share lies in Ray's object store, and
a worker fetches it once. A task goes to a worker that has said it is ready: one for which the cluster has no room yet
holds nothing up. Nodes need the same version of turnwise, and whatever weights and modules the metrics name.
"""

import logging
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, redirect_stdout
from itertools import chain, islice
from typing import Any, Self

from turnwise import __version__
from turnwise.errors import USAGE, MissingExtra, UsageError
from turnwise.run.execute import TRIES, Outcome, Result, Shared, Task, WorkersLost

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
        starting = {worker.ready.remote(): worker for worker in crew}
        free: deque[Any] = deque()
        at_work: dict[Any, Any] = {}  # reference -> worker
        window: deque[tuple[Task, Any]] = deque()  # in order; the head is taken when it is done
        while True:
            for task in islice(stream, max(0, min(len(free), WINDOW * len(crew) - len(window)))):
                worker = free.popleft()
                reference = worker.work.remote(held, task)
                at_work[reference] = worker
                window.append((task, reference))
            if not window and free:
                return
            done, _ = ray.wait([*at_work, *starting], num_returns=1, timeout=PATIENCE)
            if not done and starting:
                room = ray.available_resources().get("CPU", 0)
                log.warning(
                    "workers that wait for room: %d; CPUs of the cluster that are free: %g",
                    len(starting),
                    room,
                )
            for reference in done:
                if reference in starting:
                    _check_version(_got(ray, reference))
                    free.extend(AHEAD * [starting.pop(reference)])
                else:
                    free.append(at_work.pop(reference))
            while window and window[0][1] not in at_work:
                task, reference = window.popleft()
                outcome, host = _got(ray, reference)
                yield task, outcome.result(f"on worker {host}: ")

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
                worker = kind.options(**options, max_restarts=-1, max_task_retries=TRIES - 1)
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


def _got(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError:  # raised by the work itself, which is no loss of a worker
        raise
    except ray.exceptions.ActorDiedError as error:
        if "creation task" in str(error):
            raise UsageError(
                f"a worker of the cluster could not start; its nodes need turnwise {__version__} and what it "
                f"imports: pip install 'turnwise[cluster]'. It said: {str(error).strip().splitlines()[-1]}"
            ) from None
        raise WorkersLost from None
    except ray.exceptions.RayError as error:
        raise WorkersLost(f" ({type(error).__name__})") from None


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
