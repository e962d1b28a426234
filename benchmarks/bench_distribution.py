"""Speed of distribution distances against the usual implementations, and their memory on a million vectors.

The vectors are random, with a decaying spectrum like that of sentence vectors. Both sides start from the same vectors,
and values are compared before times. Times are processor times: on a busy machine, wall-clock times favour the faster
side, and the first ratio here was once 1,400 instead of 100. The peers are a generic matrix square root (scipy's
`sqrtm`, as in the released code of FBD), ten runs of scikit-learn's MiniBatchKMeans on all dimensions (as in the
released code of PRD), and MAUVE on the same vectors if mauve-text is installed (it is under the GPL, and nothing that
is shipped imports it).
"""

import importlib.util
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy.linalg import sqrtm
from sklearn.cluster import MiniBatchKMeans

from benchmarks.bench_memory import SCORE
from benchmarks.corpus import write
from benchmarks.harness import Line, peak
from turnwise.metrics.distribution.curve import Curve, Histograms, histograms
from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.types import Floats

D = 384  # dimensions of MiniLM
SMALL, LARGE = 100_000, 1_000_000  # vectors
# Replies of 4 agents: more of each agent, and more real pairs, than are kept in memory.
FEW, MANY = (40_000, 160_000)
PROBE = f"""
import sys
from functools import reduce
from operator import add
import numpy as np
from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.metrics.distribution.moments import Moments

def blocks(seed, count, size=2000):
    rng = np.random.default_rng(seed)
    for start in range(0, count, size):
        yield rng.standard_normal((min(size, count - start), {D})) + seed / 10

count = int(sys.argv[1])
value = distance(*(Gaussian.of_moments(reduce(add, map(Moments.of, blocks(seed, count)))) for seed in (0, 1)))
expected = {D} / 100 + {D} * ({D} + 5) / (2 * count)  # the true distance plus the bias of two finite samples
if abs(value - expected) > .02 * expected:
    sys.exit(f"the distance of two known Gaussians is {{expected}}, not {{value}}")
"""


def bench() -> Iterator[Line]:
    yield from against_square_root()
    yield against_mini_batches()
    if importlib.util.find_spec("mauve"):
        yield against_mauve()
    small, large = (peak(PROBE, [str(n)]) for n in (SMALL, LARGE))
    name = f"peak memory of FBD on {LARGE:,} vectors a side"
    yield Line(name, large, small, f"{SMALL:,} vectors", 1.1, "MiB", at_most=True)
    with tempfile.TemporaryDirectory() as folder:
        few, many = (peak_of_score(Path(folder), n) for n in (FEW, MANY))
    yield Line(
        f"peak memory of `score -m fbd`, {MANY:,} replies", many, few, f"{FEW:,}", 1.1, "MiB", at_most=True
    )


def processor_time(function: Callable[[], object], repeats: int) -> float:
    """Processor seconds of the fastest run."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def vectors(n: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, D)) * np.geomspace(1, 0.05, D) + 0.05 * seed


def frechet(x: Floats, y: Floats) -> float:
    return distance(Gaussian.of(x), Gaussian.of(y))


def against_square_root() -> Iterator[Line]:
    """The Frechet distance of two sets, and of one more set from a Gaussian that is already fitted."""
    for n, repeats, goal in ((100, 30, 200), (10_000, 3, 1.8)):
        x, y = vectors(n, 0), vectors(n, 1)
        people = Gaussian.of(y)
        peer = partial(by_square_root, x, y)
        tolerance = 1e-9 if n > D else 1e-4  # sqrtm is inexact with fewer vectors than dimensions
        if not math.isclose(frechet(x, y), peer(), rel_tol=tolerance):
            raise ValueError(f"not the same number: {frechet(x, y)} here and {peer()} there")

        methods = [(partial(frechet, x, y), repeats), (partial(one_more, x, people), repeats), (peer, 1)]
        times = [[processor_time(*method) for method in methods] for _ in range(12)]  # alternately
        both, one, theirs = (min(column) for column in zip(*times, strict=True))
        yield Line(f"Frechet distance, {n:,} vectors of {D}", both, theirs, "scipy sqrtm", goal)
        yield Line(f"the same, {n:,} of one more system", one, theirs, "scipy sqrtm", goal)


def one_more(x: Floats, people: Gaussian) -> float:
    """The distance of one more set from a fitted Gaussian."""
    return distance(Gaussian.of(x), people)


def by_square_root(x: Floats, y: Floats) -> float:
    """The Frechet distance with a generic matrix square root."""
    s, t = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sqrtm warns about singular matrices
        root = sqrtm(s @ t)
    return float(np.sum((x.mean(0) - y.mean(0)) ** 2) + np.trace(s) + np.trace(t) - 2 * np.trace(root).real)


def against_mini_batches() -> Line:
    n = 1000
    real, generated = vectors(n, 0), vectors(n, 1)

    def ours() -> float:
        return histograms(real, generated, 20, components=32, rng=np.random.default_rng(0)).f1()

    def peer() -> float:
        curves = []
        for seed in range(10):
            labels = (
                MiniBatchKMeans(20, n_init=10, random_state=seed).fit(np.vstack([real, generated])).labels_
            )
            shares = (np.bincount(part, minlength=20) / n for part in (labels[:n], labels[n:]))
            curves.append(Histograms(*shares).at_angles(1001))
        return Curve(*(np.mean(values, axis=0) for values in zip(*curves, strict=True))).f1

    if not math.isclose(ours(), peer(), abs_tol=0.1):
        raise ValueError(f"not the same task: {ours()} here and {peer()} there")
    return Line(
        f"PRD, {n:,} vectors a side",
        processor_time(ours, 5),
        processor_time(peer, 2),
        "10 x MiniBatchKMeans",
        20,
    )


def against_mauve() -> Line:
    from mauve import compute_mauve

    real, generated = vectors(1000, 0), vectors(1000, 1)

    def peer() -> object:
        return compute_mauve(p_features=real, q_features=generated, verbose=False, num_buckets=20)

    ours = processor_time(
        lambda: histograms(real, generated, 20, components=32, rng=np.random.default_rng(0)).f1(), 5
    )
    return Line("PRD, 1,000 vectors a side", ours, processor_time(peer, 2), "mauve-text", 2)


def peak_of_score(folder: Path, count: int) -> float:
    """Peak memory, in MiB, of `score -m fbd` on this many replies, with vectors of hashed words."""
    write(data := folder / f"{count}.jsonl", count)
    return peak(SCORE, ["score", str(data), "-m", "fbd[model=hashing]", "--draws", "100", "-q"])
