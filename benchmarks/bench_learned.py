"""`turnwise score -m turnwise` on 10,000 replies with different texts, with their vectors in the cache on disk.

The first run of the command fills the cache: it encodes 20,000 turns, which takes minutes. The second run is timed: a
new process that reads the log, takes the vectors from the cache and prints the table.
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


def processor_seconds(log: Path) -> float:
    """Processor seconds of one run of the command; other processes do not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "turnwise", "score", str(log), "-m", "turnwise", "-q", "--jobs", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bench(replies: int = REPLIES) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "logs.jsonl"
        write(log, replies)
        processor_seconds(log)
        seconds = processor_seconds(log)
    yield Line(
        f"turnwise score on {replies:,} replies, warm",
        seconds,
        ALLOWED,
        "what is allowed",
        goal=1,
        at_most=True,
    )
