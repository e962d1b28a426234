"""Growth of time and memory with ten times the data, and the cost of a Ray cluster against local processes.

Ten times the dialogues should take ten times as long and no more memory. Times are processor times of the whole
command, workers included, so that other processes do not count. The time of the command on almost no data is
subtracted, because the start of Python and its libraries does not grow. Vectors are of hashed words; a model adds its
own time per reply (see bench_neural).
"""

import importlib.util
import json
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.corpus import write
from benchmarks.harness import Line, peak
from turnwise import simulate
from turnwise.logs import native
from turnwise.metrics.distribution.curve import histograms
from turnwise.metrics.distribution.quantised import QuantisedVectors, draw_centres

TURNS = 20_000  # replies of the smaller corpus
SELLERS, DIALOGUES = 5, 1600  # agents, and dialogues of each, of the smaller logs
OVERLAP = "score {} -m bleu-4,rouge-l,length -q"
FBD = "score {} -m fbd[model=hashing] --draws 100 -q"
OPE = "ope {} --target hurries --rating reward --stream --estimator fqe --model hashing -q"
RAY = "score {} -m bleu-4,chrf,rouge-l -q --jobs 2"


COMMAND = """
import os, sys
os.environ["OMP_NUM_THREADS"] = "1"  # read when numpy is loaded
from turnwise.cli.common.group import run
sys.exit(run(sys.argv[1:]))
"""


class Cost(NamedTuple):
    processor: float  # seconds, workers included
    wall: float  # seconds
    peak: float  # MiB of the main process, which does all the work without --jobs


def cost(command: str, data: Path, *more: str) -> Cost:
    """Time and memory of a command on a file."""
    before, start = _processor_seconds(), time.perf_counter()
    highest = peak(COMMAND, [*command.format(data).split(), *more])
    return Cost(_processor_seconds() - before, time.perf_counter() - start, highest)


def _processor_seconds() -> float:
    """Processor seconds of all ended child processes and their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bench() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sizes = {"replies": (400, TURNS, 10 * TURNS)}
        corpora = [replies(folder, count) for count in sizes["replies"]]
        yield from grown("score -m bleu-4,rouge-l,length", OVERLAP, corpora, f"{10 * TURNS:,} replies")
        yield from grown("score -m fbd", FBD, corpora, f"{10 * TURNS:,} replies")
        logs = [dialogues(folder, count) for count in (20, DIALOGUES, 10 * DIALOGUES)]
        name = f"{10 * SELLERS * DIALOGUES:,} dialogues"
        yield from grown("ope --stream --estimator fqe", OPE, logs, name)
        yield started(corpora[1])
        if importlib.util.find_spec("polars"):
            yield from tables(corpora[1], corpora[2])
        if importlib.util.find_spec("ray"):
            yield from cluster(corpora[1], corpora[2])
    yield quantised_prd()


def replies(folder: Path, count: int) -> Path:
    """A file with this many generated replies."""
    write(path := folder / f"replies{count}.jsonl", count)
    return path


def dialogues(folder: Path, each: int) -> Path:
    """A file with this many simulated dialogues of each agent."""
    path = folder / f"logs{each}.jsonl"
    simulate("booking", output=path, family="behaviour", agents=SELLERS, dialogues=each, samples=1, truth=0)
    return path


def grown(name: str, command: str, data: Sequence[Path], much: str) -> Iterator[Line]:
    """Growth of time and memory from the second to the third file; the first, tiny one measures the start."""
    tiny_lines, few_lines, many_lines = (sum(1 for _ in path.open("rb")) for path in data)
    tiny, small, large = (cost(command, path) for path in data)
    correction = 10 * (few_lines - tiny_lines) / (many_lines - tiny_lines)  # close to 1
    times = correction * (large.processor - tiny.processor), small.processor - tiny.processor
    yield Line(f"{name}: {much}", *times, "a tenth of them", 12.0, at_most=True)
    yield Line(f"{name}: peak memory", large.peak, small.peak, "a tenth", 1.2, "MiB", at_most=True)


def started(data: Path) -> Line:
    """Wall-clock time until the first hundred replies are scored, without Ray."""
    ours = cost(OVERLAP, data, "--limit", "20")
    peer = cost("validate {}", data)
    return Line(
        "the first 100 replies scored, wall clock", ours.wall, peer.wall, "`validate`", 3.0, at_most=True
    )


def tables(small: Path, large: Path) -> Iterator[Line]:
    """Reading of the same dialogues from Parquet, as nested columns and as columns of JSON text."""
    json_lines = _reading_time(small)
    for kind in ("nested columns", "columns of JSON text"):
        tabled = [_parquet(path, nested=kind.startswith("nested")) for path in (small, large)]
        _reading_time(tabled[0])  # loads the library
        name = f"reading {TURNS:,} replies from Parquet, {kind}"
        yield Line(name, _reading_time(tabled[0]), json_lines, "JSON Lines", 4.0, at_most=True)
        few, many = (peak(COMMAND, ["validate", str(path)]) for path in tabled)
        name = f"reading {10 * TURNS:,} replies from Parquet, {kind}: peak memory"
        yield Line(name, many, few, "a tenth", 1.2, "MiB", at_most=True)


def _parquet(data: Path, *, nested: bool) -> Path:
    """Write the dialogues of a JSON Lines file as Parquet."""
    import polars

    rows = [json.loads(line) for line in data.read_bytes().splitlines()]
    if not nested:
        rows = [
            {key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()}
            for row in rows
        ]
    path = data.with_suffix(".parquet")
    polars.DataFrame(rows, infer_schema_length=None).write_parquet(path, row_group_size=4096)
    return path


def _reading_time(path: Path) -> float:
    """Processor seconds to read all dialogues of a file."""
    start = time.process_time()
    for _ in native.read(str(path)):
        pass
    return time.process_time() - start


def cluster(small: Path, large: Path) -> Iterator[Line]:
    """Two Ray workers against two local processes on the same cores: the cost of the start, and of each reply."""
    local, ray = ([cost(RAY, path, "--on", on) for path in (small, large)] for on in ("local", "ray"))
    name = f"score --on ray: {TURNS:,} replies, start and end included"
    yield Line(name, ray[0].wall, local[0].wall, "local processes", 5.0, at_most=True)
    growth = [two.wall - one.wall for one, two in (ray, local)]
    name = f"score --on ray: {9 * TURNS:,} further replies"
    yield Line(name, *growth, "local processes", 1.5, at_most=True)


def quantised_prd() -> Line:
    """Error of PRD from quantised vectors, against the range of exact PRD over seeds."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(12, 64))
    real = means[rng.integers(12, size=4000)] + rng.normal(size=(4000, 64))
    generated = means[rng.integers(8, size=20_000)] + rng.normal(size=(20_000, 64)) + 0.3
    quantised = QuantisedVectors.of(0.0, generated, draw_centres(real, np.random.default_rng(0)))
    points, counts = quantised.points()

    def f1(seed: int, vectors: np.ndarray, weights: np.ndarray | None) -> float:
        rng = np.random.default_rng(seed)
        return histograms(real, vectors, 20, components=32, counts=weights, rng=rng).f1()

    exact = [f1(seed, generated, None) for seed in range(4)]
    error = float(np.mean([abs(f1(seed, points, counts) - np.mean(exact)) for seed in range(4)]))
    return Line(
        "PRD of 20,000 replies from 1,024 cells, off by", error, float(np.ptp(exact)) + 0.02, "the seeds' range + .02",
        1.0, "F1", at_most=True,
    )  # fmt: skip
