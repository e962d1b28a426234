"""A difference over its standard error by Student's t: one procedure for the interval and the test.

The interval is the test inverted, so it excludes 0 exactly where p is below its level. Nothing is drawn: the result
depends on no seed, and that of B less A is that of A less B with the other sign. The standard error is the jackknife's
by cluster, which also holds for statistics that are no sums, such as distinct-2 and Fréchet distances: it is too
large rather than too small there (Efron and Stein 1981).

With clusters of different sizes the jackknife error is less certain than that of as many equal ones: the degrees of
freedom are those of their effective number (Kish 1965). Two independent samples are added as by Welch, except where one
of them does not vary at all: few yes-or-no values that are all alike do not show that others would be, so both are
given the variance of their pool (6 against 50 values with the same rate of .2: 27 % false differences by Welch, .4 % by
the pool).

Where clusters of one size differ by one amount only, for or against an agent or not at all, as tasks that are passed or
not, the error is that of McNemar's test, which supposes no difference. The jackknife's is too small there: five wins
and a tie have p = .004 by it, and .063 by the sign test. With five metrics of 40 wins and losses each it called equal
agents different in 7.6 % of data sets, McNemar's in 3.1 %.

Where nothing varies, p is that of the sign test, or of the permutation of labels, and the interval inverts it too: any
value but the estimate itself is as unlikely as the sign test allows, so the interval is that one value where this is
below the level, and there is none where clusters are too few.

What was tried first: BCa and subsampling intervals beside a permutation test disagreed in 8 of 200 comparisons, and
1,000 draws turned 3 of 100 verdicts near the limit with the seed. Error rates and power beside the permutation test
are in benchmarks/results/verdicts.json.
"""

from dataclasses import dataclass, replace
from math import comb, sqrt

import numpy as np

from turnwise.stats.anytime import anytime_p, anytime_quantile
from turnwise.stats.computing.tails import t_cdf, t_quantile
from turnwise.stats.interval import NO_VARIATION, Interval
from turnwise.types import Floats

METHOD = "t on the jackknife by cluster"
WON_OR_LOST = "t on the error of McNemar's test by cluster"
TOO_FEW = "none: fewer than 2 clusters"
UNDEFINED = "none: undefined without one of the clusters"
SIGN_TEST = f"{NO_VARIATION}; sign test by cluster"
LABEL_TEST = f"{NO_VARIATION}; exact permutation of agent labels"
# Clusters of each of two samples from which on the error at any time is held. With equal normal agents of which one
# has 4 to 10 times the clusters, looks from 2 clusters on reject 6.3 to 7.6 %, from 6 on 2.1 to 2.3 %.
FIRST_LOOK = 6
_ROUNDING = 1e-12  # of the size of the numbers: a smaller spread is an error of rounding


@dataclass(frozen=True, slots=True)
class Studentised:
    """An estimate with its standard error and degrees of freedom; without both where `exact_p` is all there is."""

    estimate: float
    error: float | None
    degrees: float
    method: str
    exact_p: float = float("nan")  # without a standard error
    elsewhere: float = float(
        "nan"
    )  # without a standard error, where nothing varies: p of any other value than 0
    anytime: bool = False  # whether interval and p hold however often the data was looked at before

    @property
    def p(self) -> float:
        """Two-sided p-value of a difference of 0; NaN where it is unknown."""
        if self.error is None:
            return self.exact_p
        t = self.estimate / self.error
        return anytime_p(t, self.degrees) if self.anytime else 2 * t_cdf(self.degrees, -abs(t))

    def interval(self, level: float = 0.95) -> Interval | None:
        """The interval that excludes a value where its p is below 1 - level; None where there are too few clusters."""
        if self.error is None:
            return (self.estimate, self.estimate) if self.elsewhere < 1 - level else None
        return t_interval(self.estimate, self.error, self.degrees, level, anytime=self.anytime)


def t_interval(
    estimate: float, error: float, degrees: float, level: float = 0.95, *, anytime: bool = False
) -> Interval | None:
    """The interval of an estimate with this standard error; None where no number bounds it."""
    alpha = 1 - level
    quantile = anytime_quantile(degrees, alpha) if anytime else t_quantile(degrees, 1 - alpha / 2)
    return (estimate - quantile * error, estimate + quantile * error) if np.isfinite(quantile) else None


def paired(
    estimate: float, left_out: Floats, sizes: Floats, *, unit: float, anytime: bool = False
) -> Studentised:
    """The test of a difference from its values with each cluster left out, (C,), and the clusters' sizes.

    `unit` is the size of the numbers whose difference it is: a spread that is tiny beside it is rounding. Where all
    clusters differ alike, p is that of the sign test; where some do, and by the same amount, of McNemar's.
    """
    test = jackknifed(estimate, left_out, sizes, unit=unit, anytime=anytime)
    if test.error is None or np.ptp(sizes) > 0:
        return test
    n = len(left_out)
    own = n * estimate - (n - 1) * left_out  # each cluster's difference, for clusters of equal size
    amounts, rounding = np.abs(own), n * _ROUNDING * unit
    if np.ptp(amounts[amounts > rounding]) > rounding:
        return test
    return replace(test, error=sqrt(np.sum(own**2)) / n, method=WON_OR_LOST)


