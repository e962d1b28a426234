"""Soft pairwise accuracy over systems (Thompson et al. 2024): do a metric and people agree how sure a ranking is?

For two systems, p is the one-sided p-value of the first being better than the second, once by people's ratings and
once by the metric. The statistic is 1 minus the mean of |p of people - p of the metric| over all pairs of systems.
Pairwise accuracy is the special case in which every p is 0 or 1: a pair that people cannot tell apart counts there as
much as any other, and here a metric is right to be unsure about it.

The paper takes p from 1,000 random swaps of paired scores. Here it comes from the normal distribution with the
variance that the swaps have, so that it does not vary with a seed, and from the influence of each cluster, so that
turns of a dialogue count together and systems need not have replied to the same contexts.
"""

import numpy as np

from turnwise.stats.permutation import permuted_systems_test
from turnwise.stats.shared_draws import Source
from turnwise.types import Floats, Ints

_ROUNDING = 1e-9  # a cluster whose influence on a system is a smaller share of the largest one has none


def influence(value: Floats, left_out: Floats) -> Floats:
    """(C, S) what each cluster contributes to (S,) values, from the (C, S) values without it.

    For means it is the sum of the deviations from the mean over the number of items, to first order.
    """
    return np.asarray((value - left_out) * (len(left_out) - 1) / len(left_out))


def better_p(value: Floats, influences: Floats) -> Floats:
    """(S, S) one-sided p-value of each system being better than each other one; .5 for equal ones.

    `influences` is (C, S). The squared difference over the number of clusters is what swapping two systems adds to the
    variance of their difference.
    """
    from scipy.special import ndtr

    gap = value[:, None] - value
    products = influences.T @ influences
    own = np.diag(products)
    variance = own[:, None] + own - 2 * products
    size = np.abs(influences)
    there = size > _ROUNDING * size.max(axis=0, initial=0.0)
    clusters = np.count_nonzero(there[:, :, None] | there[:, None, :], axis=0)
    error = np.sqrt(np.maximum(variance, 0.0) + gap**2 / np.maximum(clusters, 1))
    return np.asarray(ndtr(-np.divide(gap, error, out=np.zeros_like(gap), where=error > 0)))


def soft_accuracy(one: Floats, other: Floats) -> float:
    """1 minus the mean difference of two (S, S) tables of p-values over all pairs of systems; NaN with a NaN."""
    pairs = np.triu_indices(len(one), k=1)
    return float(1 - np.mean(np.abs(one[pairs] - other[pairs]))) if len(pairs[0]) else float("nan")


def soft_accuracy_test(one: Floats, other: Floats, *, draws: int, rng: Source) -> float:
    """p-value of a metric that has nothing to do with which system is which; NaN where the statistic is undefined."""
    pairs = np.triu_indices(len(one), k=1)

    def permuted(orders: Ints) -> Floats:
        """(b, S) orders of the systems -> (b,) values with the second table in this order."""
        shuffled = other[orders[:, pairs[0]], orders[:, pairs[1]]]
        return np.asarray(1 - np.mean(np.abs(one[pairs] - shuffled), axis=1))

    return permuted_systems_test(permuted, len(one), chance=None, draws=draws, rng=rng)
