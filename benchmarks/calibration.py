"""Do our 95 % intervals cover 95 %, and do our tests at 5 % reject 5 % of true nulls?

`python -m benchmarks.calibration [--simulations N] [--only WORDS]` simulates clustered dialogues whose truth is
known and writes benchmarks/results/calibration.json. An interval is called valid in a setting if it covers
93-97 %, a test if it rejects 4-6 %. Settings where one is known to fail are kept, with the reason: they say where
not to believe it.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from math import sqrt
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from turnwise.stats import interval, permutation
from turnwise.stats.clusters import cluster_sums
from turnwise.stats.correlation import STATISTICS, across, pearson
from turnwise.stats.resample import bootstrap_sums, jackknife_sums
from turnwise.types import Floats, Ints

RESULT = Path(__file__).parent / "results" / "calibration.json"
SEED = 20240607
DRAWS = 999
BANDS = {"coverage": (0.93, 0.97), "rejection": (0.04, 0.06)}

Generator = np.random.Generator
Trial = Callable[[Generator], bool]


@dataclass(frozen=True)
class Check:
    what: str
    setting: str
    kind: str  # coverage or rejection
    trial: Trial  # covered, or rejected
    fails: str = ""  # why it is known not to hold here


def turns(rng: Generator, n_clusters: int) -> Ints:
    """Which dialogue each turn is in: 1 + Poisson(3) turns a dialogue."""
    return np.repeat(np.arange(n_clusters), 1 + rng.poisson(3, n_clusters))


def effects(rng: Generator, codes: Ints, columns: int, *, shared: float, within: float) -> Floats:
    """(n, columns) standard normal turns; a third of the variance is the dialogue's.

    `shared` and `within` are the columns' correlations between dialogues and within.
    """

    def normal(n: int, r: float) -> Floats:
        return sqrt(r) * rng.normal(size=(n, 1)) + sqrt(1 - r) * rng.normal(size=(n, columns))

    return sqrt(1 / 3) * normal(int(codes[-1]) + 1, shared)[codes] + sqrt(2 / 3) * normal(len(codes), within)


def covers(found: interval.Interval | None, truth: float) -> bool:
    return found is not None and found[0] <= truth <= found[1]


def mean_of_sums(sums: Floats) -> Floats:
    return np.divide(sums[..., 0], sums[..., 1])


def mean_trial(rng: Generator, *, method: str, n_clusters: int, skewed: bool) -> bool:
    codes = turns(rng, n_clusters)
    values = effects(rng, codes, 1, shared=0.0, within=0.0)[:, 0]
    truth = 0.0
    if skewed:  # like the length of a reply: log-normal, skewness 1.8
        values, truth = np.exp(values / 2), float(np.exp(1 / 8))
    sums = cluster_sums(np.stack([values, np.ones_like(values)], axis=1), codes, n_clusters)
    if method == "t":
        return covers(interval.t(mean_of_sums(sums)), truth)
    draws = bootstrap_sums(sums, mean_of_sums, draws=DRAWS, rng=rng)
    if method == "BCa":
        estimate = float(mean_of_sums(sums.sum(axis=0)))
        return covers(interval.bca(estimate, draws, jackknife_sums(sums, mean_of_sums)), truth)
    return covers(
        interval.percentile(draws, n_clusters=None if method == "plain percentile" else n_clusters), truth
    )


def share_trial(rng: Generator, *, n_clusters: int, most: float, flip: bool) -> bool:
    """A yes or no a dialogue; the true share is drawn anew each time, as coverage jumps from share to share."""
    share = rng.uniform(0, most)
    yes = (rng.random(n_clusters) < share) ^ flip
    sums = np.stack([yes, np.ones(n_clusters)], axis=1).astype(np.float64)
    found, _ = interval.interval_of_sums(sums, mean_of_sums, draws=DRAWS, rng=rng)
    return covers(found, 1 - share if flip else share)


def rated(rng: Generator, codes: Ints) -> tuple[Floats, Floats]:
    """A metric, and people's ratings from 1 to 5."""
    x, y = effects(rng, codes, 2, shared=0.6, within=0.4).T
    return x, np.clip(np.round(3 + y), 1, 5)


