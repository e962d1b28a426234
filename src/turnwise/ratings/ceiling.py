"""How far people agree with themselves: the most that any metric's correlation with them can show.

The mean of a few raters is part judgement, part the luck of who rated. Its reliability is the share of its
variance between items that is not luck; a metric that knew the true quality of every item would correlate
with the means at the square root of that, and no metric can be expected above it. Adding raters raises it
as Spearman and Brown (1910) say: k raters have k r / (1 + (k-1) r), r being the reliability of one.

reliability = 1 - v * mean(1/n_i) / var(means), v the variance within an item. Where all raters are persons
and each judged every item, a strict rater lowers all means alike and does no harm, so v is what is left
after items and raters (ICC(3,k) of Shrout and Fleiss 1979, Cronbach's alpha). Otherwise who rated which
item is part of the luck, and v is all that differs inside an item (ICC(1,k)).
"""

from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from turnwise.ratings.matrix import RatingMatrix
from turnwise.types import Floats

ROUNDING = 1e-12  # nearer to 0 than this is 0: its square root would make a ceiling of 1e-8 out of noise


@dataclass(frozen=True, slots=True)
class Ceiling:
    reliability: float  # of the item means as they are; NaN where undefined
    per_item: float  # harmonic mean of the ratings of an item
    reason: str | None = None  # why the reliability or the correlation is undefined

    @property
    def correlation(self) -> float:
        """The highest correlation with these means that a perfect metric can be expected to reach."""
        return sqrt(self.reliability) if self.reliability > 0 else nan

    @property
    def one_rater(self) -> float:
        """Reliability of a single rating."""
        return self.reliability / (self.per_item - (self.per_item - 1) * self.reliability)

    def with_raters(self, k: float) -> float:
        """Reliability of the mean of `k` raters."""
        return k * self.one_rater / (1 + (k - 1) * self.one_rater)


def ceiling(matrix: RatingMatrix) -> Ceiling:
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
    """Share of the variance of item means that is not the luck of who rated; NaN where means do not vary."""
    values = values[:, ~np.isnan(values).all(axis=0)]
    counts = np.sum(~np.isnan(values), axis=0)
    means = np.nanmean(values, axis=0)
    rest = values - means
    freedom = np.sum(counts - 1)
    if people and not np.isnan(values).any():
        rest -= rest.mean(axis=1, keepdims=True)
        freedom -= len(values) - 1
    if len(means) < 2 or freedom <= 0 or np.ptp(means) <= ROUNDING * np.max(np.abs(means)):
        return nan
    luck = np.nansum(rest**2) / freedom * np.mean(1 / counts)
    share = float(1 - luck / np.var(means, ddof=1))
    return share if abs(share) > ROUNDING else 0.0
