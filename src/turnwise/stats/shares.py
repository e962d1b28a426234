"""Shares with clustered standard errors: Wilson's interval and the score test.

A t interval of a share near 0 or 1 has to be cut at the bound and covers too little: .91 to .93 with 150 values at
shares of .9 and .975. Wilson's interval covers .94 to .96 there. For dependent values it takes the effective sample
size, at which independent yes-or-no values would have the same standard error, n = s (1 - s) / error^2, and the
quantile of t (Dean and Pagano 2015; Franco et al. 2019). The test is the one that this interval inverts, so that the
interval excludes a value exactly where p is below its level. Measured coverage is in
benchmarks/results/preferences.json.
"""

from typing import NamedTuple

import numpy as np

from turnwise.stats.crossed import StandardErrors
from turnwise.stats.interval import NO_VARIATION, Interval, wilson


class ShareTest(NamedTuple):
    """The interval of a share, p against a null value, and the method or the reason why there is no interval."""

    interval: Interval | None
    p: float  # NaN without an interval
    method: str


def share_test(
    share: float, errors: StandardErrors, *, null: float, n_clusters: int, by: str, level: float = 0.95
) -> ShareTest:
    """Wilson's interval of a share in [0, 1] from its clustered standard error, and p against `null`, strictly inside.

    `by` says in words what the errors are clustered by. A share of 0 or 1 has no standard error: each of the
    `n_clusters` then counts as one trial, and p is that of the sign test.
    """
    from scipy.special import stdtr

    error, degrees = float(errors.values[0]), float(errors.degrees[0])
    interval = share_interval(share, error, degrees, n_clusters=n_clusters, level=level)
    if share in (0.0, 1.0):
        chance = null if share else 1 - null
        return ShareTest(interval, min(1.0, 2 * chance**n_clusters), "sign test by cluster")
    if interval is None:
        return ShareTest(None, float("nan"), NO_VARIATION if error == 0 else "none: fewer than 2 clusters")
    score = abs(share - null) / float(np.sqrt(null * (1 - null) / (share * (1 - share)))) / error
    return ShareTest(interval, float(2 * stdtr(degrees, -score)), f"Wilson, clustered by {by}, t")


def share_interval(
    share: float, error: float, degrees: float, *, n_clusters: int, level: float = 0.95
) -> Interval | None:
    """The interval of `share_test` alone; of a share of 0 or 1 the values that its sign test does not reject."""
    from scipy.special import stdtrit

    if share in (0.0, 1.0):
        end = ((1 - level) / 2) ** (1 / n_clusters)
        return (end, 1.0) if share else (0.0, 1 - end)
    if degrees < 1 or not error > 0:
        return None
    n = share * (1 - share) / error**2
    return wilson(share * n, n, quantile=float(stdtrit(degrees, (1 + level) / 2)))