@cache
def true_correlation(statistic: str) -> float:
    """Of turns from different dialogues, by 60 samples of 2,000 (standard error .002 at most)."""
    rng = np.random.default_rng(SEED)
    return float(np.mean([STATISTICS[statistic](*rated(rng, np.arange(2000))) for _ in range(60)]))


def correlation_trial(rng: Generator, *, statistic: str, n_clusters: int) -> bool:
    codes = turns(rng, n_clusters)
    found, _ = interval.interval_of_correlation(
        statistic, *rated(rng, codes), codes, n_clusters, draws=DRAWS, rng=rng
    )
    return covers(found, true_correlation(statistic))


def systems_trial(rng: Generator, *, statistic: str, n_clusters: int, spread: float) -> bool:
    """Ten fixed systems answer the same contexts; the truth is the correlation of their true means."""
    fixed = np.random.default_rng(SEED)
    quality = fixed.normal(size=10)
    means = spread * np.stack([quality, 0.8 * quality + 0.6 * fixed.normal(size=10)], axis=1)  # (S, 2)
    context = rng.normal(size=(n_clusters, 1, 2))
    sums = means + context + rng.normal(size=(n_clusters, 10, 2))

    def of_sums(sums: Floats) -> Floats:
        flat = sums.reshape(-1, *sums.shape[-2:])
        return across(statistic, flat[..., 0], flat[..., 1]).reshape(sums.shape[:-2])

    found, _ = interval.interval_of_sums(sums, of_sums, draws=DRAWS, rng=rng, bounds=None)
    return covers(found, float(of_sums(means)))


def tokens(rng: Generator, n_clusters: int) -> tuple[Ints, Ints]:
    """(n, 8) words of each turn from a Zipf vocabulary, half of them from the dialogue's own topic."""
    codes = turns(rng, n_clusters)
    ranks = np.minimum(rng.zipf(1.3, size=(len(codes), 8)), 5000)
    topical = rng.random(ranks.shape) < 0.5
    topic = rng.integers(0, 50, n_clusters)[codes][:, None] * 5001
    return np.where(topical, ranks + topic, ranks).astype(np.int64), codes


def distinct(words: Ints, rows: Ints) -> float:
    chosen = words[rows].ravel()
    return float(np.count_nonzero(np.bincount(chosen))) / len(chosen)


def vectors(rng: Generator, n_clusters: int) -> tuple[Floats, Ints]:
    codes = turns(rng, n_clusters)
    return 0.5 + 1.2 * effects(rng, codes, 3, shared=0.3, within=0.3), codes


def frechet(points: Floats, rows: Ints) -> float:
    """Squared Frechet distance to a standard normal."""
    chosen = points[rows]
    spectrum = np.linalg.eigvalsh(np.cov(chosen.T))
    return float(np.sum(chosen.mean(axis=0) ** 2) + np.sum((np.sqrt(np.maximum(spectrum, 0)) - 1) ** 2))


SAMPLED = {"distinct-1": (tokens, distinct), "Frechet": (vectors, frechet)}


@cache
def expected(name: str, n_clusters: int) -> float:
    """The statistic's expectation on a corpus of so many dialogues, by 4,000 of them."""
    world, statistic = SAMPLED[name]
    rng = np.random.default_rng(SEED)
    values = []
    for _ in range(4000):
        rows, codes = world(rng, n_clusters)
        values.append(statistic(rows, np.arange(len(codes))))
    return float(np.mean(values))


def subsample_trial(rng: Generator, *, name: str, n_clusters: int) -> bool:
    world, statistic = SAMPLED[name]
    rows, codes = world(rng, n_clusters)
    found, _ = interval.interval_of_rows(partial(statistic, rows), codes, n_clusters, draws=299, rng=rng)
    return covers(found, expected(name, n_clusters))


