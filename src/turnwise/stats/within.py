"""Correlations inside groups of items, as functions of cluster weights.

Agents that differ in quality and in some feature make the feature correlate with ratings although it says nothing
about any one agent's replies (Simpson's paradox). A correlation inside groups leaves differences between groups out.

Large groups, such as all replies of an agent, have a correlation each. Pearson and Spearman are averaged by Fisher's z
with weights n - 3; Kendall and pairwise accuracy are averaged by the number of pairs. Small groups, such as the
replies of several agents to one context, have too few items for that and are pooled. Pearson is then the correlation
of the deviations from the group's means, Spearman the same of the ranks in the group, and Kendall and pairwise accuracy
count the pairs of all groups together.
"""

from collections.abc import Callable, Iterable

import numpy as np

from turnwise.stats.clusters import cluster_sums, group_clusters
from turnwise.stats.computing.remembered import remembered
from turnwise.stats.correlation import check_statistic, divide_or_nan, tau_c_scale
from turnwise.stats.interval import Interval, interval_of_draws, interval_of_sums, jackknife_p, jackknife_t
from turnwise.stats.pairs.item_pairs import ordered_alike
from turnwise.stats.pairs.pairwise import tie_calibration
from turnwise.stats.resample import bootstrap_weights
from turnwise.stats.shared_draws import Source
from turnwise.stats.weighted import WeightedStatistic, weighted_correlation
from turnwise.types import Floats, Ints

MIN_GROUPS = 10  # small groups: fewer pairs than that show nothing
MIN_ITEMS = 4  # of a group with a correlation of its own: Fisher's z has the variance 1 / (n - 3)
_FISHER = ("pearson", "spearman")  # averaged by Fisher's z
_NEARLY_ONE = 1 - 1e-9  # Fisher's z of a correlation of 1 is infinite


def mean_weight(statistic: str, n: int) -> float:
    """The weight of a group of `n` items in the mean: n - 3 for Fisher's z, else the number of pairs."""
    return n - 3.0 if statistic in _FISHER else n * (n - 1) / 2


def mean_correlation(statistic: str, values: Floats, weights: Floats) -> float:
    """The mean of the groups' correlations (k,) with these weights, by Fisher's z for Pearson and Spearman."""
    if statistic not in _FISHER:
        return float(np.average(values, weights=weights))
    return float(np.tanh(np.average(np.arctanh(np.clip(values, -_NEARLY_ONE, _NEARLY_ONE)), weights=weights)))


def inside_large_groups(
    statistic: str, x: Floats, y: Floats, groups: Ints, codes: Ints, n_clusters: int
) -> tuple[WeightedStatistic, int]:
    """The mean correlation inside groups of at least four items as a function of (b, C) cluster weights, and the
    number of these groups. Groups in which a side is constant are left out.

    `groups` has the group of each item, `codes` its cluster. The function is NaN where no group is left.
    """
    check_statistic(statistic)
    parts: list[tuple[float, Ints, WeightedStatistic]] = []
    for mine in _members(groups):
        n = len(mine)
        if n < MIN_ITEMS or np.ptp(x[mine]) == 0 or np.ptp(y[mine]) == 0:
            continue
        there, renumbered = np.unique(codes[mine], return_inverse=True)
        of = weighted_correlation(statistic, x[mine], y[mine], renumbered, len(there))
        parts.append((mean_weight(statistic, n), there, of))

    def mean(values: Iterable[tuple[float, Floats]], n: int) -> Floats:
        """(n,) means over the groups, from each group's weight and (n,) values, of which those that are NaN are left
        out.
        """
        total, shares = np.zeros(n), np.zeros(n)
        for share, value in values:
            value = np.arctanh(np.clip(value, -_NEARLY_ONE, _NEARLY_ONE)) if statistic in _FISHER else value
            known = np.isfinite(value)
            total += np.where(known, share * value, 0.0)
            shares += np.where(known, share, 0.0)
        found = divide_or_nan(total, shares)
        return np.tanh(found) if statistic in _FISHER else found

    def without_each() -> Floats:
        """(C,) means with each cluster left out, which changes the groups that have items of it."""
        each = []
        for share, there, of in parts:
            values = np.repeat(of(np.ones((1, len(there)))), n_clusters)
            values[there] = of.without_each()
            each.append((share, values))
        return mean(each, n_clusters)

    return WeightedStatistic(
        lambda weights: mean(((share, of(weights[:, there])) for share, there, of in parts), len(weights)),
        without_each,
    ), len(parts)


def interval_inside_large_groups(
    statistic: str,
    x: Floats,
    y: Floats,
    groups: Ints,
    codes: Ints,
    n_clusters: int,
    *,
    draws: int,
    rng: Source,
) -> tuple[float, Interval | None, int]:
    """The mean correlation inside large groups, its interval by cluster, and the number of groups.

    The interval is None where there is none; with no `draws` none is computed.
    """
    codes, n_clusters = group_clusters(codes, n_clusters)
    of, n_groups = inside_large_groups(statistic, x, y, groups, codes, n_clusters)
    estimate = float(of(np.ones((1, n_clusters)))[0])
    if not draws or np.isnan(estimate):
        return estimate, None, n_groups
    drawn = np.concatenate([of(weights) for weights in bootstrap_weights(n_clusters, draws, rng)])
    bounds, _ = interval_of_draws(estimate, drawn, of.without_each(), n_clusters=n_clusters)
    return estimate, bounds, n_groups


