"""Power and sample size: the smallest detectable difference, and the data needed for a difference or a precision.

The spread of a measurement has three sources: clusters (dialogues or contexts), items in a cluster, and ratings of one
item. More items a cluster reduce the last two, more ratings an item only the last, and more clusters all three. Tests
are t-tests on the means of clusters, which is what the intervals of `calibrate` and of means of few clusters use.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, ceil, isfinite, sqrt, tanh

import numpy as np

from turnwise.types import Floats, Ints

MOST_CLUSTERS = 10**9  # a design that needs more is not computed


def minimum_detectable_difference(
    cluster_differences: Floats, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The true mean difference that a two-sided paired t-test on this many clusters detects with this power.

    `cluster_differences` has the mean difference of each cluster. Solved on the noncentral t distribution, ignoring the
    probability of rejecting on the wrong side. NaN with fewer than 2 clusters or if they do not vary.
    """
    from scipy.optimize import brentq
    from scipy.special import nctdtr, stdtrit

    n = len(cluster_differences)
    error = float(np.std(cluster_differences, ddof=1)) / sqrt(n) if n > 1 else float("nan")
    if not (isfinite(error) and error > 0):
        return float("nan")
    cut = float(stdtrit(n - 1, 1 - alpha / 2))
    shift = brentq(lambda delta: 1 - float(nctdtr(n - 1, delta, cut)) - power, 0.0, cut + 40.0)
    return float(shift) * error


def clusters_needed(half_width: float, n_clusters: int, wanted: float) -> int:
    """Number of clusters for a half-width `wanted`, given the half-width that `n_clusters` gave.

    The half-width is taken to shrink as 1 / sqrt(number of clusters). Arguments that are not positive are a
    `ValueError`.
    """
    if not (half_width > 0 and wanted > 0 and n_clusters > 0):
        raise ValueError("half-widths and the number of clusters must be positive")
    return ceil(n_clusters * (half_width / wanted) ** 2)


def systems_needed(r: float, half_width: float, *, level: float = 0.95) -> int:
    """Fewest independent systems, at least 4, for this half-width around a Pearson correlation `r`, by Fisher's z."""
    from scipy.special import ndtri

    if not (abs(r) < 1 and 0 < half_width < 1):
        raise ValueError("r must lie between -1 and 1, and the half-width between 0 and 1")
    z, tail = atanh(r), float(ndtri((1 + level) / 2))

    def half(n: int) -> float:
        reach = tail / sqrt(n - 3)
        return (tanh(z + reach) - tanh(z - reach)) / 2

    enough, low = 4, 4
    while half(enough) > half_width:
        low, enough = enough, enough * 2
    while low < enough:  # binary search: half() decreases with n
        middle = (low + enough) // 2
        low, enough = (low, middle) if half(middle) <= half_width else (middle + 1, enough)
    return enough


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Variance of one measurement by source."""

    clusters: float  # between the true means of clusters
    items: float = 0.0  # between the true values of items in a cluster
    ratings: float = 0.0  # between the ratings of one item; 0 for a metric

    def of_cluster(self, *, items: int = 1, ratings: int = 1) -> float:
        """Variance of the mean of one cluster with this many items and this many ratings of each."""
        return self.clusters + self.items / items + self.ratings / (items * ratings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Scores of a metric on more clusters than are rated, which narrow the interval (stats/ppi.py)."""

    agreement: float  # Pearson's correlation of scores and ratings, over the means of clusters
    clusters: int | None = None  # clusters of each agent that are scored; None: far more than are rated


@dataclass(frozen=True, slots=True, kw_only=True)
class TTest:
    """A two-sided t-test of a difference between two agents, or between a win rate and one half."""

    variance: float  # variance of a cluster's mean, or of its difference if `paired`
    paired: bool
    alpha: float = 0.05
    scored: Scored | None = None

    def error(self, clusters: int) -> float:
        """Standard error of the difference with this many clusters of each agent."""
        spread = self.variance / clusters
        if self.scored is not None:
            share = self.scored.agreement**2
            rest = self.scored.clusters
            spread = self.variance * ((1 - share) / clusters + (0.0 if rest is None else share / rest))
            spread = min(spread, self.variance / clusters)
        return sqrt(spread * (1 if self.paired else 2))

    def freedom(self, clusters: int) -> int:
        """Degrees of freedom: clusters less one for each mean and one for each slope of the scores."""
        lost = 1 if self.scored is None else 2
        return (clusters - lost) * (1 if self.paired else 2)

    def power(self, difference: float, clusters: int) -> float:
        """The probability of rejecting if this is the true difference; 0 with too few clusters for a test."""
        from scipy.special import nctdtr, stdtrit

        freedom, error = self.freedom(clusters), self.error(clusters)
        if freedom < 1:
            return 0.0
        if not error > 0:
            return 1.0 if difference else self.alpha
        cut, shift = float(stdtrit(freedom, 1 - self.alpha / 2)), abs(difference) / error
        above, below = float(nctdtr(freedom, shift, cut)), float(nctdtr(freedom, shift, -cut))
        return min(1.0, 1 - above + (below if isfinite(below) else 0.0)) if isfinite(above) else 1.0

    def clusters_needed(self, difference: float, *, power: float = 0.8) -> int | None:
        """The fewest clusters of each agent that give this power; None if no number does."""
        if not difference:
            raise ValueError("the difference must not be 0")
        enough = 2
        while self.power(difference, enough) < power:
            enough *= 2
            if enough > MOST_CLUSTERS:
                return None
        low = enough // 2
        while low + 1 < enough:  # power rises with the number of clusters
            middle = (low + enough) // 2
            low, enough = (low, middle) if self.power(difference, middle) >= power else (middle, enough)
        return enough

    def smallest_difference(self, clusters: int, *, power: float = 0.8) -> float | None:
        """The smallest true difference that is found with this power; None without spread or a test.

        `ValueError` unless the power is above alpha.
        """
        from scipy.optimize import brentq

        error = self.error(clusters)
        if not power > self.alpha:
            raise ValueError("the power must be above alpha, which no difference has")
        if self.freedom(clusters) < 1 or not (error > 0 and isfinite(error)):
            return None
        most = 10.0
        while self.power(most * error, clusters) < power:
            most *= 2
        return float(brentq(lambda shift: self.power(shift * error, clusters) - power, 0.0, most)) * error


