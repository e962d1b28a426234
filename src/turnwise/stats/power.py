"""What a wanted precision costs, and what could have been seen with the data there is."""

from math import atanh, ceil, isfinite, sqrt, tanh

import numpy as np

from turnwise.types import Floats


def minimum_detectable_difference(
    cluster_differences: Floats, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The true mean difference that a two-sided paired t-test on as many clusters would find with this power.

    Solved on the noncentral t; the far tail, which no sane power rests on, is left out.
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
    """Clusters for an interval of half-width `wanted`, as it was `half_width` with `n_clusters`."""
    if not (half_width > 0 and wanted > 0 and n_clusters > 0):
        raise ValueError("half-widths and the number of clusters are above 0")
    return ceil(n_clusters * (half_width / wanted) ** 2)


def systems_needed(r: float, half_width: float, *, level: float = 0.95) -> int:
    """Independent systems for an interval of this half-width around a Pearson correlation, by Fisher's z."""
    from scipy.special import ndtri

    if not (abs(r) < 1 and 0 < half_width < 1):
        raise ValueError("r lies between -1 and 1, and a half-width between 0 and 1")
    z, tail = atanh(r), float(ndtri((1 + level) / 2))

    def half(n: int) -> float:
        reach = tail / sqrt(n - 3)
        return (tanh(z + reach) - tanh(z - reach)) / 2

    enough, low = 4, 4
    while half(enough) > half_width:
        low, enough = enough, enough * 2
    while low < enough:  # half() falls with n
        middle = (low + enough) // 2
        low, enough = (low, middle) if half(middle) <= half_width else (middle + 1, enough)
    return enough
