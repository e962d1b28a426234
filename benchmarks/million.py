"""`python -m benchmarks.million [FOLDER]`: time and memory of `turnwise ope --stream` on a million simulated dialogues.

A hundred thousand booking dialogues of five sellers are simulated, with the alternatives of every seller at each turn,
and written to ten files under different ids. One seller's reward is estimated from the dialogues of the other four,
with calibration. One of the files is estimated first, to compare time and memory. It takes most of an hour of
processor time and six gigabytes of disk, and writes benchmarks/results/million.json.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SELLERS, EACH, COPIES = 5, 20_000, 10
TARGET = "hurries"
RESULT = Path(__file__).parent / "results" / "million.json"


def simulated(folder: Path) -> Path:
    """The file of simulated dialogues; simulated if it does not exist."""
    path = folder / "part.jsonl"
    if not path.exists():
        command = "simulate booking --family behaviour --samples 1 --truth 2000 -q"
        many = ["--agents", str(SELLERS), "--dialogues", str(EACH), "-o", str(path)]
        subprocess.run([sys.executable, "-m", "turnwise", *command.split(), *many], check=True)
    return path


def copied(part: Path, number: int) -> Path:
    """A copy of the dialogues under other ids."""
    path = part.with_name(f"logs-{number}.jsonl")
    prefix, new_prefix = b'{"id":"', b'{"id":"%d/' % number
    with part.open("rb") as source, path.open("wb") as file:
        for line in source:
            if not line.startswith(prefix):
                raise ValueError(f"a line begins with {line[:20]!r}")
            file.write(new_prefix + line.removeprefix(prefix))
    return path


def estimated(files: list[Path], jobs: int) -> dict[str, object]:
    """The command's estimates of the target, with its time and memory."""
    command = [
        "ope",
        *map(str, files),
        "--target",
        TARGET,
        "--rating",
        "reward",
        "--stream",
        "--model",
        "hashing",
    ]
    options = ["--estimator", "fqe,dice-linear", "--jobs", str(jobs), "--format", "json", "-q"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    begun = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "turnwise", *command, *options], stdout=out, env=environment
        )
        _, code, used = os.wait4(process.pid, 0)
        if code:
            raise RuntimeError(f"the command ended with {code}")
        out.seek(0)
        results = json.load(out)["results"]
    shown = ("estimator", "estimate", "interval", "raw", "logged", "n_items")
    return {
        "dialogues": SELLERS * EACH * len(files),
        "bytes": sum(file.stat().st_size for file in files),
        "jobs": jobs,
        "seconds": round(time.monotonic() - begun, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),  # of workers too
        "peak_mib": round(used.ru_maxrss / 1024, 1),  # of the largest process
        "results": [{name: row[name] for name in shown} for row in results],
    }


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    part = simulated(folder)
    truth = json.loads(part.with_name("part.truth.json").read_text())["agents"][TARGET]["reward"]
    files = [copied(part, number) for number in range(COPIES)]
    runs = []
    for some in (files[:1], files):
        runs.append(estimated(some, jobs=2))
        print(json.dumps(runs[-1]), flush=True)
        kept = {"command": "python -m benchmarks.million", "target": TARGET, "truth": truth, "runs": runs}
        RESULT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
