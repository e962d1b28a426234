"""Power and sample size: the smallest detectable difference, and the data needed for a difference or a precision.

The spread of a measurement has three sources: clusters (dialogues or contexts), items in a cluster, and ratings of one
item. More items a cluster reduce the last two, more ratings an item only the last, and more clusters all three. Tests
are t-tests on the means of clusters, which is what the intervals of `calibrate` and of means of few clusters use. Win
rates are tested by contexts and raters (stats/crossed.py), so they have a fourth source, which only more raters reduce.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atanh, ceil, isfinite, sqrt, tanh

import numpy as np

from turnwise.stats.components import variance_components
from turnwise.stats.ppi import FEWEST
from turnwise.types import Floats, Ints

MOST_CLUSTERS = 10**9  # a design that needs more is not computed
_FINEST = 1e-12  # of the largest gap between two ratings: a smaller step is none


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

    def excess(delta: float) -> float:
        """The power at this noncentrality, minus the one that is asked for."""
        return 1 - float(nctdtr(n - 1, delta, cut)) - power

    high = cut + 1
    while (
        excess(high) < 0
    ):  # a search from far above fails: scipy 1.17 returns NaN for some n and large values
        high *= 1.25
    return float(brentq(excess, 0.0, high)) * error


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
    raters: float = (
        0.0  # between the means of raters, of preferences; part of what the ratings of one item differ by
    )

    def of_cluster(self, *, items: int = 1, ratings: int = 1) -> float:
        """Variance of the mean of one cluster with this many items and this many ratings of each."""
        return self.clusters + self.items / items + (self.ratings + self.raters) / (items * ratings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Scores of a metric on more clusters than are rated, which narrow the interval (stats/ppi.py)."""

    agreement: float  # Pearson's correlation of scores and ratings, over the means of clusters
    clusters: int | None = None  # clusters of each agent that are scored; None: far more than are rated

    def variance(self, rated: int, *, estimated: bool = False) -> float:
        """Variance of the corrected mean with this many rated clusters, where that of one cluster is 1.

        `calibrate` divides its slope by the ratio of the scores' variance among all items to that among the rated ones,
        where it is above 1, and adds what such a slope leaves open to its own variance (`unseen` in stats/ppi.py). With
        few ratings this ratio is far from 1, and the test loses power. `estimated` is what the test takes the variance
        for. Both are means over the distribution of the ratio for normal scores. Fitting the slope adds 1 / n to the
        variance about it, and the test's correction for that (HC3) 2 / n.
        """
        explained = self.agreement**2
        share = 0.0 if self.clusters is None else min(1.0, rated / self.clusters)
        seen = _squares(max(1, rated - 1))
        slope = np.minimum(1.0, seen)
        left = (1 - slope + slope * share) ** 2 + slope**2 * (1 - share) * share
        about = (1 - explained) * (1 + (2 if estimated else 1) / rated)
        found = (about + explained * float(np.mean(left))) / rated
        if estimated:
            found += explained * float(np.mean(slope * (1 - slope) * seen)) * (1 - share) ** 2 / rated
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TTest:
    """A two-sided t-test of a difference between two agents, or between a win rate and one half."""

    variance: float  # variance of a cluster's mean, or of its difference if `paired`
    paired: bool
    alpha: float = 0.05
    scored: Scored | None = None
    step: float = (
        0.0  # of the scale on which the means of clusters lie, such as 1 for single ratings of 1 to 5
    )

    def with_variance(self, variance: float) -> "TTest":
        """The same test with another variance of a cluster."""
        return replace(self, variance=variance)

    def error(self, clusters: int) -> float:
        """Standard error of the difference with this many clusters of each agent."""
        return sqrt(self._spread(clusters) * (1 if self.paired else 2))

    def _spread(self, clusters: int, *, estimated: bool = False) -> float:
        """Variance of the mean of one agent, or what the test takes it for on average."""
        alone = self.variance / clusters
        if self.scored is None or clusters < FEWEST:
            return alone
        return min(alone, self.variance * self.scored.variance(clusters, estimated=estimated))

    def freedom(self, clusters: int) -> int:
        """Degrees of freedom: clusters less one for each mean and one for each slope of the scores."""
        lost = 1 if self.scored is None or clusters < FEWEST else 2
        return (clusters - lost) * (1 if self.paired else 2)

    def power(self, difference: float, clusters: int) -> float:
        """The probability of rejecting if this is the true difference; 0 with too few clusters for a test."""
        from scipy.special import nctdtr, stdtrit

        freedom, error = self.freedom(clusters), self.error(clusters)
        if freedom < 1:
            return 0.0
        if not error > 0:
            return 1.0 if difference else self.alpha
        # A permutation test of values with a step counts ties as extreme: the mean moves in steps of 2 / n.
        reach = max(0.0, abs(difference) - self.step / clusters)
        cut, shift = float(stdtrit(freedom, 1 - self.alpha / 2)), reach / error
        if self.scored is not None:  # the test takes the variance for larger than it is
            cut *= sqrt(self._spread(clusters, estimated=True) / self._spread(clusters))
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
        """The smallest true difference that is found with this power; None without spread or a test, and where the
        test of so few clusters rejects as often without any difference.

        `ValueError` unless the power is above alpha.
        """
        from scipy.optimize import brentq

        error = self.error(clusters)
        if not power > self.alpha:
            raise ValueError("the power must be above alpha, which no difference has")
        if self.freedom(clusters) < 1 or not (error > 0 and isfinite(error)):
            return None
        if self.power(0.0, clusters) >= power:
            return None
        most = 10.0
        while self.power(most * error, clusters) < power:
            most *= 2
        return float(brentq(lambda shift: self.power(shift * error, clusters) - power, 0.0, most)) * error


