"""Could the difference be luck? Tests that swap, by cluster, what the null hypothesis calls exchangeable.

No p-value is 0: with sampled swaps it is (1 + as extreme) / (1 + draws), Phipson and Smyth 2010; where all
2^C swaps are no more than the draws asked for, all are taken and p is exact. All tests are two-sided.
"""

from collections.abc import Callable, Iterator
from itertools import permutations
from math import factorial, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnwise.stats.clusters import cluster_sums, deal
from turnwise.stats.correlation import across, aligned, midranks, tie_calibration
from turnwise.stats.weighted import of_weights
from turnwise.types import Floats, Ints

_CELLS = 2**20  # of one block of swaps: 8 MB
_MOST_SYSTEMS = 8  # 40,320 orders are counted out; of more systems they are sampled


class PairedTest(NamedTuple):
    difference: float  # first minus second
    p: float


def paired(
    a: Floats, b: Floats, of_sums: Callable[[Floats], Floats], *, draws: int, rng: np.random.Generator
) -> PairedTest:
    """Two systems on the same clusters, as (C, k) sums each: who said what is swapped cluster by cluster."""
    if a.shape != b.shape:
        raise ValueError(f"the sums of two systems differ in shape: {a.shape} and {b.shape}")

    def difference(first: Floats) -> Floats:
        second = 1.0 - first
        return of_sums(first @ a + second @ b) - of_sums(second @ a + first @ b)

    return _swapped(difference, len(a), draws=draws, rng=rng)


def paired_rows(
    statistic: Callable[[Ints], float],
    second: NDArray[np.bool_],
    codes: Ints,
    n_clusters: int,
    *,
    draws: int,
    rng: np.random.Generator,
) -> PairedTest:
    """`paired` for a statistic of row indices; `second` says which rows are the second system's."""

    def difference(first: Floats) -> Floats:
        sides = second ^ (first[:, codes] == 0)
        return np.array(
            [statistic(np.flatnonzero(~side)) - statistic(np.flatnonzero(side)) for side in sides]
        )

    return _swapped(difference, n_clusters, draws=draws, rng=rng)


def perm_both(
    x1: Floats,
    x2: Floats,
    y: Floats,
    codes: Ints,
    n_clusters: int,
    statistic: str,
    *,
    draws: int,
    rng: np.random.Generator,
) -> PairedTest:
    """Does metric `x1` follow people's `y` better than `x2` does? PERM-BOTH of Deutsch, Dror and Roth 2021.

    The standardised scores of the two metrics are swapped, here by cluster where the paper swaps cells of a
    table of systems and inputs. What rank correlations see of a score is its rank, so for them ranks are
    swapped: z-scores of a skewed and of a symmetric metric do not mix. For pairwise accuracy each metric
    brings the epsilon calibrated on it; a pair with one score from each has the mean of the two.
    """
    codes, n_clusters = deal(codes, n_clusters)
    ranked = statistic in ("spearman", "kendall")
    scores = [_standard(aligned(x, y)[0], ranked=ranked) for x in (x1, x2)]
    epsilon = None
    if statistic == "pairwise":
        epsilon = np.repeat([tie_calibration(x, y) for x in scores], len(y))
    of = of_weights(
        statistic,
        np.concatenate(scores),
        np.concatenate([y, y]),
        np.concatenate([codes, codes + n_clusters]),
        2 * n_clusters,
        epsilon=epsilon,
    )

    def difference(first: Floats) -> Floats:
        second = 1.0 - first
        return of(np.hstack([first, second])) - of(np.hstack([second, first]))

    return _swapped(difference, n_clusters, draws=draws, rng=rng)


def perm_both_systems(
    x1: Floats, x2: Floats, y: Floats, statistic: str, *, draws: int, rng: np.random.Generator
) -> PairedTest:
    """`perm_both` across systems, (S,) each: the two metrics' scores are swapped system by system."""
    one, two = (_standard(aligned(x, y)[0], ranked=statistic != "pearson") for x in (x1, x2))

    def difference(first: Floats) -> Floats:
        people = np.broadcast_to(y, first.shape)
        kept, given = np.where(first == 1, one, two), np.where(first == 1, two, one)
        return across(statistic, kept, people) - across(statistic, given, people)

    return _swapped(difference, len(y), draws=draws, rng=rng)


