"""What all bench modules share: a line of the results, timing, and peak memory.

A bench module `benchmarks/bench_NAME.py` has a function `bench() -> Iterator[Line]`. Machines are shared and noisy, so
only the ratio of two times from the same run is a result.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
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


HEADER = ("bench", "what", "ours", "peer", "peer's", "ratio", "memory ratio", "goal", "met")


def table(lines: Iterable[tuple[str, Line]]) -> list[tuple[str, ...]]:
    """The lines as rows of text under `HEADER`, each with the name of its bench.

    A ratio of memory, which is to be small, has its own column.
    """
    rows = [HEADER]
    for bench, line in lines:
        ratio = f"{line.ratio:.3g}"
        in_memory = line.unit in ("MiB", "MB")
        rows.append(
            (
                bench,
                line.name,
                f"{line.ours:.4g} {line.unit}",
                line.peer_name,
                f"{line.peer:.4g} {line.unit}",
                "" if in_memory else ratio,
                ratio if in_memory else "",
                f"{'at most' if line.at_most else 'at least'} {line.goal:g}",
                "yes" if line.met else "no",
            )
        )
    return rows


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