POINTS = 48  # quantiles of each estimated variance, over which the power of a win rate's test is averaged


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRateTest(TTest):
    """The test of a win rate against one half that `compare` makes: clustered by contexts and by raters.

    Its variance is estimated (stats/crossed.py), with one degree of freedom less than there are raters, and is at least
    that of the contexts. With few raters the test is therefore weaker than a t-test on contexts even if raters do not
    differ. A sample with a higher win rate x has a smaller variance, by x (1 - x), and rejects all the more. The power
    is the mean over the distribution of the estimated variances. `variance` is that at a win rate of one half. Each
    rater is taken to judge equally many contexts.
    """

    single: float  # variance of one preference at a win rate of one half, over `variance`
    raters: float = 0.0  # variance between raters, over `variance`
    ties: float = 0.0  # share of ties
    ratings: int = 1  # preferences of each context, by different raters
    people: int | None = None  # different raters in all; None: each preference has another one

    def with_variance(self, variance: float) -> "WinRateTest":
        """The same test with another variance of a context's mean; that of one preference and of raters stay.

        It is at least what it is if preferences of a context are independent, and at most that of one preference.
        """
        one = self.single * self.variance
        variance = min(max(variance, one / self.ratings), one)
        return replace(
            self, variance=variance, single=one / variance, raters=self.raters * self.variance / variance
        )

    def error(self, clusters: int, difference: float = 0.0) -> float:
        """Standard error of the win rate with this many contexts, if it is this far from one half."""
        shrunk = max(0.0, 1 - difference**2 / (self.single * self.variance))
        return sqrt(shrunk * (self.variance / clusters + self._leaning(clusters)))

    def freedom(self, clusters: int) -> int:
        """Degrees of freedom of the smaller side, contexts or raters."""
        return min(clusters, self._people(clusters)) - 1

    def power(self, difference: float, clusters: int) -> float:
        """The probability of rejecting if this is the true difference; 0 with too few contexts or raters for a test."""
        from scipy.special import ndtr, stdtrit

        if self.freedom(clusters) < 1:
            return 0.0
        error = self.error(clusters, difference)
        if not error > 0:
            return 1.0 if difference else self.alpha
        total, freedom = self._estimated(clusters)
        cut = stdtrit(freedom, 1 - self.alpha / 2) ** 2 * total
        # The variance at a win rate of one half plus x is in proportion to `single` - x².
        cut = np.sqrt(cut / (1 + cut / (self.single * self.variance)))
        return float(np.mean(ndtr((abs(difference) - cut) / error) + ndtr((-abs(difference) - cut) / error)))

    def _people(self, clusters: int) -> int:
        """The number of different raters."""
        return min(self.people or clusters * self.ratings, clusters * self.ratings)

    def _leaning(self, clusters: int) -> float:
        """What raters who differ add to the variance of the win rate."""
        return self.raters * self.variance * (1 / self._people(clusters) - 1 / (clusters * self.ratings))

    def _estimated(self, clusters: int) -> tuple[Floats, Floats]:
        """Quantiles of the variance that the test estimates, and its degrees of freedom for each of them.

        The degrees of freedom depend on which part, contexts or raters, makes up the estimated variance.
        """
        people, choices = self._people(clusters), clusters * self.ratings
        # Kurtosis of a preference, and of the mean of a context: nearer to normal the more preferences it has.
        kurtosis = 3 + (1 / max(1 - self.ties, 0.01) - 3) / self.single
        by_context = self.variance / clusters * _squares(2 * clusters / max(kurtosis - 1, 0.01))[:, None]
        of_cells = by_context / self.ratings + max(0.0, self.single - 1) * self.variance / choices
        # Contexts that two raters share do not make the means of these raters differ.
        shared = max(0.0, self.ratings - self.single) * self.variance / ((people - 1) * choices)
        mean = self._leaning(clusters) - shared
        # Raters' sums of squares contain those of the cells, which are subtracted: with one cell each nothing is left.
        apart = sqrt(max(0.0, 1 - people / choices))
        extra = mean + (of_cells + mean) * apart * (_squares(people - 1)[None] - 1)
        by_rater: Floats = np.maximum(0.0, of_cells + extra)
        total: Floats = np.maximum(by_context + np.maximum(0.0, extra), by_rater)
        freedom = total**2 / (by_context**2 / (clusters - 1) + by_rater**2 / (people - 1))
        return total, np.maximum(freedom, float(self.freedom(clusters)))


