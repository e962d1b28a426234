"""Simulated clustered dialogues with known truth, and one trial of each interval and test on them.

A trial draws a data set and returns whether the interval covered the truth, or whether the test rejected a true null
hypothesis. `benchmarks.calibration` runs many trials; the tests run fewer.
"""

from functools import cache, partial
from math import sqrt

import numpy as np

from turnwise.stats import interval, permutation, studentised, unpaired
from turnwise.stats.clusters import cluster_sums
from turnwise.stats.correlation import STATISTICS, pearson, row_correlations
from turnwise.stats.resample import bootstrap_sums, jackknife_sums
from turnwise.types import Floats, Ints

SEED = 20240607
DRAWS = 999  # resamples of an interval or a test
SYSTEMS = 10  # agents in the system-level trials

Generator = np.random.Generator


def turns(rng: Generator, n_clusters: int) -> Ints:
    """The dialogue of each turn; a dialogue has 1 + Poisson(3) turns."""
    return np.repeat(np.arange(n_clusters), 1 + rng.poisson(3, n_clusters))


def effects(rng: Generator, codes: Ints, columns: int, *, shared: float, within: float) -> Floats:
    """(n, columns) standard normal values of turns; a third of the variance is between dialogues.

    `shared` and `within` are the correlations of the columns between dialogues and within dialogues.
    """

    def normal(n: int, r: float) -> Floats:
        return sqrt(r) * rng.normal(size=(n, 1)) + sqrt(1 - r) * rng.normal(size=(n, columns))

    return sqrt(1 / 3) * normal(int(codes[-1]) + 1, shared)[codes] + sqrt(2 / 3) * normal(len(codes), within)


def covers(found: interval.Interval | None, truth: float) -> bool:
    """Whether the interval exists and contains the truth."""
    return found is not None and found[0] <= truth <= found[1]


def mean_of_sums(sums: Floats) -> Floats:
    return np.divide(sums[..., 0], sums[..., 1])


def mean_trial(rng: Generator, *, method: str, n_clusters: int, skewed: bool) -> bool:
    """Does an interval of the mean of turns cover the true mean?"""
    codes = turns(rng, n_clusters)
    values = effects(rng, codes, 1, shared=0.0, within=0.0)[:, 0]
    truth = 0.0
    if skewed:  # like the length of a reply: log-normal, skewness 1.8
        values, truth = np.exp(values / 2), float(np.exp(1 / 8))
    sums = cluster_sums(np.stack([values, np.ones_like(values)], axis=1), codes, n_clusters)
    if method == "percentile of turns":  # as if turns were independent
        sums, n_clusters = np.stack([values, np.ones_like(values)], axis=1), len(values)
    if method == "t":
        return covers(interval.mean_t_interval(mean_of_sums(sums)), truth)
    if method == "jackknife t":
        estimate = float(mean_of_sums(sums.sum(axis=0)))
        return covers(interval.jackknife_t(estimate, jackknife_sums(sums, mean_of_sums)), truth)
    draws = bootstrap_sums(sums, mean_of_sums, draws=DRAWS, rng=rng)
    if method == "BCa":
        estimate = float(mean_of_sums(sums.sum(axis=0)))
        return covers(interval.bca(estimate, draws, jackknife_sums(sums, mean_of_sums)), truth)
    widened = None if method == "plain percentile" else n_clusters
    return covers(interval.percentile(draws, n_clusters=widened), truth)


def share_trial(rng: Generator, *, n_clusters: int, most: float, flip: bool) -> bool:
    """Does an interval of a share cover the true share?

    There is one binary value per dialogue. The true share is drawn anew in each trial, because coverage varies with it.
    """
    share = rng.uniform(0, most)
    yes = (rng.random(n_clusters) < share) ^ flip
    sums = np.stack([yes, np.ones(n_clusters)], axis=1).astype(np.float64)
    found, _ = interval.interval_of_sums(sums, mean_of_sums, draws=DRAWS, rng=rng)
    return covers(found, 1 - share if flip else share)


def rated(rng: Generator, codes: Ints) -> tuple[Floats, Floats]:
    """Scores of a metric and correlated ratings from 1 to 5."""
    x, y = effects(rng, codes, 2, shared=0.6, within=0.4).T
    return x, np.clip(np.round(3 + y), 1, 5)


