"""From draws to intervals, honest about few clusters.

A percentile interval is too narrow for few clusters: it uses normal tails and a variance that is short of
the factor C/(C-1). Both are mended as Hesterberg 2015 ("What teachers should know about the bootstrap",
section 5.2) does for the percentile: the tails are those at which a normal stands where t with C-1 degrees
of freedom does, times sqrt(C/(C-1)). We do the same inside BCa. What is measured of it stands in
benchmarks/results/calibration.json.

None stands for an interval that the data cannot give, never one of width 0.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from turnwise.stats.clusters import deal
from turnwise.stats.resample import bootstrap_sums, jackknife, jackknife_sums, multiplicities, subsample
from turnwise.stats.weighted import of_weights
from turnwise.types import Floats, Ints

Interval: TypeAlias = tuple[float, float]

FEW = 20  # clusters: with fewer the jackknife knows more than the bootstrap
_RARE = 5  # clusters away from the edge: with fewer, a bootstrap sees too little of them (measured)


def percentile(draws: Floats, level: float = 0.95, *, n_clusters: int | None = None) -> Interval | None:
    """The middle of the defined draws; with `n_clusters`, widened as few clusters need."""
    kept = _defined(draws)
    if kept is None or (n_clusters is not None and n_clusters < 2):
        return None
    return _quantiles(kept, _normal_cdf(_tails(level, n_clusters)))


def bca(
    estimate: float, draws: Floats, jackknife: Floats, level: float = 0.95, *, n_clusters: int | None = None
) -> Interval | None:
    """Bias-corrected and accelerated (Efron 1987), widened as few clusters need: `n_clusters`, else as many
    as there are values in `jackknife`.

    Where bias or acceleration is undefined (an estimate outside all draws, a constant or undefined
    jackknife, a pole between the tails) it is the percentile interval.
    """
    kept = _defined(draws)
    if kept is None or len(jackknife) < 2 or (n_clusters is not None and n_clusters < 2):
        return None
    z = _tails(level, len(jackknife) if n_clusters is None else n_clusters)
    below = (np.count_nonzero(kept < estimate) + np.count_nonzero(kept <= estimate)) / 2 / len(kept)
    if not (0 < below < 1 and np.isfinite(jackknife).all() and _vary(jackknife)):
        return _quantiles(kept, _normal_cdf(z))
    gap = np.mean(jackknife) - jackknife
    bias, acceleration = _normal_quantile(below), float(np.sum(gap**3) / (6 * np.sum(gap**2) ** 1.5))
    slope = 1 - acceleration * (bias + z)
    return _quantiles(kept, _normal_cdf(bias + (bias + z) / slope if (slope > 0).all() else z))


def t(values: Floats, level: float = 0.95) -> Interval | None:
    """Student's interval of the mean of one value a cluster."""
    from scipy.special import stdtrit

    n = len(values)
    if n < 2 or not np.isfinite(values).all() or not _vary(values):
        return None
    half = float(stdtrit(n - 1, (1 + level) / 2)) * float(np.std(values, ddof=1)) / np.sqrt(n)
    centre = float(np.mean(values))
    return centre - half, centre + half


def jackknife_t(estimate: float, left_out: Floats, level: float = 0.95) -> Interval | None:
    """Student's interval with the jackknife's error, one value a cluster left out.

    For fewer than 20 clusters, where a bootstrap has too few to draw from: with 2, 5 and 10 clusters BCa covers
    .50, .91 and .94, this .95 each time (skewed: .48, .89 and .93, this .94, .93 and .93).
    """
    from scipy.special import stdtrit

    n = len(left_out)
    if n < 2 or not np.isfinite(left_out).all() or not _vary(left_out):
        return None
    error = float(np.sqrt((n - 1) / n * np.sum((left_out - np.mean(left_out)) ** 2)))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return estimate - half, estimate + half


def welch(difference: float, left_out_a: Floats, left_out_b: Floats, level: float = 0.95) -> Interval | None:
    """`jackknife_t` of the difference of two samples, with Welch's degrees of freedom."""
    from scipy.special import stdtrit

    each = [
        ((len(values) - 1) / len(values) * float(np.sum((values - np.mean(values)) ** 2)), len(values) - 1)
        for values in (left_out_a, left_out_b)
    ]
    total = sum(variance for variance, _ in each)
    if not (np.isfinite(total) and total > 0):
        return None
    freedom = total**2 / sum(variance**2 / degrees for variance, degrees in each)
    half = float(stdtrit(freedom, (1 + level) / 2)) * float(np.sqrt(total))
    return difference - half, difference + half


def wilson(successes: float, n: float, level: float = 0.95) -> Interval | None:
    """Wilson's score interval of a proportion: it has a width at 0 and at 1 too."""
    if n <= 0:
        return None
    z = float(_normal_quantile((1 + level) / 2))
    share, shrink = successes / n, 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    half = z / shrink * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def of_rare(
    share: float, events: int, n_clusters: int, level: float = 0.95, *, bounds: tuple[float, float]
) -> Interval | None:
    """Wilson's interval, a cluster as one trial, of a `share` between `bounds` that fewer than five `events` take off
    the edge; None where they are more, and draws know better.
    """
    if events >= _RARE:
        return None
    low, high = bounds
    found = wilson((share - low) / (high - low) * n_clusters, n_clusters, level)
    return None if found is None else (low + found[0] * (high - low), low + found[1] * (high - low))


