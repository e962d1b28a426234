"""Power and sample size: the smallest detectable difference, and the data needed for a given precision."""

from math import atanh, ceil, isfinite, sqrt, tanh

import numpy as np

from turnwise.types import Floats


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
    """Fewest independent systems, at least 4, for this half-width around a Pearson correlation `r`, by Fisher's z.

    Raises `ValueError` unless `r` lies between -1 and 1 and the half-width between 0 and 1.
    """
    from scipy.special import ndtri

    if not (abs(r) < 1 and 0 < half_width < 1):
        raise ValueError("r must lie between -1 and 1, and the half-width between 0 and 1")
    z, tail = atanh(r), float(ndtri((1 + level) / 2))

    def half(n: int) -> float:
        """The half-width of the interval with `n` systems."""
        reach = tail / sqrt(n - 3)
        return (tanh(z + reach) - tanh(z - reach)) / 2

    enough, low = 4, 4
    while half(enough) > half_width:
        low, enough = enough, enough * 2
    while low < enough:  # binary search: half() decreases with n
        middle = (low + enough) // 2
        low, enough = (low, middle) if half(middle) <= half_width else (middle + 1, enough)
    return enough