@cache
def true_correlation(statistic: str) -> float:
    """The true correlation of turns of different dialogues, from 60 samples of 1,000 (standard error at most .004)."""
    rng = np.random.default_rng(SEED)
    return float(np.mean([STATISTICS[statistic](*rated(rng, np.arange(1000))) for _ in range(60)]))


def correlation_trial(rng: Generator, *, statistic: str, n_clusters: int) -> bool:
    """Does an interval of a turn-level correlation cover the true correlation?"""
    codes = turns(rng, n_clusters)
    found, _ = interval.interval_of_correlation(
        statistic, *rated(rng, codes), codes, n_clusters, draws=DRAWS, rng=rng
    )
    return covers(found, true_correlation(statistic))


def systems_trial(rng: Generator, *, statistic: str, n_clusters: int, spread: float) -> bool:
    """Does an interval of a system-level correlation cover the correlation of the systems' true means?

    Ten fixed systems answer the same contexts. `spread` is the standard deviation of the true means, in standard errors
    of a system's mean.
    """
    fixed = np.random.default_rng(SEED)
    quality = fixed.normal(size=SYSTEMS)
    means = np.stack([quality, 0.8 * quality + 0.6 * fixed.normal(size=SYSTEMS)], axis=1)  # (S, 2)
    means *= spread / sqrt(n_clusters)
    context = rng.normal(size=(n_clusters, 1, 2))
    sums = means + context + rng.normal(size=(n_clusters, SYSTEMS, 2))

    def of_sums(sums: Floats) -> Floats:
        flat = sums.reshape(-1, *sums.shape[-2:])
        return row_correlations(statistic, flat[..., 0], flat[..., 1]).reshape(sums.shape[:-2])

    found, _ = interval.interval_of_sums(sums, of_sums, draws=DRAWS, rng=rng, bounds=None)
    return covers(found, float(of_sums(means)))


def tokens(rng: Generator, n_clusters: int) -> tuple[Ints, Ints]:
    """(n, 8) words of each turn, drawn from a Zipf distribution, half of them from the dialogue's own topic."""
    codes = turns(rng, n_clusters)
    ranks = np.minimum(rng.zipf(1.3, size=(len(codes), 8)), 5000)
    topical = rng.random(ranks.shape) < 0.5
    topic = rng.integers(0, 50, n_clusters)[codes][:, None] * 5001
    return np.where(topical, ranks + topic, ranks).astype(np.int64), codes


def distinct(words: Ints, rows: Ints) -> float:
    """distinct-1 of some turns."""
    chosen = words[rows].ravel()
    return float(np.count_nonzero(np.bincount(chosen))) / len(chosen)


def vectors(rng: Generator, n_clusters: int) -> tuple[Floats, Ints]:
    """(n, 3) vectors of turns, and the dialogue of each turn."""
    codes = turns(rng, n_clusters)
    return 0.5 + 1.2 * effects(rng, codes, 3, shared=0.3, within=0.3), codes


def frechet(points: Floats, rows: Ints) -> float:
    """Squared Frechet distance of some points to the standard normal distribution."""
    chosen = points[rows]
    spectrum = np.linalg.eigvalsh(np.cov(chosen.T))
    return float(np.sum(chosen.mean(axis=0) ** 2) + np.sum((np.sqrt(np.maximum(spectrum, 0)) - 1) ** 2))


SAMPLED = {"distinct-1": (tokens, distinct), "Frechet": (vectors, frechet)}


@cache
def expected(name: str, n_clusters: int) -> float:
    """The expectation of the statistic on a corpus of `n_clusters` dialogues, from 4,000 simulated corpora."""
    simulate, statistic = SAMPLED[name]
    rng = np.random.default_rng(SEED)
    values = []
    for _ in range(4000):
        rows, codes = simulate(rng, n_clusters)
        values.append(statistic(rows, np.arange(len(codes))))
    return float(np.mean(values))


def subsample_trial(rng: Generator, *, name: str, n_clusters: int) -> bool:
    """Does a subsampling interval of a statistic cover its expectation?"""
    simulate, statistic = SAMPLED[name]
    rows, codes = simulate(rng, n_clusters)
    found, _ = interval.interval_of_rows(partial(statistic, rows), codes, n_clusters, draws=299, rng=rng)
    return covers(found, expected(name, n_clusters))