def paired_trial(rng: Generator, *, n_clusters: int, skewed: bool) -> bool:
    codes = turns(rng, n_clusters)
    both = effects(rng, codes, 2, shared=0.5, within=0.2)
    both = np.exp(both) if skewed else both
    a, b = (cluster_sums(np.stack([v, np.ones_like(v)], axis=1), codes, n_clusters) for v in both.T)
    return permutation.paired(a, b, mean_of_sums, draws=DRAWS, rng=rng).p <= 0.05


def paired_rows_trial(rng: Generator, *, n_clusters: int) -> bool:
    """distinct-1 of two systems that speak alike."""
    words, codes = tokens(rng, n_clusters)
    other = rng.permuted(words, axis=0)  # the same words elsewhere: exchangeable with the first
    mixed = rng.random(n_clusters)[codes][:, None] < 0.5
    stacked = np.concatenate([np.where(mixed, words, other), np.where(mixed, other, words)])
    second = np.repeat([False, True], len(codes))
    test = permutation.paired_rows(
        partial(distinct, stacked), second, np.tile(codes, 2), n_clusters, draws=199, rng=rng
    )
    return test.p <= 0.05


def perm_both_trial(rng: Generator, *, statistic: str, n_clusters: int, skewed: bool = False) -> bool:
    codes = turns(rng, n_clusters)
    y, one, two = effects(rng, codes, 3, shared=0.5, within=0.4).T
    two = np.exp(2 * two) if skewed else two
    y = np.clip(np.round(3 + y), 1, 5)
    test = permutation.perm_both(one, two, y, codes, n_clusters, statistic, draws=DRAWS, rng=rng)
    return test.p <= 0.05


def perm_both_systems_trial(rng: Generator, *, statistic: str, n_systems: int) -> bool:
    y, one, two = effects(rng, np.arange(n_systems), 3, shared=0.7, within=0.7).T
    return permutation.perm_both_systems(one, two, y, statistic, draws=DRAWS, rng=rng).p <= 0.05


def williams_trial(rng: Generator, *, n_clusters: int, clustered: bool) -> bool:
    codes = turns(rng, n_clusters) if clustered else np.arange(n_clusters)
    y, one, two = effects(rng, codes, 3, shared=0.5, within=0.5).T
    return permutation.williams(pearson(y, one), pearson(y, two), pearson(one, two), len(y)) <= 0.05


def no_correlation_trial(rng: Generator, *, statistic: str, n_clusters: int) -> bool:
    codes = turns(rng, n_clusters)
    x, y = effects(rng, codes, 2, shared=0.0, within=0.0).T
    y = np.clip(np.round(3 + y), 1, 5)
    return permutation.correlation_test(statistic, x, y, codes, n_clusters) <= 0.05


def no_order_trial(rng: Generator, *, statistic: str, n_systems: int) -> bool:
    x, y = rng.normal(size=(2, n_systems))
    return permutation.exact_correlation_test(statistic, x, y, draws=DRAWS, rng=rng) <= 0.05


