"""What every bench module shares: a timed line, and the best of several runs.

A bench module `benchmarks/bench_NAME.py` has `bench() -> Iterator[Line]`. Machines are shared and noisy:
only the ratio of two times taken in the same run is a result.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    name: str  # what was done, and on how much
    ours: float
    peer: float
    peer_name: str
    goal: float  # the ratio wanted
    unit: str = "s"
    at_most: bool = False  # the goal is a ceiling on ours/peer instead of a floor on peer/ours

    @property
    def ratio(self) -> float:
        return self.ours / self.peer if self.at_most else self.peer / self.ours

    @property
    def met(self) -> bool:
        return self.ratio <= self.goal if self.at_most else self.ratio >= self.goal


def best_of(function: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest run: the one that the machine's other work disturbed least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)
