"""Adjustment of p-values for many tests, which controls the false discovery rate."""

import numpy as np

from turnwise.types import Floats


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