def interval_of_sums(
    sums: Floats,
    of_sums: Callable[[Floats], Floats],
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> tuple[Interval | None, str]:
    """The interval of `of_sums` of all (C, ..., k) `sums`, a single number, and how it was made.

    BCa by cluster; Wilson's with a cluster as one trial where a share of yes-or-no answers (every cluster
    at one of the `bounds`) has fewer than five clusters off the edge. `bounds` is (0, 100) for a
    percentage, and None for a number that is no share, such as BLEU, whose 0 says nothing about the width
    at 0.
    """
    n_clusters = len(sums)
    if n_clusters < 2:
        return None, "none: fewer than 2 clusters"
    estimate = float(of_sums(sums.sum(axis=0)))
    edge = None if bounds is None else _at_the_edge(estimate, sums, of_sums, level, bounds)
    if edge is not None:
        return edge, "Wilson by cluster"
    drawn = bootstrap_sums(sums, of_sums, draws=draws, rng=rng)
    return _by_cluster(estimate, drawn, jackknife_sums(sums, of_sums), level, n_clusters=n_clusters)


def interval_of_correlation(
    statistic: str,
    x: Floats,
    y: Floats,
    codes: Ints,
    n_clusters: int,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> tuple[Interval | None, str]:
    """BCa by cluster for a correlation over items, and how it was made."""
    codes, n_clusters = deal(codes, n_clusters)
    if n_clusters < 2:
        return None, "none: fewer than 2 clusters"
    of = of_weights(statistic, x, y, codes, n_clusters)
    drawn = np.concatenate([of(weights) for weights in multiplicities(n_clusters, draws, rng)])
    estimate = float(of(np.ones((1, n_clusters)))[0])
    return _by_cluster(estimate, drawn, of(1.0 - np.eye(n_clusters)), level, n_clusters=n_clusters)


def interval_of_rows(
    statistic: Callable[[Ints], float],
    codes: Ints,
    n_clusters: int,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> tuple[Interval | None, str]:
    """BCa on subsamples of clusters, for statistics that are no function of sums, and how it was made."""
    if n_clusters < 2:
        return None, "none: fewer than 2 clusters"
    drawn = subsample(statistic, codes, n_clusters, draws=draws, rng=rng)
    estimate, left_out = statistic(np.arange(len(codes))), jackknife(statistic, codes, n_clusters)
    return _by_cluster(estimate, drawn, left_out, level, n_clusters=n_clusters, kind="subsampling")


def moved(interval: Interval, centre: float, estimate: float, *, share: float) -> Interval:
    """The interval that a `share` of the clusters gave around `centre`, for the estimate on all of them.

    Its ends come nearer by the rate sqrt(C). A distance that is all sampling error, whose rate is C, keeps an interval
    that is too wide rather than too narrow.
    """
    low, high = (estimate + np.sqrt(share) * (end - centre) for end in interval)
    return float(low), float(high)


def _at_the_edge(
    estimate: float,
    sums: Floats,
    of_sums: Callable[[Floats], Floats],
    level: float,
    bounds: tuple[float, float],
) -> Interval | None:
    with np.errstate(divide="ignore", invalid="ignore"):
        each = of_sums(sums)
    if each.shape != (len(sums),):  # a number of each system: no share
        return None
    each = each[~np.isnan(each)]  # a cluster without items says nothing
    at = [int(np.count_nonzero(each == bound)) for bound in bounds]
    return None if sum(at) < len(each) else of_rare(estimate, min(at), len(each), level, bounds=bounds)


def _by_cluster(
    estimate: float,
    drawn: Floats,
    left_out: Floats,
    level: float,
    *,
    n_clusters: int,
    kind: str = "bootstrap",
) -> tuple[Interval | None, str]:
    if n_clusters < FEW:
        interval, method = jackknife_t(estimate, left_out, level), "t on the jackknife by cluster"
    else:
        interval = bca(estimate, drawn, left_out, level, n_clusters=n_clusters)
        method = f"BCa {kind} by cluster, {len(drawn)} draws"
    if interval is not None:
        return interval, method
    return None, "none: no variation" if _mostly_defined(drawn) else "none: undefined in most draws"


def _defined(draws: Floats) -> Floats | None:
    kept = draws[np.isfinite(draws)]
    return kept if _mostly_defined(draws) and _vary(kept) else None


def _mostly_defined(draws: Floats) -> bool:
    return bool(np.count_nonzero(np.isfinite(draws)) > len(draws) / 2)


def _vary(values: Floats) -> bool:
    """Equal but for rounding is no spread."""
    return bool(np.ptp(values) > 1e-12 * np.max(np.abs(values)))


def _tails(level: float, n_clusters: int | None) -> Floats:
    """Where the two tails begin, in standard deviations of the draws."""
    from scipy.special import stdtrit

    upper = (1 + level) / 2
    if n_clusters is None:
        z = float(_normal_quantile(upper))
    else:
        z = float(stdtrit(n_clusters - 1, upper)) * float(np.sqrt(n_clusters / (n_clusters - 1)))
    return np.array([-z, z])


def _quantiles(draws: Floats, probabilities: Floats) -> Interval:
    low, high = np.quantile(draws, np.sort(probabilities), method="weibull")
    return float(low), float(high)


def _normal_cdf(z: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(z), dtype=np.float64)


def _normal_quantile(p: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(p))
