"""Agreement between raters, for each dimension and level.

Alpha and Fleiss' kappa compare ratings of one item with ratings of any two items; they do not need to know who rated.
Median pairwise kappa and correlation compare two people on the items that both rated, as in ADEM's Table 2 (Cohen's
kappa, weights not stated; the unweighted and the quadratic one are given here). Leave-one-out is the correlation of a
rating with the mean of the item's other ratings, pooled over raters and items: the agreement of one person with the
others. The ceiling (`ceiling.py`) is the correlation that a perfect metric would reach.

Intervals are Student's t on jackknife pseudo-values (Tukey 1958), leaving out groups of whole clusters, on the scale of
Fisher's z. Medians have no interval, because the jackknife is not valid for them. Raters are treated as fixed: the
intervals cover the sampling of dialogues, not of raters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan, nan, sqrt, tanh

import numpy as np

from turnwise.ratings.ceiling import ceiling, reliability
from turnwise.ratings.matrix import Identity, RatedLevel, RatingMatrix, dimensions, levels, rating_matrix
from turnwise.stats.agreement import (
    MIN_OVERLAP,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    leave_one_out_correlation,
    pairwise_median,
)
from turnwise.stats.clusters import cluster_codes
from turnwise.stats.correlation import pearson
from turnwise.stats.interval import mean_t_interval
from turnwise.types import Direction, Floats, Rating

Statistic = Callable[[Floats], float]  # function of a (raters, items) table with NaN for missing ratings

# Groups of clusters in the jackknife. More could narrow an interval by 3 % at most (t with 39 degrees of freedom
# against the normal distribution).
JACKKNIFE_GROUPS = 40


@dataclass(frozen=True, slots=True)
class Coefficient:
    """An agreement coefficient with its interval, or the reason why it is undefined."""

    value: float  # NaN where undefined
    interval: tuple[float, float] | None = None  # 95 %
    reason: str | None = None  # why it is undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """All agreement coefficients of one dimension at one level."""

    dimension: str
    level: RatedLevel
    identity: Identity
    guessed: bool  # whether `identity` was guessed from the raters' names
    direction: Direction
    n_items: int
    n_raters: int  # distinct rater names
    n_ratings: int
    means: int  # published means that are ignored because there are single ratings
    per_item: tuple[int, float, int]  # ratings of an item: minimum, mean, maximum
    repeats: int
    consistency: Coefficient  # share of repeated ratings that are equal
    alpha_nominal: Coefficient
    alpha_ordinal: Coefficient
    alpha_interval: Coefficient
    fleiss: Coefficient
    pairwise_kappa: Coefficient
    pairwise_kappa_quadratic: Coefficient
    pairwise_correlation: Coefficient
    leave_one_out: Coefficient
    reliability: Coefficient  # reliability of the item means
    ceiling: Coefficient  # largest correlation of a metric with the item means


def agreement(
    ratings: Sequence[Rating],
    *,
    stable_raters: bool | None = None,
    rescale: bool | None = None,
    clusters: Mapping[str, str] | None = None,
    intervals: bool = True,
) -> tuple[Agreement, ...]:
    """The agreement of each dimension at each level that was rated, in order of appearance.

    Arguments are those of `rating_matrix`; without `intervals` no coefficient has an interval.
    """
    shape = partial(rating_matrix, ratings, stable_raters=stable_raters, rescale=rescale, clusters=clusters)
    matrices = (
        shape(dimension, level=level)
        for dimension in dimensions(ratings)
        for level in levels(r for r in ratings if r.dimension == dimension)
    )
    return tuple(agreement_of(matrix, intervals=intervals) for matrix in matrices)


def agreement_of(matrix: RatingMatrix, *, intervals: bool = True) -> Agreement:
    """All agreement coefficients of one rating matrix; one that is undefined is NaN and has a reason."""
    counts = matrix.counts
    people = matrix.identity == "people"
    no_agreement = matrix.why_no_agreement
    not_people = None if people else "raters are positions, so a pair of names is not a pair of people"
    unequal_counts = None if counts.min() == counts.max() else "items have different numbers of ratings"
    weighted = partial(cohen_kappa, weights="quadratic", categories=matrix.categories)

    def item_reliability(values: Floats) -> float:
        """The reliability of the item means of a (raters, items) table."""
        return reliability(values, people=people)

    def coefficient(
        statistic: Statistic, why_not: str | None = None, if_nan: str | None = None
    ) -> Coefficient:
        """The statistic of the matrix, with its interval if `intervals`; NaN with a reason where it is undefined.

        `why_not` is a reason known beforehand (None: computable), `if_nan` the reason to give if the value is NaN.
        """
        reason = no_agreement or why_not
        value = nan if reason else statistic(matrix.values)
        if isnan(value):
            return Coefficient(nan, reason=reason or if_nan or "the ratings leave nothing to compare")
        return Coefficient(value, jackknife_interval(matrix, statistic, value) if intervals else None)

    def pairwise_coefficient(statistic: Callable[[Floats, Floats], float]) -> Coefficient:
        """The median of a statistic over pairs of raters, without an interval; NaN with a reason if undefined."""
        reason = no_agreement or not_people
        value = nan if reason else pairwise_median(matrix.values, statistic)
        too_few_shared = f"no two raters share {MIN_OVERLAP} items on which they can be compared"
        return Coefficient(value, reason=(reason or too_few_shared) if isnan(value) else None)

    return Agreement(
        dimension=matrix.dimension,
        level=matrix.level,
        identity=matrix.identity,
        guessed=matrix.guessed,
        direction=matrix.direction,
        n_items=len(matrix.items),
        n_raters=len(matrix.raters),
        n_ratings=int(counts.sum()),
        per_item=(int(counts.min()), float(counts.mean()), int(counts.max())),
        means=matrix.means,
        repeats=matrix.repeats,
        consistency=Coefficient(
            matrix.consistency, reason=None if matrix.repeats else "nobody rated an item twice"
        ),
        alpha_nominal=coefficient(lambda values: krippendorff_alpha(values, level="nominal")),
        alpha_ordinal=coefficient(lambda values: krippendorff_alpha(values, level="ordinal")),
        alpha_interval=coefficient(lambda values: krippendorff_alpha(values, level="interval")),
        fleiss=coefficient(lambda values: fleiss_kappa(_category_counts(values)), unequal_counts),
        pairwise_kappa=pairwise_coefficient(cohen_kappa),
        pairwise_kappa_quadratic=pairwise_coefficient(weighted),
        pairwise_correlation=pairwise_coefficient(pearson),
        leave_one_out=coefficient(leave_one_out_correlation),
        reliability=coefficient(item_reliability, if_nan=ceiling(matrix).reason),
        ceiling=coefficient(
            lambda values: _square_root(item_reliability(values)), if_nan=ceiling(matrix).reason
        ),
    )


def _square_root(value: float) -> float:
    """The square root of a positive value, else NaN."""
    return sqrt(value) if value > 0 else nan


def _category_counts(values: Floats) -> Floats:
    """Number of raters of each item that chose each value that occurs, (items, categories)."""
    categories = np.unique(values[~np.isnan(values)])
    return np.stack([np.sum(values == category, axis=0) for category in categories], axis=1).astype(float)


def jackknife_interval(
    matrix: RatingMatrix, statistic: Statistic, value: float
) -> tuple[float, float] | None:
    """Jackknife t interval on Fisher's z; None with fewer than 3 groups, or where a value is undefined or +-1."""
    cluster, n_clusters = cluster_codes(matrix.clusters)
    groups = min(JACKKNIFE_GROUPS, n_clusters)
    if groups < 3:
        return None
    left_out = np.array([statistic(matrix.values[:, cluster % groups != group]) for group in range(groups)])
    if not (abs(value) < 1 and np.all(np.abs(left_out) < 1)):
        return None
    found = mean_t_interval(groups * np.arctanh(value) - (groups - 1) * np.arctanh(left_out))
    return found and (tanh(found[0]), tanh(found[1]))