def checks() -> Iterator[Check]:
    few = "20 clusters are few"
    for n in (20, 50, 200):
        for method in ("BCa", "percentile", "plain percentile", "t"):
            for skewed in (False, True):
                shape = "skewed" if skewed else "normal"
                trial = partial(mean_trial, method=method, n_clusters=n, skewed=skewed)
                yield Check(f"{method}, mean of turns", f"{n} clusters, {shape}", "coverage", trial)
    for n in (50, 200):
        for flip in (False, True):
            trial = partial(share_trial, n_clusters=n, most=0.1, flip=flip)
            setting = f"{n} clusters, share {'90-100' if flip else '0-10'} %"
            yield Check("interval_of_sums, share at the edge", setting, "coverage", trial)
    for n in (20, 50, 200):
        for name in STATISTICS:
            trial = partial(correlation_trial, statistic=name, n_clusters=n)
            yield Check(f"BCa, {name} over turns", f"{n} clusters, ratings 1-5", "coverage", trial)
    for name in STATISTICS:
        for n, spread in ((100, 1.0), (100, 0.4), (100, 0.2)):
            trial = partial(systems_trial, statistic=name, n_clusters=n, spread=spread)
            setting = f"10 systems, {n} contexts, true means spread {spread} of a turn's noise"
            yield Check(f"BCa, {name} across systems", setting, "coverage", trial)
    for name in SAMPLED:
        for n in (50, 200):
            trial = partial(subsample_trial, name=name, n_clusters=n)
            yield Check(f"subsampling, {name}", f"{n} clusters", "coverage", trial)
    for n in (8, 50, 200):
        for skewed in (False, True):
            trial = partial(paired_trial, n_clusters=n, skewed=skewed)
            shape = "skewed" if skewed else "normal"
            yield Check("paired permutation", f"{n} clusters, {shape}", "rejection", trial)
    yield Check("paired permutation of rows", "50 clusters, distinct-1", "rejection", partial(paired_rows_trial, n_clusters=50))
    for name in STATISTICS:
        for n in (20, 50):
            trial = partial(perm_both_trial, statistic=name, n_clusters=n)
            yield Check(f"PERM-BOTH, {name} over turns", f"{n} clusters", "rejection", trial)
        trial = partial(perm_both_trial, statistic=name, n_clusters=50, skewed=True)
        if name != "pearson":
            yield Check(f"PERM-BOTH, {name} over turns", "50 clusters, one metric log-normal", "rejection", trial)
        trial = partial(perm_both_systems_trial, statistic=name, n_systems=12)
        yield Check(f"PERM-BOTH, {name} across systems", "12 systems", "rejection", trial)
    for n in (12, 50):
        yield Check("Williams", f"{n} independent items", "rejection", partial(williams_trial, n_clusters=n, clustered=False))
    yield Check("Williams", "50 clusters of turns", "rejection", partial(williams_trial, n_clusters=50, clustered=True),)
    for name in STATISTICS:
        for n in (20, 50, 200):
            trial = partial(no_correlation_trial, statistic=name, n_clusters=n)
            yield Check(f"correlation_test, {name}", f"{n} clusters", "rejection", trial)
        for n in (6, 12):
            trial = partial(no_order_trial, statistic=name, n_systems=n)
            yield Check(f"exact_correlation_test, {name}", f"{n} systems", "rejection", trial)


def rate(check: Check, simulations: int, seed: int = SEED) -> float:
    rng = np.random.default_rng(seed)
    return sum(check.trial(rng) for _ in range(simulations)) / simulations


def _line(job: tuple[Check, int]) -> dict[str, object]:
    check, simulations = job
    start = time.perf_counter()
    found = rate(check, simulations)
    low, high = BANDS[check.kind]
    line = {
        "what": check.what,
        "setting": check.setting,
        check.kind: round(found, 4),
        "standard_error": round(sqrt(found * (1 - found) / simulations), 4),
        "valid": low <= found <= high,
        "why_not": check.fails,
    }
    print(f"{check.what:<40} {check.setting:<50} {found:.4f} {'' if line['valid'] else 'OUTSIDE':<8} {time.perf_counter()-start:.0f}s", file=sys.stderr, flush=True)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--simulations", type=int, default=5000)
    parser.add_argument("--only", default="", help="checks whose name has this in it; prints, writes nothing")
    asked = parser.parse_args()
    jobs = [(check, asked.simulations) for check in checks() if asked.only in check.what]
    with Pool(2) as pool:
        lines = pool.map(_line, jobs, chunksize=1)
    if not asked.only:
        RESULT.parent.mkdir(exist_ok=True)
        command = f"python -m benchmarks.calibration --simulations {asked.simulations}"
        head = {"command": command, "simulations": asked.simulations, "seed": SEED, "draws": DRAWS, "bands": BANDS}
        RESULT.write_text(json.dumps({**head, "lines": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
