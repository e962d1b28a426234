"""Two-sided permutation tests that swap, cluster by cluster, what is exchangeable under the null hypothesis.

A p-value from sampled swaps is (1 + number as extreme) / (1 + draws) (Phipson and Smyth 2010), so it is never 0. Where
the 2^C possible swaps are no more than `draws`, all are enumerated and p is exact. p-values of many tests are adjusted
by `benjamini_hochberg`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from math import factorial, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnwise.stats.clusters import cluster_sums, group_clusters
from turnwise.stats.correlation import midranks, row_correlations
from turnwise.stats.pairs.item_pairs import checked_pair
from turnwise.stats.pairs.pairwise import tie_calibration
from turnwise.stats.shared_draws import Source, blocks_from, generator_of
from turnwise.stats.swapped import swapped_spearman
from turnwise.stats.weighted import weighted_correlation
from turnwise.types import Floats, Ints

_CELLS = 2**17  # numbers in one block of swaps: 1 MB, which the allocator reuses
_MAX_SYSTEMS = 8  # up to 8 systems all 40,320 orders are enumerated; with more they are sampled


class DifferenceTest(NamedTuple):
    """A difference and the p-value of the hypothesis that it is 0."""

    difference: float  # first minus second
    p: float


def paired_test(
    a: Floats, b: Floats, of_sums: Callable[[Floats], Floats], *, draws: int, rng: Source
) -> DifferenceTest:
    """Test of no difference between two systems on the same clusters, from (C, k) sums of each.

    The systems' labels are swapped cluster by cluster. p is NaN where the difference is not finite.
    """
    if a.shape != b.shape:
        raise ValueError(f"expected sums of equal shape, got {a.shape} and {b.shape}")

    def difference(first: Floats) -> Floats:
        """(b, C) rows, 1 where a cluster is kept and 0 where it is swapped -> (b,) differences."""
        second = 1.0 - first
        return of_sums(first @ a + second @ b) - of_sums(second @ a + first @ b)

    return _swap_test(difference, len(a), draws=draws, rng=rng)


def paired_test_rows(
    statistic: Callable[[Ints], float],
    second: NDArray[np.bool_],
    codes: Ints,
    n_clusters: int,
    *,
    draws: int,
    rng: Source,
) -> DifferenceTest:
    """`paired_test` for a statistic of row indices.

    `second` marks the rows of the second system; `codes` has the cluster of each row.
    """

    def difference(first: Floats) -> Floats:
        """(b, C) rows, 1 where a cluster is kept and 0 where it is swapped -> (b,) differences."""
        sides = second ^ (first[:, codes] == 0)
        return np.array(
            [statistic(np.flatnonzero(~side)) - statistic(np.flatnonzero(side)) for side in sides]
        )

    return _swap_test(difference, n_clusters, draws=draws, rng=rng)


def perm_both(
    x1: Floats,
    x2: Floats,
    y: Floats,
    codes: Ints,
    n_clusters: int,
    statistic: str,
    *,
    draws: int,
    rng: Source,
) -> DifferenceTest:
    """PERM-BOTH (Deutsch, Dror and Roth 2021): do metrics `x1` and `x2` agree equally well with ratings `y`?

    The standardised scores of the two metrics are swapped by cluster; the paper swaps cells of a table of systems and
    inputs. For rank correlations ranks are swapped instead of z-scores, because z-scores of a skewed and of a
    symmetric metric are not exchangeable. For pairwise accuracy each metric keeps the epsilon calibrated on it, and a
    pair with one score of each metric uses the mean of the two.
    """
    codes, n_clusters = group_clusters(codes, n_clusters)
    ranked = statistic in ("spearman", "kendall", "tau-c")
    scores = [_standardised(checked_pair(x, y)[0], ranked=ranked) for x in (x1, x2)]
    if statistic == "spearman" and not any(np.isnan(side).any() for side in (*scores, y)):
        difference = swapped_spearman(scores[0], scores[1], y, codes, n_clusters)
        return _swap_test(difference, n_clusters, draws=draws, rng=rng)
    epsilon = None
    if statistic == "pairwise":
        epsilon = np.repeat([tie_calibration(x, y) for x in scores], len(y))
    of = weighted_correlation(
        statistic,
        np.concatenate(scores),
        np.concatenate([y, y]),
        np.concatenate([codes, codes + n_clusters]),
        2 * n_clusters,
        epsilon=epsilon,
    )

    def swapped(first: Floats) -> Floats:
        """(b, C) rows, 1 where a cluster is kept and 0 where it is swapped -> (b,) differences of correlations."""
        second = 1.0 - first
        return of(np.hstack([first, second])) - of(np.hstack([second, first]))

    return _swap_test(swapped, n_clusters, draws=draws, rng=rng)


def perm_both_systems(
    x1: Floats, x2: Floats, y: Floats, statistic: str, *, draws: int, rng: Source
) -> DifferenceTest:
    """`perm_both` across systems: `x1`, `x2` and `y` are (S,), and scores are swapped system by system."""
    one, two = (_standardised(checked_pair(x, y)[0], ranked=statistic != "pearson") for x in (x1, x2))

    def difference(first: Floats) -> Floats:
        """(b, S) rows, 1 where a system is kept and 0 where it is swapped -> (b,) differences of correlations."""
        people = np.broadcast_to(y, first.shape)
        kept, given = np.where(first == 1, one, two), np.where(first == 1, two, one)
        return row_correlations(statistic, kept, people) - row_correlations(statistic, given, people)

    return _swap_test(difference, len(y), draws=draws, rng=rng)


def williams(r12: float, r13: float, r23: float, n: int) -> float:
    """p-value of r12 = r13 for two correlations that share variable 1 (Williams 1959; Steiger 1980).

    Valid for Pearson correlations of `n` independent, jointly normal items: across systems, or with one item a cluster.
    For turns of dialogues, ranks or skewed scores use `perm_both`. NaN with fewer than 4 items, or where a correlation
    is undefined.
    """
    from scipy.special import stdtr

    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if n < 4 or not np.isfinite(determinant):
        return float("nan")
    mean = (r12 + r13) / 2
    variance = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r23) ** 3
    if not variance > 0:
        return float("nan")
    t = (r12 - r13) * sqrt((n - 1) * (1 + r23) / variance)
    return float(2 * stdtr(n - 3, -abs(t)))


def correlation_test(
    statistic: str,
    x: Floats,
    y: Floats,
    codes: Ints,
    n_clusters: int,
    *,
    draws: int,
    rng: Source,
) -> float:
    """p-value of no correlation over items, by flipping the sign of each cluster's contribution.

    A contribution is the sum of products of deviations from the mean: of the scores for Pearson, of their ranks for all
    other statistics. For Spearman this is the exact sum. For Kendall and pairwise accuracy it is the first-order
    approximation under no association (Hajek's projection), so these three statistics share one p-value. An outlier
    makes one contribution large and raises p. Fisher's z over its jackknife error, which was tried first, rejected true
    null hypotheses three times too often with outliers. NaN with fewer than 3 items or clusters, for a constant side,
    and for a value that is not finite.
    """
    x, y = checked_pair(x, y)
    if len(x) < 3 or n_clusters < 3 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("nan")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    if statistic != "pearson":
        x, y = midranks(x), midranks(y)
    each = cluster_sums((x - x.mean()) * (y - y.mean()), codes, n_clusters)

    def flipped(first: Floats) -> Floats:
        """(b, C) rows, 1 where a cluster keeps its sign and 0 where it is flipped -> (b,) sums of contributions."""
        return (2 * first - 1) @ each

    return _swap_test(flipped, n_clusters, draws=draws, rng=rng).p


def system_correlation_test(statistic: str, x: Floats, y: Floats, *, draws: int, rng: Source) -> float:
    """p-value of no association across systems: permutes `y` exhaustively up to 8 systems, else `draws` times.

    NaN where the correlation is undefined.
    """
    x, y = checked_pair(x, y)

    def permuted(orders: Ints) -> Floats:
        """(b, S) orders of the ratings -> (b,) correlations."""
        return row_correlations(statistic, np.broadcast_to(x, orders.shape), y[orders])

    chance = None if statistic == "pairwise" else 0.0
    return permuted_systems_test(permuted, len(x), chance=chance, draws=draws, rng=rng)


def permuted_systems_test(
    permuted: Callable[[Ints], Floats],
    n: int,
    *,
    chance: float | None,
    draws: int,
    rng: Source,
) -> float:
    """p-value of a statistic over `n` systems: all orders of one side up to 8 systems, else `draws` random ones.

    `permuted` maps (b, n) orders to (b,) values. Values as far from `chance` as the observed one are extreme; None is
    the mean over all orders. NaN where the statistic is undefined.
    """
    observed = float(permuted(np.arange(n)[None])[0])
    if not np.isfinite(observed):
        return float("nan")
    if n <= _MAX_SYSTEMS:
        orders = np.array(list(permutations(range(n))), dtype=np.int64)
    else:
        orders = generator_of(rng).permuted(np.broadcast_to(np.arange(n), (draws, n)), axis=1)
    null = permuted(orders)
    centre = float(np.mean(null)) if chance is None else chance
    return _p_value(observed - centre, null - centre, exact=len(orders) == factorial(n))


def _swap_test(
    difference: Callable[[Floats], Floats], n_clusters: int, *, draws: int, rng: Source
) -> DifferenceTest:
    """Test of a difference that is 0 in expectation if clusters are swapped at random.

    `difference` maps (b, C) rows, 1 where a cluster is kept and 0 where it is swapped, to (b,) differences. p is NaN
    where the observed difference is not finite.
    """
    observed = float(difference(np.ones((1, n_clusters)))[0])
    if not np.isfinite(observed):
        return DifferenceTest(observed, float("nan"))
    null = np.concatenate([difference(block) for block in _swap_blocks(n_clusters, draws, rng)])
    return DifferenceTest(observed, _p_value(observed, null, exact=_can_enumerate(n_clusters, draws)))


def _swap_blocks(n_clusters: int, draws: int, rng: Source) -> Iterator[Floats]:
    """Blocks of (b, C) rows of 0 and 1: all of them where they can be enumerated, else `draws` random ones."""
    return blocks_from(rng, "swaps", n_clusters, draws, partial(_drawn_swaps, n_clusters, draws))


def _drawn_swaps(n_clusters: int, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """The blocks of `_swap_blocks`, made one by one."""
    if _can_enumerate(n_clusters, draws):
        yield ((np.arange(2**n_clusters)[:, None] >> np.arange(n_clusters)) & 1).astype(np.float64)
        return
    block = max(1, _CELLS // n_clusters)
    for start in range(0, draws, block):
        yield rng.integers(2, size=(min(block, draws - start), n_clusters)).astype(np.float64)


def _can_enumerate(n_clusters: int, draws: int) -> bool:
    """Whether all 2^C swaps of the clusters are no more than `draws`."""
    return n_clusters < 63 and 2**n_clusters <= draws


def _p_value(observed: float, null: Floats, *, exact: bool) -> float:
    """Share of null differences at least as large as the observed one, with 1 added to both counts unless `exact`."""
    # The tolerance makes differences equal that differ by the order of summation only. An undefined difference counts
    # as extreme.
    tolerance = 1e-10 * max(abs(observed), float(np.max(np.abs(null), initial=0.0, where=np.isfinite(null))))
    extreme = int(np.count_nonzero(~(np.abs(null) < abs(observed) - tolerance)))
    return extreme / len(null) if exact else (1 + extreme) / (1 + len(null))


def _standardised(x: Floats, *, ranked: bool) -> Floats:
    """Scores, or their ranks if `ranked`, with mean 0 and variance 1; NaN where one is NaN or all are equal."""
    if np.isnan(x).any() or np.all(x == x[:1]):
        return np.full(len(x), np.nan)
    x = midranks(x) if ranked else x
    with np.errstate(invalid="ignore"):  # the mean of an infinite score is undefined
        spread = np.std(x)
        if spread == 0:  # the squares of tiny differences are 0
            x = (x - np.mean(x)) / np.max(np.abs(x - np.mean(x)))
            spread = np.std(x)
        return np.asarray((x - np.mean(x)) / spread)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted p-values (Benjamini and Hochberg 1995). A NaN stays NaN and does not count as a test."""
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested])]
    n = len(order)
    stepped = p[order] * (n / np.arange(1, n + 1))
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(stepped[::-1])[::-1])
    return adjusted
