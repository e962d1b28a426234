"""Coverage of two intervals of a correlation over items by cluster, and rejections of two tests, on simulated data.

    OMP_NUM_THREADS=1 python -m benchmarks.correlations

writes benchmarks/results/correlations.json: for each statistic, 12 and 40 clusters of 1 to 5 items and three true
values, what `meta` does (BCa from 1,000 draws, below 20 clusters t on the jackknife; p by flipping clusters) beside
Student's t on the jackknife of Fisher's z, from which interval and test both follow. `disagree` is the share of data
sets in which interval and p of `meta` say different things of 0. Scores are normal, or lognormal with ratings from 1
to 5.
"""

import argparse
import json
from itertools import product
from math import atanh, sin, tanh
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.stats.clusters import cluster_sums
from turnwise.stats.correlation import STATISTICS
from turnwise.stats.interval import interval_of_correlation
from turnwise.stats.permutation import correlation_test
from turnwise.stats.studentised import paired
from turnwise.stats.weighted import weighted_correlation
from turnwise.types import Floats, Ints

RESULT = Path(__file__).parent / "results" / "correlations.json"
SEED = 20261119
DRAWS = 1000
ALIKE = 0.3  # share of the variance that the items of a cluster have in common
STEPS = (-1.5, -0.8, 0.0, 0.8)  # between the ratings 1 to 5
# The correlation of two normal variables with this value of the statistic.
NORMAL = {
    "pearson": lambda value: value,
    "spearman": lambda value: 2 * sin(np.pi * value / 6),
    "kendall": lambda value: sin(np.pi * value / 2),
}
WORST = 1 - 1e-6  # Fisher's z of a correlation of 1 is infinite


def items(codes: Ints, rho: float, kind: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Scores and ratings of items in these clusters."""
    mixed = np.linalg.cholesky(np.array([[1.0, rho], [rho, 1.0]])).T
    shared = rng.normal(size=(codes.max() + 1, 2)) @ mixed
    x, y = (ALIKE**0.5 * shared[codes] + (1 - ALIKE) ** 0.5 * (rng.normal(size=(len(codes), 2)) @ mixed)).T
    return (x, y) if kind == "normal" else (np.exp(x), np.digitize(y, STEPS) + 1.0)


def truth(statistic: str, rho: float, kind: str) -> float:
    """The statistic of items of different clusters, from 20 samples of 3,000."""
    rng = np.random.default_rng(SEED)
    apart = np.arange(3000)
    return float(np.mean([STATISTICS[statistic](*items(apart, rho, kind, rng)) for _ in range(20)]))


def line(kind: str, statistic: str, n_clusters: int, value: float, sets: int) -> dict[str, Any]:
    """The coverage and the rejections of one design."""
    rho = float(NORMAL[statistic](value))
    true = value if kind == "normal" or not value else truth(statistic, rho, kind)
    covered, rejected = dict.fromkeys(("meta", "t"), 0), dict.fromkeys(("meta", "t"), 0)
    disagree = 0
    for at in range(sets):
        rng = np.random.default_rng([SEED, n_clusters, at])
        codes = np.repeat(np.arange(n_clusters), rng.integers(1, 6, n_clusters))
        x, y = items(codes, rho, kind, rng)
        arguments = (statistic, x, y, codes, n_clusters)
        drawn, _ = interval_of_correlation(*arguments, draws=DRAWS, rng=np.random.default_rng(at))
        p = correlation_test(*arguments, draws=DRAWS, rng=np.random.default_rng(at))
        of = weighted_correlation(*arguments)
        z = np.arctanh(np.clip(of.without_each(), -WORST, WORST))
        whole = atanh(float(np.clip(of(np.ones((1, n_clusters)))[0], -WORST, WORST)))
        sizes = cluster_sums(np.ones((len(codes), 1)), codes, n_clusters)[:, 0]
        test = paired(whole, z, sizes, unit=1.0)
        ends = test.interval()
        if drawn is None or ends is None:
            raise ValueError("a simulated set has no interval")
        for name, (low, high) in (("meta", drawn), ("t", (tanh(ends[0]), tanh(ends[1])))):
            covered[name] += low <= true <= high
        rejected["meta"] += p <= 0.05
        rejected["t"] += test.p <= 0.05
        disagree += (p <= 0.05) != (not drawn[0] < 0 < drawn[1])
    return {
        "scores": kind, "statistic": statistic, "clusters": n_clusters, "true": round(true, 3), "sets": sets,
        "covered": {name: count / sets for name, count in covered.items()},
        "rejected": {name: count / sets for name, count in rejected.items()}, "disagree": disagree / sets,
    }  # fmt: skip


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="Intervals and tests of correlations.")
    parser.add_argument("--sets", type=int, default=2000)
    sets = parser.parse_args().sets
    designs = product(("normal", "lognormal"), NORMAL, (12, 40), (0.0, 0.3, 0.6))
    lines = []
    for design in designs:
        lines.append(line(*design, sets))
        print(json.dumps(lines[-1]), flush=True)
    document = {"command": "OMP_NUM_THREADS=1 python -m benchmarks.correlations", "lines": lines}
    RESULT.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
