"""What all bench modules share: a line of the results, timing, and peak memory.

A bench module `benchmarks/bench_NAME.py` has a function `bench() -> Iterator[Line]`. Machines are shared and noisy, so
only the ratio of two times from the same run is a result.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Code that prints the process's peak memory when it ends. It reads the kernel's value, because that of getrusage starts
# at the memory of the parent process.
_PEAK = """
import atexit, re, sys
def print_peak():
    print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
atexit.register(print_peak)
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One measured comparison."""

    name: str  # what was measured, and on how much data
    ours: float
    peer: float
    peer_name: str
    goal: float  # the ratio to reach
    unit: str = "s"
    at_most: bool = False  # the goal is an upper bound on ours/peer instead of a lower bound on peer/ours
    rate: bool = False  # the values are rates (higher is better): the goal is a lower bound on ours/peer

    @property
    def ratio(self) -> float:
        return self.ours / self.peer if self.at_most or self.rate else self.peer / self.ours

    @property
    def met(self) -> bool:
        return self.ratio <= self.goal if self.at_most else self.ratio >= self.goal


def best_of(function: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest run, which other processes disturbed least."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def peak(code: str, arguments: Sequence[str] = ()) -> float:
    """Peak memory, in MiB, of a new process that runs `code`."""
    command = [sys.executable, "-W", "ignore", "-c", _PEAK + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stderr.splitlines()[-1]) / 1024
