"""Peak memory of `turnwise score` on 1,000,000 turns against 100,000: it must not grow with the data."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import write
from benchmarks.harness import Line, peak

SMALL, LARGE = 100_000, 1_000_000
SCORE = "import sys\nfrom turnwise.cli.common.group import run\nsys.exit(run(sys.argv[1:]))"


def peak_of_score(folder: Path, n_turns: int) -> float:
    """Peak memory, in MiB, of a run that scores this many turns and writes all results."""
    data, out = folder / f"{n_turns}.jsonl", folder / f"out{n_turns}"
    write(data, n_turns)
    return peak(
        SCORE, ["score", str(data), "-m", "bleu-4,rouge-l,length,question-rate", "-o", str(out), "-q"]
    )


def bench() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        small, large = peak_of_score(Path(folder), SMALL), peak_of_score(Path(folder), LARGE)
    yield Line(
        "peak memory of scoring 1,000,000 turns",
        ours=large,
        peer=small,
        peer_name="100,000 turns",
        goal=1.3,
        unit="MiB",
        at_most=True,
    )
