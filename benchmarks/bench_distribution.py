"""Distances between distributions against the usual ways to them, and their memory on a million vectors.

Made-up vectors with the decaying spectrum that sentence vectors have. Both sides start from the same vectors, and
values are compared before times are. The peers: a generic matrix square root (scipy's `sqrtm`, as in the released code
of FBD), ten runs of scikit-learn's MiniBatchKMeans on all dimensions (as in that of PRD), and MAUVE on the same
features where mauve-text is installed (it is under the GPL, and no dependency of ours).
"""

import importlib.util
import math
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.linalg import sqrtm
from sklearn.cluster import MiniBatchKMeans

from benchmarks.harness import Line, best_of
from turnwise.metrics.distribution.curve import Curve, Histograms, histograms
from turnwise.metrics.distribution.frechet import frechet
from turnwise.types import Floats

D = 384  # of MiniLM
SMALL, LARGE = 100_000, 1_000_000
PROBE = f"""
import resource, sys
import numpy as np
from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.metrics.distribution.moments import Moments

def blocks(seed, count, size=2000):
    rng = np.random.default_rng(seed)
    for start in range(0, count, size):
        yield rng.standard_normal((min(size, count - start), {D})) + seed / 10

sides = [Gaussian.of_moments(Moments.of_parts(blocks(seed, int(sys.argv[1])))) for seed in (0, 1)]
print(distance(*sides), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def bench() -> Iterator[Line]:
    yield from against_square_root()
    yield against_mini_batches()
    if importlib.util.find_spec("mauve"):
        yield against_mauve()
    (small, _), (large, value) = peak(SMALL), peak(LARGE)
    if not math.isclose(value, D / 100, rel_tol=0.05):
        raise ValueError(f"the distance of two known Gaussians is {D / 100}, not {value}")
    yield Line(
        f"peak memory of FBD on {LARGE:,} vectors a side",
        large,
        small,
        f"{SMALL:,} vectors",
        1.1,
        "MiB",
        True,
    )


def vectors(n: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, D)) * np.geomspace(1, 0.05, D) + 0.05 * seed


def against_square_root() -> Iterator[Line]:
    for n, repeats, goal in ((100, 7, 200), (10_000, 3, 1.8)):
        x, y = vectors(n, 0), vectors(n, 1)
        ours, peer = partial(frechet, x, y), partial(by_square_root, x, y)
        tolerance = (
            1e-9 if n > D else 1e-4
        )  # the square root errs where there are fewer vectors than dimensions
        if not math.isclose(ours(), peer(), rel_tol=tolerance):
            raise ValueError(f"not the same number: {ours()} here and {peer()} there")
        times = [(best_of(ours, repeats), best_of(peer, 1)) for _ in range(repeats)]  # in turn
        best = (min(side) for side in zip(*times, strict=True))
        yield Line(f"Frechet distance, {n:,} vectors of {D}", *best, "scipy sqrtm", goal)


def by_square_root(x: Floats, y: Floats) -> float:
    s, t = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that a singular matrix may have no square root
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
            sides = (np.bincount(part, minlength=20) / n for part in (labels[:n], labels[n:]))
            curves.append(Histograms(*sides).angles(1001))
        return Curve(*(np.mean(side, axis=0) for side in zip(*curves, strict=True))).f1

    if not math.isclose(ours(), peer(), abs_tol=0.1):
        raise ValueError(f"not the same task: {ours()} here and {peer()} there")
    return Line(f"PRD, {n:,} vectors a side", best_of(ours, 5), best_of(peer, 2), "10 x MiniBatchKMeans", 20)


def against_mauve() -> Line:
    from mauve import compute_mauve

    real, generated = vectors(1000, 0), vectors(1000, 1)

    def peer() -> object:
        return compute_mauve(p_features=real, q_features=generated, verbose=False, num_buckets=20)

    ours = best_of(
        lambda: histograms(real, generated, 20, components=32, rng=np.random.default_rng(0)).f1(), 5
    )
    return Line("PRD, 1,000 vectors a side", ours, best_of(peer, 2), "mauve-text", 2)


def peak(count: int) -> tuple[float, float]:
    """MiB at the highest point of a run over so many vectors a side, and the distance it found."""
    command = [sys.executable, "-c", PROBE, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    value, memory = map(float, done.stdout.split())
    return memory, value
