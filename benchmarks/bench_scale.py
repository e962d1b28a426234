"""Ten times the dialogues take ten times as long and no more memory; and what a cluster costs beside local processes.

Times are processor times of the whole command, workers included, so that a busy machine does not show. Each is taken
less what the command takes on almost nothing: starting Python and its libraries is no part of growth. The vectors are
of hashed words; with a model its own rate is added (bench_neural), which is the same for every reply.
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
from turnwise.logs import native
from turnwise.metrics.distribution.curve import histograms
from turnwise.metrics.distribution.quantised import QuantisedVectors, draw_centres
from turnwise.run.dialogues.simulate import Simulation, simulate

TURNS = 20_000  # replies of the smaller corpus
SELLERS, DIALOGUES = 5, 1600  # an agent, of the smaller logs
OVERLAP = "score {} -m bleu-4,rouge-l,length -q"
FBD = "score {} -m fbd[model=hashing] --draws 100 -q"
OPE = "ope {} --target hurries --rating reward --stream --estimator fqe --model hashing -q"
RAY = "score {} -m bleu-4,chrf,rouge-l -q --jobs 2"


COMMAND = """
import os, sys
os.environ["OMP_NUM_THREADS"] = "1"  # read when numpy is loaded
from turnwise.cli.group import run
sys.exit(run(sys.argv[1:]))
"""


class Cost(NamedTuple):
    processor: float  # seconds, workers included
    wall: float
    peak: float  # MiB, of the process that was started, which does all the work where --jobs is not given


def cost(command: str, data: Path, *more: str) -> Cost:
    """What a command takes."""
    before, begun = _processor(), time.perf_counter()
    highest = peak(COMMAND, [*command.format(data).split(), *more])
    return Cost(_processor() - before, time.perf_counter() - begun, highest)


def _processor() -> float:
    """Seconds of all processes that were started here and have ended, their own included."""
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
    yield cells()


def replies(folder: Path, count: int) -> Path:
    write(path := folder / f"replies{count}.jsonl", count)
    return path


def dialogues(folder: Path, each: int) -> Path:
    path = folder / f"logs{each}.jsonl"
    simulate(
        Simulation(world="booking", family="behaviour", agents=SELLERS, dialogues=each, samples=1, truth=0),
        str(path),
    )
    return path


def grown(name: str, command: str, data: Sequence[Path], much: str) -> Iterator[Line]:
    """Growth from the second to the third file. The first, which stands for the start, holds something too."""
    none, few, many = (sum(1 for _ in path.open("rb")) for path in data)
    nothing, small, large = (cost(command, path) for path in data)
    tenfold = 10 * (few - none) / (many - none)  # close to 1
    times = tenfold * (large.processor - nothing.processor), small.processor - nothing.processor
    yield Line(f"{name}: {much}", *times, "a tenth of them", 12.0, at_most=True)
    yield Line(f"{name}: peak memory", large.peak, small.peak, "a tenth", 1.2, "MiB", at_most=True)


def started(data: Path) -> Line:
    """The first hundred replies, here: nothing of Ray is loaded, and nothing waits for the rest."""
    ours = cost(OVERLAP, data, "--limit", "20")
    peer = cost("validate {}", data)
    return Line(
        "the first 100 replies scored, wall clock", ours.wall, peer.wall, "`validate`", 3.0, at_most=True
    )


def tables(small: Path, large: Path) -> Iterator[Line]:
    """The same conversations in Parquet, as nested columns and as columns of JSON text, read as every command does."""
    lines = _reading(small)
    for kind in ("nested columns", "columns of JSON text"):
        tabled = [_parquet(path, nested=kind.startswith("nested")) for path in (small, large)]
        _reading(tabled[0])  # loads the library
        name = f"reading {TURNS:,} replies from Parquet, {kind}"
        yield Line(name, _reading(tabled[0]), lines, "JSON Lines", 4.0, at_most=True)
        few, many = (peak(COMMAND, ["validate", str(path)]) for path in tabled)
        name = f"reading {10 * TURNS:,} replies from Parquet, {kind}: peak memory"
        yield Line(name, many, few, "a tenth", 1.2, "MiB", at_most=True)


def _parquet(data: Path, *, nested: bool) -> Path:
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


def _reading(path: Path) -> float:
    begun = time.process_time()
    for _ in native.read(str(path)):
        pass
    return time.process_time() - begun


def cluster(small: Path, large: Path) -> Iterator[Line]:
    """Two workers of either kind on the same two cores: what Ray adds once, and what it adds to each reply."""
    here, there = ([cost(RAY, path, "--on", on) for path in (small, large)] for on in ("local", "ray"))
    name = f"score --on ray: {TURNS:,} replies, start and end included"
    yield Line(name, there[0].wall, here[0].wall, "local processes", 5.0, at_most=True)
    growth = [two.wall - one.wall for one, two in (there, here)]
    name = f"score --on ray: {9 * TURNS:,} further replies"
    yield Line(name, *growth, "local processes", 1.5, at_most=True)


def cells() -> Line:
    """What PRD from cells is beside PRD from the vectors: a difference of F1, in percent, against one of seeds."""
    rng = np.random.default_rng(0)
    middles = rng.normal(size=(12, 64))
    real = middles[rng.integers(12, size=4000)] + rng.normal(size=(4000, 64))
    made = middles[rng.integers(8, size=20_000)] + rng.normal(size=(20_000, 64)) + 0.3
    kept = QuantisedVectors.of(0.0, made, draw_centres(real, np.random.default_rng(0)))
    points, counts = kept.points()

    def f1(seed: int, generated: np.ndarray, many: np.ndarray | None) -> float:
        chance = np.random.default_rng(seed)
        return histograms(real, generated, 20, components=32, counts=many, rng=chance).f1()

    exact = [f1(seed, made, None) for seed in range(4)]
    moved = float(np.mean([abs(f1(seed, points, counts) - np.mean(exact)) for seed in range(4)]))
    return Line(
        "PRD of 20,000 replies from 1,024 cells, off by", moved, float(np.ptp(exact)) + 0.02, "the seeds' range + .02",
        1.0, "F1", at_most=True,
    )  # fmt: skip