def difference_inside_large_groups(
    statistic: str, a: Floats, b: Floats, y: Floats, groups: Ints, codes: Ints, n_clusters: int
) -> tuple[float, Interval | None, float]:
    """How much more `a` agrees with `y` inside groups than `b` does, with an interval and a p-value.

    Both come from the jackknife by cluster and Student's t; the interval is None and p NaN where it is undefined.
    """
    codes, n_clusters = group_clusters(codes, n_clusters)
    (of_a, without_a), (of_b, without_b) = (
        _jackknife_inside(statistic, x, y, groups, codes, n_clusters) for x in (a, b)
    )
    estimate, left_out = of_a - of_b, without_a - without_b
    return estimate, jackknife_t(estimate, left_out), jackknife_p(estimate, left_out)


@remembered
def _jackknife_inside(
    statistic: str, x: Floats, y: Floats, groups: Ints, codes: Ints, n_clusters: int
) -> tuple[float, Floats]:
    """The mean correlation inside large groups, and its values (C,) with each cluster left out."""
    of, _ = inside_large_groups(statistic, x, y, groups, codes, n_clusters)
    return float(of(np.ones((1, n_clusters)))[0]), of.without_each()


def interval_inside_small_groups(
    statistic: str,
    x: Floats,
    y: Floats,
    groups: Ints,
    codes: Ints,
    n_clusters: int,
    *,
    draws: int,
    rng: Source,
) -> tuple[float, Interval | None, int]:
    """The pooled correlation inside groups of at least two items, its interval by cluster, and the number of groups.

    A group counts to the cluster of its first item. The correlation is NaN with fewer than ten groups. The interval is
    None where there is none; with no `draws` none is computed.
    """
    check_statistic(statistic)
    sizes = np.bincount(groups)
    kept = np.flatnonzero(sizes[groups] > 1)
    x, y, groups, codes = x[kept], y[kept], groups[kept], codes[kept]
    n_groups = len(np.unique(groups))
    if n_groups < MIN_GROUPS:
        return float("nan"), None, n_groups
    rows, of_sums = (_deviations if statistic in _FISHER else _pairs)(statistic, x, y, groups)
    first = np.unique(groups, return_index=True)[1]
    sums = cluster_sums(rows, codes[first], n_clusters)
    sums = sums[np.any(sums != 0, axis=1)]
    estimate = float(of_sums(sums.sum(axis=0)))
    if not draws or np.isnan(estimate):
        return estimate, None, n_groups
    bounds, _ = interval_of_sums(sums, of_sums, draws=draws, rng=rng, bounds=None)
    return estimate, bounds, n_groups


def _deviations(
    statistic: str, x: Floats, y: Floats, groups: Ints
) -> tuple[Floats, Callable[[Floats], Floats]]:
    """(groups, 3) sums of products of the deviations from the group's means, or of ranks in the group for Spearman;
    and the function from such sums to the correlation.
    """
    numbers = np.unique(groups, return_inverse=True)[1]
    sides = []
    for side in (x, y):
        values = np.array(side, dtype=np.float64)
        if statistic == "spearman":
            values = _ranks_inside(values, numbers)
        means = np.bincount(numbers, values) / np.bincount(numbers)
        sides.append(values - means[numbers])
    a, b = sides
    rows = cluster_sums(np.stack([a * a, b * b, a * b], axis=1), numbers, numbers.max() + 1)

    def correlation(sums: Floats) -> Floats:
        """(..., 3) sums -> (...) correlations; NaN where a side is constant in every group."""
        return divide_or_nan(sums[..., 2], np.sqrt(sums[..., 0]) * np.sqrt(sums[..., 1]))

    return rows, correlation


def _ranks_inside(values: Floats, groups: Ints) -> Floats:
    """The rank of each value among those of its group, from 1; ties share the mean of their ranks."""
    order = np.lexsort((values, groups))
    ordered, group = values[order], groups[order]
    new_group = np.append(True, group[1:] != group[:-1])
    new_value = new_group | np.append(True, ordered[1:] != ordered[:-1])
    first = np.flatnonzero(new_value)
    last = np.append(first[1:], len(order)) - 1
    starts = np.flatnonzero(new_group)[np.cumsum(new_group) - 1]  # of each value's group
    ranks = np.empty(len(order))
    ranks[order] = ((first + last) / 2)[np.cumsum(new_value) - 1] - starts + 1
    return ranks


def _pairs(statistic: str, x: Floats, y: Floats, groups: Ints) -> tuple[Floats, Callable[[Floats], Floats]]:
    """(groups, k) counts of the pairs of items in each group, and the function from such counts to the statistic."""
    epsilon = tie_calibration(x, y) if statistic == "pairwise" else 0.0
    found = []
    for mine in _members(groups):
        first, second = np.triu_indices(len(mine), 1)
        dx, dy = (side[mine[first]] - side[mine[second]] for side in (x, y))
        if statistic == "pairwise":
            found.append([float(np.sum(ordered_alike(dx, dy, epsilon))), float(len(dx))])
            continue
        same = float(np.sum(np.sign(dx) * np.sign(dy)))
        if statistic == "tau-c":
            values = min(len(np.unique(side[mine])) for side in (x, y))
            found.append([2 * same, float(tau_c_scale(len(mine), values))])
        else:
            found.append([same, float(np.count_nonzero(dx)), float(np.count_nonzero(dy))])

    def value(sums: Floats) -> Floats:
        """(..., k) counts -> (...) accuracies, or tau-b or tau-c; NaN without pairs, or where a side is always tied."""
        if statistic in ("pairwise", "tau-c"):
            return divide_or_nan(sums[..., 0], sums[..., 1])
        return divide_or_nan(sums[..., 0], np.sqrt(sums[..., 1]) * np.sqrt(sums[..., 2]))

    return np.array(found), value


def _members(groups: Ints) -> list[Ints]:
    """The indices of the items of each group, in order of the groups' numbers."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1) if len(groups) else []
