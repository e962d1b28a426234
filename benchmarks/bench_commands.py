"""Processor time and peak memory of commands as users call them, with no environment variable set for threads, and
with compiled modules on disk.

The corpora are those of `../shared/data`, where they are; without them there is no line. The peer of a line is what is
allowed, and beside each command is its peak memory. `cold` has an empty cache of vectors, `warm` a full one.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Line

DATA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
UNSET = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_WAIT_POLICY", "PYTHONDONTWRITEBYTECODE",
)  # fmt: skip
SIX = "bleu-4,rouge-l,meteor,length,chrf,distinct-2"
RATED = 50_000  # replies of the line on memory


def bench() -> Iterator[Line]:
    if not DATA.is_dir():
        return
    grade, fbd = str(DATA / "grade.jsonl.gz"), str(DATA / "fbd.jsonl.gz")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        models = Path(os.environ.get("TURNWISE_CACHE", Path.home() / ".cache" / "turnwise")) / "models"
        (here / "cache").mkdir()
        (here / "cache" / "models").symlink_to(models)
        by_corpus = ["meta", fbd, "-m", "fbd", "--by", "meta.corpus", "--dimension", "all"]
        thousand = ["score", grade, "-m", "turnwise", "--limit", "1000"]
        measured(by_corpus, here)  # its vectors are in the cache now
        yield allowed("meta -m fbd, six corpora, warm", by_corpus, here, 60)
        yield allowed(f"meta -m {SIX}, 1,200 replies", ["meta", grade, "-m", SIX], here, 4)
        yield allowed("score -m turnwise, 1,000 replies, cold", thousand, here, 8)
        yield allowed("score -m turnwise, 1,000 replies, warm", thousand, here, 1.5)
        yield allowed(
            "score -m loglik, 100 replies, cold", ["score", grade, "-m", "loglik", "--limit", "100"], here, 8
        )
        logs = str(here / "logs.jsonl")
        measured(
            ["simulate", "booking", "--agents", "16", "--dialogues", "100", "--truth", "2", "-o", logs], here
        )
        yield allowed("ope --all, 16 agents x 100", ["ope", logs, "--all", "--rating", "reward"], here, 60)
        yield allowed(
            "attack turnwise, default budget, cold", ["attack", "turnwise", "--contexts", grade], here, 60
        )
        large = here / "large.jsonl"
        write_rated(large)
        words = ["meta", str(large), "-m", "length,rouge-l", "--draws", "100", "--no-differences"]
        _, memory = measured(words, here)
        name = f"meta -m length,rouge-l, {RATED:,} rated replies: peak memory"
        yield Line(name, memory, 250, "what is allowed", 1.0, "MiB", at_most=True)


def allowed(name: str, words: list[str], folder: Path, seconds: float) -> Line:
    """The line of a command whose processor time is limited; its name has the peak memory."""
    used, memory = measured(words, folder)
    return Line(f"{name}; {memory:.0f} MiB", used, seconds, "what is allowed", 1.0, at_most=True)


def measured(words: list[str], folder: Path) -> tuple[float, float]:
    """Processor seconds and peak memory, in MiB, of one command line."""
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    code = f"""
import resource, subprocess, sys
done = subprocess.run({[sys.executable, "-m", "turnwise", *words, "-q"]!r}, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "TURNWISE_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    status, seconds, kilobytes = done.stdout.split()
    if status not in ("0", "1"):  # 1: the metric can be gamed
        raise RuntimeError(f"{' '.join(words)} ended with {status}: {done.stderr}")
    return float(seconds), float(kilobytes) / 1024


def write_rated(path: Path) -> None:
    """Write the rated replies of `grade` again and again under other ids, with two ratings each."""
    with gzip.open(DATA / "grade.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    with path.open("w") as out:
        for number in range(RATED):
            line = lines[number % len(lines)]
            line = {**line, "id": f"{line['id']}-{number}", "ratings": line["ratings"][:2]}
            out.write(json.dumps(line) + "\n")
