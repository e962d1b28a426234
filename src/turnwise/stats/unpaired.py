"""Difference between two systems on different dialogues, whose clusters cannot be paired.

The interval resamples the clusters of each system separately. The test permutes the system labels of all clusters. It
is exact if the two systems do not differ at all, and p is never 0.
"""

from collections.abc import Callable

import numpy as np

from turnwise.stats import interval
from turnwise.stats.interval import Interval
from turnwise.stats.permutation import DifferenceTest
from turnwise.stats.resample import bootstrap_sums, jackknife_sums, subsample
from turnwise.types import Floats, Ints

TOO_FEW = "none: fewer than 2 clusters of one agent"
_CELLS = 2**22  # numbers in one block of labels: 32 MB


def interval_of_sums(
    a: Floats, b: Floats, of_sums: Callable[[Floats], Floats], *, draws: int, rng: np.random.Generator
) -> tuple[Interval | None, str]:
    """BCa interval of the first system's statistic minus the second's, from (C, k) sums of each, and the method.

    If a system has fewer than 20 clusters, it is Welch's t interval on the jackknife. Without an interval, the method
    says why.
    """
    if min(len(a), len(b)) < 2:
        return None, TOO_FEW
    drawn = [bootstrap_sums(sums, of_sums, draws=draws, rng=rng) for sums in (a, b)]
    values = [float(of_sums(sums.sum(axis=0))) for sums in (a, b)]
    left_out = np.concatenate(
        [jackknife_sums(a, of_sums) - values[1], values[0] - jackknife_sums(b, of_sums)]
    )
    difference = values[0] - values[1]
    if min(len(a), len(b)) < interval.FEW_CLUSTERS:
        found = interval.welch(difference, jackknife_sums(a, of_sums), jackknife_sums(b, of_sums))
        return found, interval.NO_VARIATION if found is None else "Welch's t on the jackknife by cluster"
    # The system with fewer clusters sets the tail quantiles.
    fewer = min(len(a), len(b))
    found = interval.bca(difference, drawn[0] - drawn[1], left_out, n_clusters=fewer)
    return found, interval.NO_VARIATION if found is None else f"BCa bootstrap by cluster, {draws} draws"


def interval_of_rows(
    statistic: Callable[[Ints], float],
    codes_a: Ints,
    n_a: int,
    codes_b: Ints,
    n_b: int,
    *,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Interval | None, str]:
    """Percentile interval of subsampling draws of the first system's statistic minus the second's, and the method.

    For a statistic of row indices; the rows of the second system follow the first's. Without an interval, the method
    says why.
    """
    if min(n_a, n_b) < 2:
        return None, TOO_FEW
    first = subsample(statistic, codes_a, n_a, draws=draws, rng=rng)
    second = subsample(lambda chosen: statistic(chosen + len(codes_a)), codes_b, n_b, draws=draws, rng=rng)
    found = interval.percentile(first - second, n_clusters=min(n_a, n_b))
    return found, interval.NO_VARIATION if found is None else f"subsampling by cluster, {draws} draws"


def permutation_test(
    a: Floats, b: Floats, of_sums: Callable[[Floats], Floats], *, draws: int, rng: np.random.Generator
) -> DifferenceTest:
    """Test of no difference between two systems, from (C, k) sums of each, by `draws` permutations of system labels."""
    sums = np.concatenate([a, b])

    def difference(first: Floats) -> Floats:
        """(b, C) rows, 1 for clusters labelled as the first system's, else 0 -> (b,) differences."""
        return of_sums(first @ sums) - of_sums((1.0 - first) @ sums)

    return _label_permutation_test(difference, len(a), len(b), draws=draws, rng=rng)


def permutation_test_rows(
    statistic: Callable[[Ints], float],
    codes_a: Ints,
    n_a: int,
    codes_b: Ints,
    n_b: int,
    *,
    draws: int,
    rng: np.random.Generator,
) -> DifferenceTest:
    """`permutation_test` for a statistic of row indices; the rows of the second system follow the first's."""
    codes = np.concatenate([codes_a, codes_b + n_a])

    def difference(first: Floats) -> Floats:
        """(b, C) rows, 1 for clusters labelled as the first system's, else 0 -> (b,) differences."""
        taken = first[:, codes] == 1
        return np.array([statistic(np.flatnonzero(t)) - statistic(np.flatnonzero(~t)) for t in taken])

    return _label_permutation_test(difference, n_a, n_b, draws=draws, rng=rng)


def _label_permutation_test(
    difference: Callable[[Floats], Floats], n_a: int, n_b: int, *, draws: int, rng: np.random.Generator
) -> DifferenceTest:
    """Test of a difference by `draws` permutations of the system labels of clusters; p is NaN if it is not finite.

    `difference` maps (b, C) rows, 1 for the first system's clusters and 0 for the second's, to (b,) differences.
    """
    labels = np.concatenate([np.ones(n_a), np.zeros(n_b)])
    observed = float(difference(labels[None])[0])
    if not np.isfinite(observed):
        return DifferenceTest(observed, float("nan"))
    block = max(1, _CELLS // len(labels))
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    shuffled = (rng.permuted(np.broadcast_to(labels, (size, len(labels))), axis=1) for size in sizes)
    null = np.concatenate([difference(rows) for rows in shuffled])
    # An undefined difference, and one that differs from the observed one by rounding only, counts as extreme.
    extreme = int(np.count_nonzero(~(np.abs(null) < abs(observed) * (1 - 1e-10))))
    return DifferenceTest(observed, (1 + extreme) / (1 + draws))