def jackknifed(
    estimate: float, left_out: Floats, sizes: Floats, *, unit: float, anytime: bool = False
) -> Studentised:
    """The test that a value is 0, from its values with each cluster left out, (C,), and the clusters' sizes."""
    n = len(left_out)
    if n < 2:
        return Studentised(estimate, None, 0.0, TOO_FEW)
    if not np.isfinite(left_out).all():
        return Studentised(estimate, None, 0.0, UNDEFINED)
    variance = _jackknife_variance(left_out)
    if sqrt(variance) <= _ROUNDING * unit:
        return _unvarying(estimate, n - 1.0, SIGN_TEST, min(1.0, 2 * 0.5**n), unit, anytime=anytime)
    return Studentised(estimate, sqrt(variance), degrees_of(sizes), METHOD, anytime=anytime)


def independent(
    estimate: float,
    left_out: tuple[Floats, Floats],
    sizes: tuple[Floats, Floats],
    *,
    unit: float,
    anytime: bool = False,
) -> Studentised:
    """The test of the difference of two independent samples, from each one's own values with a cluster left out.

    Where neither sample varies, p is that of the permutation of labels, of which only two are as extreme.
    """
    fewest = FIRST_LOOK if anytime else 2
    if min(map(len, left_out)) < fewest:
        return Studentised(estimate, None, 0.0, f"none: fewer than {fewest} clusters of one agent")
    if not all(np.isfinite(values).all() for values in left_out):
        return Studentised(estimate, None, 0.0, UNDEFINED)
    first, second = variances = [_jackknife_variance(values) for values in left_out]
    total = first + second
    if sqrt(total) <= _ROUNDING * unit:
        n_a, n_b = map(len, left_out)
        exact = min(1.0, 2 / comb(n_a + n_b, n_a))
        return _unvarying(estimate, n_a + n_b - 2.0, LABEL_TEST, exact, unit, anytime=anytime)
    if sqrt(min(variances)) <= _ROUNDING * unit:
        return _pooled(estimate, variances, sizes, anytime=anytime)
    shares = [variance / total for variance in variances]
    degrees = 1 / sum(share**2 / degrees_of(one) for share, one in zip(shares, sizes, strict=True))
    return Studentised(estimate, sqrt(total), degrees, f"Welch's {METHOD}", anytime=anytime)


def _unvarying(
    estimate: float, degrees: float, method: str, p: float, unit: float, *, anytime: bool
) -> Studentised:
    """The exact test of an estimate without any variation; `p` is that of values that it is not, for a single look."""
    is_zero = abs(estimate) <= _ROUNDING * unit
    if anytime:
        return Studentised(estimate, None, degrees, f"none at any time: {NO_VARIATION}", 1.0)
    return Studentised(0.0 if is_zero else estimate, None, degrees, method, 1.0 if is_zero else p, p)


def _pooled(
    estimate: float, variances: list[float], sizes: tuple[Floats, Floats], *, anytime: bool
) -> Studentised:
    """The test of two samples of which one does not vary, with the variance of both together."""
    numbers = [degrees_of(own) + 1 for own in sizes]
    spreads = [variance * number for variance, number in zip(variances, numbers, strict=True)]
    degrees = sum(numbers) - 2
    spread = sum((number - 1) * own for number, own in zip(numbers, spreads, strict=True)) / degrees
    error = sqrt(spread * sum(1 / number for number in numbers))
    return Studentised(estimate, error, degrees, f"Student's {METHOD}, pooled", anytime=anytime)


def of_interval(
    estimate: float, interval: Interval, degrees: float, method: str, *, anytime: bool = False
) -> Studentised:
    """The test behind a 95 % t interval with these degrees of freedom."""
    error = (interval[1] - interval[0]) / 2 / t_quantile(degrees, 0.975)
    return Studentised(estimate, error, degrees, method, anytime=anytime)


def degrees_of(sizes: Floats) -> float:
    """The degrees of freedom of clusters with these sizes: their effective number (Kish 1965) less 1, at least 1."""
    return max(1.0, float(np.sum(sizes) ** 2 / np.sum(np.square(sizes))) - 1.0)


def _jackknife_variance(left_out: Floats) -> float:
    """The jackknife variance of a statistic from its values with each cluster left out."""
    n = len(left_out)
    return float((n - 1) / n * np.sum((left_out - np.mean(left_out)) ** 2))
