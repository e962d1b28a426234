"""Reliability of mean ratings, and the ceiling that it puts on a metric's correlation with them.

The mean of a few raters contains rater error. Its reliability is the share of the variance between items that is not
rater error. A metric that knew the true quality of every item would correlate with the means at the square root of the
reliability, and no metric can be expected to exceed this. More raters raise it by the Spearman-Brown formula (1910): k
raters have reliability k r / (1 + (k-1) r), where r is the reliability of one.

reliability = 1 - v * mean(1/n_i) / var(means), where n_i is the number of ratings of item i and v the error variance of
a rating. Where raters are people and each rated every item, a strict rater lowers all means equally, so v is the
residual variance after item and rater effects (ICC(3,k) of Shrout and Fleiss 1979, Cronbach's alpha). Otherwise rater
effects are part of the error, and v is the variance within items (ICC(1,k)).
"""

from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from turnwise.ratings.matrix import RatingMatrix
from turnwise.types import Floats

ROUNDING = 1e-12  # a reliability closer to 0 than this is rounding error and counts as 0


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Reliability of the mean ratings, and what follows from it."""

    reliability: float  # reliability of the item means; NaN where undefined
    per_item: float  # harmonic mean of the number of ratings of an item
    reason: str | None = None  # why the reliability or the correlation is undefined

    @property
    def correlation(self) -> float:
        """The expected correlation of a perfect metric with these means; NaN unless the reliability is positive."""
        return sqrt(self.reliability) if self.reliability > 0 else nan


def ceiling(matrix: RatingMatrix) -> Ceiling:
    """The ceiling for correlations with the mean ratings of a matrix, with a reason where it is undefined."""
    counts = matrix.counts[matrix.counts > 0]
    per_item = float(1 / np.mean(1 / counts)) if len(counts) else nan
    if reason := matrix.why_no_agreement:
        return Ceiling(nan, per_item, reason)
    share = reliability(matrix.values, people=matrix.identity == "people")
    if isnan(share):
        reason = "all items have the same mean"
    elif share <= 0:
        reason = "ratings differ inside items as much as between them"
    return Ceiling(share, per_item, reason)


def reliability(values: Floats, *, people: bool) -> float:
    """Share of the variance of item means that is not rater error; may be negative.

    `values` is (raters, items). With `people`, differences between raters are not error if each rated every item. NaN
    where means do not vary, or with fewer than two items or no item with two ratings.
    """
    values = values[:, ~np.isnan(values).all(axis=0)]
    counts = np.sum(~np.isnan(values), axis=0)
    means = np.nanmean(values, axis=0)
    residuals = values - means
    degrees_of_freedom = np.sum(counts - 1)
    if people and not np.isnan(values).any():
        residuals -= residuals.mean(axis=1, keepdims=True)
        degrees_of_freedom -= len(values) - 1
    if len(means) < 2 or degrees_of_freedom <= 0 or np.ptp(means) <= ROUNDING * np.max(np.abs(means)):
        return nan
    variance = float(np.var(means, ddof=1))
    if variance == 0:  # the squares of tiny differences are 0
        return nan
    error_variance = np.nansum(residuals**2) / degrees_of_freedom * np.mean(1 / counts)
    share = float(1 - error_variance / variance)
    return share if abs(share) > ROUNDING else 0.0