def paired_trial(rng: Generator, *, n_clusters: int, skewed: bool) -> bool:
    """Does the paired permutation test reject for two equal systems on the same dialogues?"""
    codes = turns(rng, n_clusters)
    both = effects(rng, codes, 2, shared=0.5, within=0.2)
    both = np.exp(both) if skewed else both
    a, b = (cluster_sums(np.stack([v, np.ones_like(v)], axis=1), codes, n_clusters) for v in both.T)
    return permutation.paired_test(a, b, mean_of_sums, draws=DRAWS, rng=rng).p <= 0.05


def unpaired_trial(rng: Generator, *, n_clusters: int, other: int, kind: str) -> bool:
    """Two equal systems on different dialogues: does the interval of their difference cover 0, or the test reject?"""
    both = []
    for n in (n_clusters, other):
        codes = turns(rng, n)
        values = effects(rng, codes, 1, shared=0.0, within=0.0)
        both.append(cluster_sums(np.hstack([values, np.ones_like(values)]), codes, n))
    if kind == "coverage":
        gap = float(mean_of_sums(both[0].sum(axis=0)) - mean_of_sums(both[1].sum(axis=0)))
        left_out = jackknife_sums(both[0], mean_of_sums), jackknife_sums(both[1], mean_of_sums)
        test = studentised.independent(gap, left_out, (both[0][:, 1], both[1][:, 1]), unit=1.0)
        return covers(test.interval(), 0.0)
    return unpaired.permutation_test(*both, mean_of_sums, draws=DRAWS, rng=rng).p <= 0.05


def paired_rows_trial(rng: Generator, *, n_clusters: int) -> bool:
    """Does the paired permutation test of rows reject for distinct-1 of two equal systems?"""
    words, codes = tokens(rng, n_clusters)
    other = rng.permuted(words, axis=0)  # the same words in another order, so the two are exchangeable
    mixed = rng.random(n_clusters)[codes][:, None] < 0.5
    stacked = np.concatenate([np.where(mixed, words, other), np.where(mixed, other, words)])
    second = np.repeat([False, True], len(codes))
    test = permutation.paired_test_rows(
        partial(distinct, stacked), second, np.tile(codes, 2), n_clusters, draws=199, rng=rng
    )
    return test.p <= 0.05


def perm_both_trial(rng: Generator, *, statistic: str, n_clusters: int, skewed: bool = False) -> bool:
    """Does PERM-BOTH reject for two metrics that agree equally well with ratings, at turn level?"""
    codes = turns(rng, n_clusters)
    y, one, two = effects(rng, codes, 3, shared=0.5, within=0.4).T
    two = np.exp(2 * two) if skewed else two
    y = np.clip(np.round(3 + y), 1, 5)
    test = permutation.perm_both(one, two, y, codes, n_clusters, statistic, draws=DRAWS, rng=rng)
    return test.p <= 0.05


def perm_both_systems_trial(rng: Generator, *, statistic: str, n_systems: int) -> bool:
    """Does PERM-BOTH reject for two metrics that agree equally well with ratings, at system level?"""
    y, one, two = effects(rng, np.arange(n_systems), 3, shared=0.7, within=0.7).T
    return permutation.perm_both_systems(one, two, y, statistic, draws=DRAWS, rng=rng).p <= 0.05


def williams_trial(rng: Generator, *, n_clusters: int, clustered: bool) -> bool:
    """Does Williams' test reject for two metrics that agree equally well with ratings?"""
    codes = turns(rng, n_clusters) if clustered else np.arange(n_clusters)
    y, one, two = effects(rng, codes, 3, shared=0.5, within=0.5).T
    return permutation.williams(pearson(y, one), pearson(y, two), pearson(one, two), len(y)) <= 0.05


def no_correlation_trial(rng: Generator, *, statistic: str, n_clusters: int, tailed: bool = False) -> bool:
    """Does the turn-level correlation test reject for independent values?

    With `tailed` the metric has outliers, like the length of one reply of 300 words among replies of 10.
    """
    codes = turns(rng, n_clusters)
    x, y = effects(rng, codes, 2, shared=0.0, within=0.0).T
    x = np.exp(2 * x) if tailed else x
    y = np.clip(np.round(3 + y), 1, 5)
    return permutation.correlation_test(statistic, x, y, codes, n_clusters, draws=DRAWS, rng=rng) <= 0.05


def no_order_trial(rng: Generator, *, statistic: str, n_systems: int) -> bool:
    """Does the exact system-level correlation test reject for independent values?"""
    x, y = rng.normal(size=(2, n_systems))
    return permutation.system_correlation_test(statistic, x, y, draws=DRAWS, rng=rng) <= 0.05
