"""How far raters agree, per dimension: the table to read before believing any mean.

Alpha and Fleiss' kappa ask whether ratings of one item are closer than ratings of any two items; they need
no identity. Median pairwise kappa and correlation follow two persons over the items both judged, as ADEM's
Table 2 does (its kappa is Cohen's, weights unstated; the plain and the quadratic one are given here).
Leave-one-out is the correlation of one rating with the mean of the item's others, pooled over raters and
items: what a metric has to reach to be as good as one more person. The ceiling (`ceiling.py`) is what a
perfect one would.

Intervals are Student's on the pseudo-values (Tukey 1958) of a jackknife that leaves out groups of whole
clusters, on the scale of Fisher's z. Medians have none: the jackknife is wrong for them. Raters are taken as
given: an interval says what other dialogues would change, not what other raters would.
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
from turnwise.stats.clusters import codes
from turnwise.stats.correlation import pearson
from turnwise.stats.interval import mean_t_interval
from turnwise.types import Direction, Floats, Rating

Statistic = Callable[[Floats], float]  # of a (raters, items) table with NaN where absent

GROUPS = 40  # of clusters left out at a time: more could narrow the interval by 3 % (t of 39 against normal)


@dataclass(frozen=True, slots=True)
class Figure:
    value: float  # NaN where undefined
    interval: tuple[float, float] | None = None  # 95 %
    reason: str | None = None  # why it is undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    dimension: str
    level: RatedLevel
    identity: Identity
    guessed: bool  # whether `identity` was guessed from the raters' names
    direction: Direction
    n_items: int
    n_raters: int  # distinct names, whatever they stand for
    n_ratings: int
    means: int  # published means left out because single ratings are there
    per_item: tuple[int, float, int]  # fewest, mean, most
    repeats: int
    consistency: Figure  # of raters with themselves, on repeats
    alpha_nominal: Figure
    alpha_ordinal: Figure
    alpha_interval: Figure
    fleiss: Figure
    pairwise_kappa: Figure
    pairwise_kappa_quadratic: Figure
    pairwise_correlation: Figure
    leave_one_out: Figure
    reliability: Figure  # of the item means
    ceiling: Figure  # of a metric's correlation with the item means


def agreement(
    ratings: Sequence[Rating],
    *,
    stable_raters: bool | None = None,
    rescale: bool = False,
    clusters: Mapping[str, str] | None = None,
    intervals: bool = True,
) -> tuple[Agreement, ...]:
    """One row for each dimension and level that was rated; none without ratings."""
    shape = partial(rating_matrix, ratings, stable_raters=stable_raters, rescale=rescale, clusters=clusters)
    matrices = (
        shape(dimension, level=level)
        for dimension in dimensions(ratings)
        for level in levels(r for r in ratings if r.dimension == dimension)
    )
    return tuple(agreement_of(matrix, intervals=intervals) for matrix in matrices)


def agreement_of(matrix: RatingMatrix, *, intervals: bool = True) -> Agreement:
    counts = matrix.counts
    people = matrix.identity == "people"
    nothing = matrix.why_no_agreement
    strangers = None if people else "raters are positions, so a pair of names is not a pair of people"
    unequal = None if counts.min() == counts.max() else "items have different numbers of ratings"
    weighted = partial(cohen_kappa, weights="quadratic", categories=matrix.categories)

    def share(values: Floats) -> float:
        return reliability(values, people=people)

    def figure(statistic: Statistic, why_not: str | None = None, if_nan: str | None = None) -> Figure:
        reason = nothing or why_not
        value = nan if reason else statistic(matrix.values)
        if isnan(value):
            return Figure(nan, reason=reason or if_nan or "the ratings leave nothing to compare")
        return Figure(value, _interval(matrix, statistic, value) if intervals else None)

    def median_figure(statistic: Callable[[Floats, Floats], float]) -> Figure:
        reason = nothing or strangers
        value = nan if reason else pairwise_median(matrix.values, statistic)
        alone = f"no two raters share {MIN_OVERLAP} items on which they can be compared"
        return Figure(value, reason=(reason or alone) if isnan(value) else None)

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
        consistency=Figure(
            matrix.consistency, reason=None if matrix.repeats else "nobody judged an item twice"
        ),
        alpha_nominal=figure(lambda values: krippendorff_alpha(values, level="nominal")),
        alpha_ordinal=figure(lambda values: krippendorff_alpha(values, level="ordinal")),
        alpha_interval=figure(lambda values: krippendorff_alpha(values, level="interval")),
        fleiss=figure(lambda values: fleiss_kappa(_category_counts(values)), unequal),
        pairwise_kappa=median_figure(cohen_kappa),
        pairwise_kappa_quadratic=median_figure(weighted),
        pairwise_correlation=median_figure(pearson),
        leave_one_out=figure(leave_one_out_correlation),
        reliability=figure(share, if_nan=ceiling(matrix).reason),
        ceiling=figure(lambda values: _root(share(values)), if_nan=ceiling(matrix).reason),
    )


def _root(share: float) -> float:
    return sqrt(share) if share > 0 else nan


def _category_counts(values: Floats) -> Floats:
    """(items, categories) how many raters of each item chose each value."""
    categories = np.unique(values[~np.isnan(values)])
    return np.stack([np.sum(values == category, axis=0) for category in categories], axis=1).astype(float)


def _interval(matrix: RatingMatrix, statistic: Statistic, value: float) -> tuple[float, float] | None:
    """None where leaving out a group makes the statistic undefined, or leaves it no room to vary."""
    cluster, n_clusters = codes(matrix.clusters)
    groups = min(GROUPS, n_clusters)
    if groups < 3:
        return None
    left = np.array([statistic(matrix.values[:, cluster % groups != group]) for group in range(groups)])
    if not (abs(value) < 1 and np.all(np.abs(left) < 1)):
        return None
    found = mean_t_interval(groups * np.arctanh(value) - (groups - 1) * np.arctanh(left))
    return found and (tanh(found[0]), tanh(found[1]))
