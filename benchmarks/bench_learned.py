"""`turnwise score -m turnwise` on 10,000 replies, all turns different, from a warm cache of their vectors on disk.

The first run of the command warms the cache: it encodes 20,000 turns, which takes minutes where they were never seen.
The second is timed: a process of its own that reads the log, takes the vectors from the cache and prints the table.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import write
from benchmarks.harness import Line

REPLIES = 10_000
ALLOWED = 120.0  # seconds


def spent(log: Path) -> float:
    """Seconds of CPU of one run of the command: what else the machine does is not counted."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "turnwise", "score", str(log), "-m", "turnwise", "-q", "--jobs", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bench(replies: int = REPLIES) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "logs.jsonl"
        write(log, replies)
        spent(log)
        seconds = spent(log)
    yield Line(
        f"turnwise score on {replies:,} replies, warm",
        seconds,
        ALLOWED,
        "what is allowed",
        goal=1,
        at_most=True,
    )
