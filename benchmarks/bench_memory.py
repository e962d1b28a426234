"""Peak memory of `turnwise score` on 1,000,000 turns beside 100,000: it must not grow with the data."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import write
from benchmarks.harness import Line

SMALL, LARGE = 100_000, 1_000_000
PROBE = """
import resource, sys
from turnwise.cli.group import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
sys.exit(code)
"""


def peak(folder: Path, n_turns: int) -> float:
    """MiB at the highest point of a run that scores and writes everything."""
    data, out = folder / f"{n_turns}.jsonl", folder / f"out{n_turns}"
    write(data, n_turns)
    options = ["-m", "bleu-4,rouge-l,length,question-rate", "-o", str(out), "-q"]
    command = [sys.executable, "-c", PROBE, "score", str(data), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stderr.splitlines()[-1])


def bench() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        small, large = peak(Path(folder), SMALL), peak(Path(folder), LARGE)
    yield Line(
        "peak memory of scoring 1,000,000 turns",
        ours=large,
        peer=small,
        peer_name="100,000 turns",
        goal=1.3,
        unit="MiB",
        at_most=True,
    )