def _squares(freedom: float) -> Floats:
    """Quantiles of a mean of squares with these degrees of freedom whose expectation is 1, (POINTS,)."""
    from scipy.special import chdtri

    found: Floats = np.asarray(chdtri(freedom, (np.arange(POINTS) + 0.5) / POINTS), dtype=np.float64)
    return found / freedom


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


def scale_step(values: Floats) -> float:
    """The step of the scale on which all values lie, such as 1 for ratings of 1 to 5; 0 if they have none."""
    gaps = np.diff(np.unique(values))
    if not len(gaps):
        return 0.0
    step = float(gaps.min())
    if step < _FINEST * gaps.max():  # a quotient of the two would be rounding error, or no number
        return 0.0
    return step if np.allclose(gaps / step, np.round(gaps / step), rtol=0, atol=1e-6) else 0.0


def rater_variance(values: Floats, clusters: Ints, raters: Ints) -> float:
    """The variance between raters of ratings or preferences of clusters that raters share, at least 0.

    0 where these sources cannot be told apart, as where no rater has two clusters.
    """
    found = variance_components(values, {"clusters": clusters, "raters": raters})
    return 0.0 if found is None else found["raters"]


def pooled(spreads: Sequence[Spread], weights: Sequence[float]) -> Spread:
    """The weighted mean of variance components, source by source."""
    shares = np.asarray(weights, dtype=np.float64) / float(np.sum(weights))
    table = np.array([[one.clusters, one.items, one.ratings, one.raters] for one in spreads])
    clusters, items, ratings, raters = (shares @ table).tolist()
    return Spread(clusters=clusters, items=items, ratings=ratings, raters=raters)


def win_rate_spread(
    win_rate: float, *, ties: float = 0.0, icc: float = 0.0, rater_icc: float = 0.0
) -> Spread:
    """Variance of one preference, counted 1, one half for a tie, and 0.

    `icc` is the share that is between contexts, `rater_icc` that between raters. `ValueError` if the win rate and the
    share of ties cannot both hold, or if the two shares add up to more than 1.
    """
    if not ties / 2 <= win_rate <= 1 - ties / 2:
        raise ValueError(f"a win rate of {win_rate:g} cannot have {ties:.0%} ties, which count half")
    if icc + rater_icc > 1:
        raise ValueError(
            f"shares of {icc:g} between contexts and {rater_icc:g} between raters are more than 1"
        )
    variance = win_rate * (1 - win_rate) - ties / 4
    return Spread(
        clusters=icc * variance, ratings=(1 - icc - rater_icc) * variance, raters=rater_icc * variance
    )


def variance_range(variance: float, freedom: int, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of a variance that was estimated with these degrees of freedom, for normal values."""
    from scipy.special import chdtri

    tail = (1 - level) / 2
    return variance * freedom / float(chdtri(freedom, tail)), variance * freedom / float(
        chdtri(freedom, 1 - tail)
    )