def williams(r12: float, r13: float, r23: float, n: int) -> float:
    """p of r12 = r13 for two correlations that share variable 1 (Williams 1959; Steiger 1980).

    Valid for Pearson correlations of independent, jointly normal items: across systems, or with one item a
    cluster. For turns of dialogues, ranks or skewed scores use `perm_both`.
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
    rng: np.random.Generator,
) -> float:
    """p of no correlation over items: the sign of each cluster's contribution to it is flipped.

    Contributions are products of deviations from the mean: of the numbers for Pearson, of their ranks for all others.
    That is Spearman's own sum, and to first order Kendall's and pairwise accuracy's where there is no association
    (Hajek's projection), so these three have one p. An item far out makes one contribution large, and p with it;
    Fisher's z over its jackknife error, tried first, then rejected true nulls three times too often.
    """
    x, y = aligned(x, y)
    if len(x) < 3 or n_clusters < 3 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("nan")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    if statistic != "pearson":
        x, y = midranks(x), midranks(y)
    each = cluster_sums((x - x.mean()) * (y - y.mean()), codes, n_clusters)

    def flipped(first: Floats) -> Floats:
        return (2 * first - 1) @ each

    return _swapped(flipped, n_clusters, draws=draws, rng=rng).p


def exact_correlation_test(
    statistic: str, x: Floats, y: Floats, *, draws: int, rng: np.random.Generator
) -> float:
    """p of no association across systems: `y` in every order, or in `draws` random ones above 8 systems."""
    x, y = aligned(x, y)
    observed = float(across(statistic, x[None], y[None])[0])
    if not np.isfinite(observed):
        return float("nan")
    n = len(x)
    if n <= _MOST_SYSTEMS:
        orders = np.array(list(permutations(range(n))), dtype=np.int64)
    else:
        orders = rng.permuted(np.broadcast_to(np.arange(n), (draws, n)), axis=1)
    null = across(statistic, np.broadcast_to(x, orders.shape), y[orders])
    chance = float(np.mean(null)) if statistic == "pairwise" else 0.0
    return _p(observed - chance, null - chance, exact=len(orders) == factorial(n))


def _swapped(
    difference: Callable[[Floats], Floats], n_clusters: int, *, draws: int, rng: np.random.Generator
) -> PairedTest:
    """`difference` maps rows of (b, C), 1 where a cluster stays and 0 where it is swapped, to differences."""
    observed = float(difference(np.ones((1, n_clusters)))[0])
    if not np.isfinite(observed):
        return PairedTest(observed, float("nan"))
    null = np.concatenate([difference(block) for block in _stays(n_clusters, draws, rng)])
    return PairedTest(observed, _p(observed, null, exact=_enumerable(n_clusters, draws)))


def _stays(n_clusters: int, draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    if _enumerable(n_clusters, draws):
        yield ((np.arange(2**n_clusters)[:, None] >> np.arange(n_clusters)) & 1).astype(np.float64)
        return
    block = max(1, _CELLS // n_clusters)
    for start in range(0, draws, block):
        yield rng.integers(2, size=(min(block, draws - start), n_clusters)).astype(np.float64)


def _enumerable(n_clusters: int, draws: int) -> bool:
    return n_clusters < 63 and 2**n_clusters <= draws


def _p(observed: float, null: Floats, *, exact: bool) -> float:
    # Swaps that give the same difference must count as equal whatever the order of summation; an undefined
    # one counts against significance.
    slack = 1e-10 * max(abs(observed), float(np.max(np.abs(null), initial=0.0, where=np.isfinite(null))))
    extreme = int(np.count_nonzero(~(np.abs(null) < abs(observed) - slack)))
    return extreme / len(null) if exact else (1 + extreme) / (1 + len(null))


def _standard(x: Floats, *, ranked: bool) -> Floats:
    """Mean 0 and variance 1, of ranks where `ranked`; NaN where a number is missing or all are equal."""
    if np.isnan(x).any() or np.all(x == x[:1]):
        return np.full(len(x), np.nan)
    x = midranks(x) if ranked else x
    with np.errstate(invalid="ignore"):  # an infinite score has no mean
        return np.asarray((x - np.mean(x)) / np.std(x))
