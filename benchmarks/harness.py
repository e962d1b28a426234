"""What every bench module shares: a timed line, and the best of several runs.

A bench module `benchmarks/bench_NAME.py` has `bench() -> Iterator[Line]`. Machines are shared and noisy:
only the ratio of two times taken in the same run is a result.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# The kernel's own high-water mark: getrusage's starts at that of the process that forked.
_PEAK = """
import atexit, re, sys
def told():
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
atexit.register(told)
"""


@dataclass(frozen=True, slots=True)
class Line:
    name: str  # what was done, and on how much
    ours: float
    peer: float
    peer_name: str
    goal: float  # the ratio wanted
    unit: str = "s"
    at_most: bool = False  # the goal is a ceiling on ours/peer instead of a floor on peer/ours
    rate: bool = False  # more is faster: the goal is a floor on ours/peer

    @property
    def ratio(self) -> float:
        return self.ours / self.peer if self.at_most or self.rate else self.peer / self.ours

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


def peak(code: str, arguments: Sequence[str] = ()) -> float:
    """MiB at the highest point of a process of its own that runs `code`."""
    command = [sys.executable, "-W", "ignore", "-c", _PEAK + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stderr.splitlines()[-1]) / 1024