def components(values: Floats, items: Ints, clusters: Ints) -> Spread:
    """Variance components of ratings in items in clusters, by the method of moments for unequal numbers.

    `values` has one rating each, `items` and `clusters` the codes of its item and cluster. A source that cannot be told
    apart (one rating of each item, one item in each cluster) is part of the next higher one. A negative component is 0.
    `ValueError` with fewer than two clusters.
    """
    n = len(values)
    item_codes, item_of = np.unique(items, return_inverse=True)
    cluster_of_item = np.zeros(len(item_codes), dtype=np.int64)
    cluster_codes, cluster_of = np.unique(clusters, return_inverse=True)
    cluster_of_item[item_of] = cluster_of
    n_items, n_clusters = len(item_codes), len(cluster_codes)
    if n_clusters < 2:
        raise ValueError("variance components need at least two clusters")
    of_item = np.bincount(item_of).astype(np.float64)
    of_cluster = np.bincount(cluster_of).astype(np.float64)
    item_means = np.bincount(item_of, weights=values) / of_item
    cluster_means = np.bincount(cluster_of, weights=values) / of_cluster
    mean = float(np.mean(values))
    within_items = float(np.sum((values - item_means[item_of]) ** 2))
    between_items = float(of_item @ (item_means - cluster_means[cluster_of_item]) ** 2)
    between_clusters = float(of_cluster @ (cluster_means - mean) ** 2)
    crowding = float(np.sum(of_item**2 / of_cluster[cluster_of_item]))  # Searle 1971, table 11.1
    k_items = (n - crowding) / (n_items - n_clusters) if n_items > n_clusters else 0.0
    k_items_above = (crowding - float(of_item @ of_item) / n) / (n_clusters - 1)
    k_clusters = (n - float(of_cluster @ of_cluster) / n) / (n_clusters - 1)
    ratings = within_items / (n - n_items) if n > n_items else 0.0
    in_clusters = 0.0
    if n_items > n_clusters:
        in_clusters = max(0.0, (between_items / (n_items - n_clusters) - ratings) / k_items)
    above = between_clusters / (n_clusters - 1) - ratings - k_items_above * in_clusters
    return Spread(clusters=max(0.0, above / k_clusters), items=in_clusters, ratings=ratings)


def pooled(spreads: Sequence[Spread], weights: Sequence[float]) -> Spread:
    """The weighted mean of variance components, source by source."""
    shares = np.asarray(weights, dtype=np.float64) / float(np.sum(weights))
    table = np.array([[one.clusters, one.items, one.ratings] for one in spreads])
    clusters, items, ratings = (shares @ table).tolist()
    return Spread(clusters=clusters, items=items, ratings=ratings)


def win_rate_spread(win_rate: float, *, ties: float = 0.0, icc: float = 0.0) -> Spread:
    """Variance of one preference, counted 1, one half for a tie, and 0; `icc` is the share that is between contexts.

    `ValueError` if the win rate and the share of ties cannot both hold.
    """
    if not ties / 2 <= win_rate <= 1 - ties / 2:
        raise ValueError(f"a win rate of {win_rate:g} cannot have {ties:.0%} ties, which count half")
    variance = win_rate * (1 - win_rate) - ties / 4
    return Spread(clusters=icc * variance, ratings=(1 - icc) * variance)


def win_rate_test_spread(win_rate: float, *, ties: float = 0.0, icc: float = 0.0) -> Spread:
    """The spread to plan a test of a win rate with: the mean of those at this rate and at one half.

    The spread at this rate alone promises too much power: samples with a high win rate have a small spread too, which
    widens the distribution of t. At a win rate of .68 it promises .72 where .68 is simulated (benchmarks/power.py).
    """
    rates = (win_rate, 0.5)
    return pooled([win_rate_spread(rate, ties=ties, icc=icc) for rate in rates], [1.0, 1.0])


def variance_range(variance: float, freedom: int, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of a variance that was estimated with these degrees of freedom, for normal values."""
    from scipy.special import chdtri

    tail = (1 - level) / 2
    return variance * freedom / float(chdtri(freedom, tail)), variance * freedom / float(
        chdtri(freedom, 1 - tail)
    )
