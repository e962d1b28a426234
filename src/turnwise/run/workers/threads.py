"""Limits the threads of numerical libraries for as long as turnwise computes.

numpy's and scipy's linear algebra gets one thread. Matrices here are small: two threads of OpenBLAS on a matrix of
384 x 384 wait for each other most of the time, and on a machine that does other work too they took 13 times the
processor time of one thread. Parallel work is divided among workers instead (`--jobs`). Sums in one thread also have
the same last digits on every number of cores.

torch keeps its threads, because its matrices are large enough, but they sleep while they wait for each other instead of
running in a loop; on a busy machine that took three times the processor time.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

# Read when a library is loaded. OpenBLAS reads this variable before OMP_NUM_THREADS.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
_lock = Lock()
_limits = ExitStack()  # of the first of the blocks that now run; the last one closes it
_running = 0


@contextmanager
def limited_threads() -> Iterator[None]:
    """Within the block, BLAS has one thread, whatever the environment says; afterwards as many as before.

    A library that is loaded within the block keeps its limit. Blocks may be nested, and may overlap in several threads
    of a process.
    """
    global _running
    with _lock:
        _running += 1
        if _running == 1:
            _limits.enter_context(_limited())
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running:
                _limits.close()


@contextmanager
def _limited() -> Iterator[None]:
    """Limit the libraries that are loaded, and by the environment those that will be."""
    from threadpoolctl import threadpool_limits  # 7 ms, which `turnwise --help` does not need

    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    os.environ |= _ENVIRONMENT
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
