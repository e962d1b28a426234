"""Mean ratings from a metric's scores on all items and people's ratings on some: prediction-powered inference.

The mean rating of the labelled items is corrected by how far the scores of the labelled items lie from those of all
items: estimate = mean rating + slope * (mean score of all - mean score of the labelled). The correction has mean 0
whatever the metric is, so a useless, reversed or gamed metric biases nothing. The slope is the one that makes the
variance by cluster smallest: the power tuning (lambda) of Angelopoulos, Duchi and Zrnic 2023 (PPI++). Differences from
that paper:

- The scores of all items are averaged, and not those of the unlabelled ones only. Both give the same family of
  estimates, with lambda scaled by the share of unlabelled items.
- The slope is divided by the ratio of the scores' variance among all items to that among the labels, where it is above
  1. Otherwise a slope fitted on few labels would be used on outlying scores that no label has.
- The slope is not limited to 0-1, so that scores may be on any scale and a reversed metric is used too.
- Variances are sums over clusters, and intervals use t. Its degrees of freedom are counted in labelled clusters, less
  one for the mean and one for the slope. With the normal quantiles of the paper 20 labels cover too little.
- With fewer than 10 labelled clusters of an agent its scores are not used.
- Where the corrected interval is not narrower than that of the labels alone, the result is that of the labels alone.

An item may have no score. Means of scores are then over the items that have one, which is right if having a score has
nothing to do with being labelled. Where the shares of scored items among the labelled and among all differ by more than
chance, the scores are not used: nobody knows what the missing ones are.

With weights (the inverse of the probability with which an item was chosen to be labelled) means over labelled items
are weighted means, so labels that were drawn with unequal, known probabilities are handled too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import Literal

import numpy as np

from turnwise.stats.clusters import cluster_sums
from turnwise.stats.interval import Interval
from turnwise.types import Floats, Ints

Fit = Literal["none", "linear", "isotonic"]

FOLDS = 5  # folds of cross-fitting
FEWEST = 10  # labelled clusters for a slope; with 3 to 9, differences of agents covered .92 (benchmarks/calibrate.py)
ROUNDING = 1e-6  # of an effective number of clusters
# p below which the shares of scored items differ by more than chance. With .05 a metric that scored the rated items and
# all others but the worst fifth covered .59 with 12 labels (benchmarks/calibrate.py).
UNLIKELY = 0.2
MOST_LEVERAGE = 0.9  # of one cluster on a slope
TILT = (
    0.5  # log odds of being labelled for each standard deviation of the rating, in the sensitivity analysis
)


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The items of one agent, of which some have a rating."""

    scores: Floats  # (n,) NaN for an item without a score
    ratings: Floats  # (n,) NaN for an item without a label
    weights: Floats  # (n,) inverse probabilities of being labelled; used where there is a label
    clusters: Ints  # (n,) codes; two agents may share clusters
    n_clusters: int  # clusters of all agents

    @property
    def labelled(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """(n,) whether each item has a label."""
        return ~np.isnan(self.ratings)

    @property
    def scored(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """(n,) whether each item has a score."""
        return ~np.isnan(self.scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A mean rating, or a difference of two, from scores and labels; and the same from the labels alone."""

    estimate: float
    interval: Interval | None  # None: the labels do not vary, or fewer than two clusters have any
    p: float | None  # two-sided, that the estimate is 0
    error: float  # standard error
    freedom: float  # degrees of freedom of t
    slopes: tuple[float, ...]  # one an agent; 0 where the scores are not used
    labels_alone: float
    labels_alone_interval: Interval | None
    n_labels: int
    n_labelled_clusters: int

    @property
    def used(self) -> bool:
        """Whether the scores changed the estimate."""
        return any(self.slopes)

    @property
    def width_ratio(self) -> float:
        """Width of the interval divided by that of the labels alone; NaN if there is none."""
        if self.interval is None or self.labels_alone_interval is None:
            return float("nan")
        return (self.interval[1] - self.interval[0]) / (
            self.labels_alone_interval[1] - self.labels_alone_interval[0]
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """One agent's estimate as a function of the slope: `rating + slope * gap`, with its influence by cluster."""

    rating: float  # mean rating of the labelled items
    gap: float  # mean score of all items less that of the labelled ones; 0 where scores are not used
    of_rating: Floats  # (C,) influence of each cluster on `rating`
    of_gap: Floats  # (C,) influence of each cluster on `gap`
    unseen: float  # variance of the scores of all items over that of the labelled ones, at least 1
    holds_label: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]  # (C,)
    n_effective: float  # labelled clusters, fewer where their weights differ
    n_scored: float  # the same of labelled clusters with a score
    n_labels: int


def corrected_mean(sample: Sample, *, level: float = 0.95) -> Corrected:
    """The mean rating of all items of one agent. `ValueError` without a label."""
    return _corrected([(1.0, _parts(sample))], level)


def corrected_difference(a: Sample, b: Sample, *, level: float = 0.95) -> Corrected:
    """The mean rating of A less that of B; clusters that hold items of both make the two dependent.

    `ValueError` if one of them has no label.
    """
    return _corrected([(1.0, _parts(a)), (-1.0, _parts(b))], level)


def comparable_scores(sample: Sample) -> bool:
    """Whether labelled items have a score as often as all items do, up to chance, so that their means can be compared.

    The test is that of a share (normal, with the share of all items), so it allows for few missing scores. Items of a
    cluster are counted as independent, which errs towards not using the scores. False without a scored label.
    """
    from scipy.special import ndtr

    labelled, scored = sample.labelled, sample.scored
    if not (labelled & scored).any():
        return False
    share = float(scored.mean())
    weights = np.where(labelled, sample.weights, 0.0)
    shares = weights / weights.sum()
    variance = share * (1 - share) * max(0.0, float(shares @ shares) - 1 / len(scored))
    if not variance > 0:
        return True
    return 2 * float(ndtr(-abs(float(shares @ scored) - share) / sqrt(variance))) >= UNLIKELY


def _parts(sample: Sample) -> _Parts:
    """The estimate of one agent as a function of the slope."""
    labelled = sample.labelled
    if not labelled.any():
        raise ValueError("no item has a label")
    weights = np.where(labelled, sample.weights, 0.0)
    shares = weights / weights.sum()
    ratings = np.where(labelled, sample.ratings, 0.0)
    rating = float(shares @ ratings)
    of_rating, share = cluster_sums(
        np.stack([shares * (ratings - rating), shares], axis=1), sample.clusters, sample.n_clusters
    ).T
    gap, of_gap, unseen, n_scored = _gap(sample) if comparable_scores(sample) else (0.0, None, 1.0, 0.0)
    return _Parts(
        rating=rating,
        gap=gap,
        of_rating=of_rating,
        of_gap=np.zeros_like(of_rating) if of_gap is None else of_gap,
        unseen=unseen,
        holds_label=share > 0,
        n_effective=1.0 / float(share @ share),
        n_scored=n_scored,
        n_labels=int(labelled.sum()),
    )


def _gap(sample: Sample) -> tuple[float, Floats, float, float]:
    """`gap`, `of_gap`, `unseen` and `n_scored` of `_Parts`, over the items that have a score."""
    scored = sample.scored
    raw = np.where(scored, sample.scores, 0.0)
    equal = scored / float(scored.sum())
    weights = np.where(sample.labelled & scored, sample.weights, 0.0)
    shares = weights / weights.sum()
    scores = np.where(scored, raw - float(equal @ raw), 0.0)  # the mean of all scores is then 0
    spread = float(np.abs(scores).max())
    scores = scores / spread if spread > 1e-12 * float(np.abs(raw).max()) else np.zeros_like(scores)
    score = float(shares @ scores)
    of_gap, share = cluster_sums(
        np.stack([equal * scores - shares * (scores - score), shares], axis=1),
        sample.clusters,
        sample.n_clusters,
    ).T
    scale = spread if spread else 1.0
    seen = float(shares @ (scores - score) ** 2)
    unseen = max(1.0, float(equal @ scores**2) / seen) if seen > 0 else 1.0
    return -score * scale, of_gap * scale, unseen, 1.0 / float(share @ share)


def _corrected(parts: Sequence[tuple[float, _Parts]], level: float) -> Corrected:
    """The estimate of a sum of agents' means times their signs, with the better of the tuned slopes and slopes of 0."""
    signs = np.array([sign for sign, _ in parts])
    labels_alone = float(signs @ [one.rating for _, one in parts])
    alone = _Spread.of(parts, np.zeros(len(parts)), level)
    slopes = _tuned_slopes(parts)
    tuned = _Spread.of(parts, slopes, level)
    if not tuned.half_width < alone.half_width:  # also where one of them is NaN
        slopes, tuned = np.zeros(len(parts)), alone
    estimate = labels_alone + float((signs * slopes) @ [one.gap for _, one in parts])
    return Corrected(
        estimate=estimate,
        interval=_around(estimate, tuned.half_width),
        p=_two_sided_p(estimate, tuned),
        error=tuned.error,
        freedom=tuned.freedom,
        slopes=tuple(slopes.tolist()),
        labels_alone=labels_alone,
        labels_alone_interval=_around(labels_alone, alone.half_width),
        n_labels=sum(one.n_labels for _, one in parts),
        n_labelled_clusters=int(np.any([one.holds_label for _, one in parts], axis=0).sum()),
    )


def _tuned_slopes(parts: Sequence[tuple[float, _Parts]]) -> Floats:
    """The slopes, one an agent, that make the variance by cluster smallest; 0 where labels are too few for one."""
    fixed = sum(sign * one.of_rating for sign, one in parts)
    usable = [
        one.of_gap if one.n_scored > FEWEST - ROUNDING else np.zeros_like(one.of_gap) for _, one in parts
    ]
    movable = np.stack([sign * gap for (sign, _), gap in zip(parts, usable, strict=True)], axis=1)
    slopes: Floats = np.linalg.lstsq(movable, -np.asarray(fixed), rcond=1e-10)[0]
    return slopes / [one.unseen for _, one in parts]


@dataclass(frozen=True, slots=True)
class _Spread:
    """Standard error, degrees of freedom and half-width of an estimate."""

    error: float
    freedom: float
    half_width: float  # NaN if there is none

    @classmethod
    def of(cls, parts: Sequence[tuple[float, _Parts]], slopes: Floats, level: float) -> "_Spread":
        """The spread for these slopes.

        The residual of a cluster is divided by 1 - its leverage on the slope, as in the jackknife (HC3): a slope that
        rests on a few outlying scores then has a large variance. If scores vary less among the labels than among all
        items (`unseen` above 1), the slope's term in the variance is raised to what all items give. Each agent's
        labelled clusters lose one degree of freedom for its mean and one for its slope. The degrees of freedom of
        several agents, and of labelled and unlabelled clusters, are combined as Welch and Satterthwaite do. Clusters
        that are labelled for both agents are one observation, not two.
        """
        from scipy.special import stdtrit

        total = np.zeros_like(parts[0][1].of_rating)
        squares, denominators, counts, extra = 0.0, 0.0, 0, 0.0
        for (sign, one), slope in zip(parts, slopes.tolist(), strict=True):
            left = one.n_effective - 1 - (slope != 0)
            if left <= 0:
                return cls(float("nan"), float("nan"), float("nan"))
            mine = one.of_rating + slope * one.of_gap
            if slope:
                reach = one.of_gap**2 / float(one.of_gap @ one.of_gap)
                mine = mine / (1 - np.minimum(reach, MOST_LEVERAGE))
                extra += slope**2 * (one.unseen - 1) * float(one.of_gap @ one.of_gap)
            mine = np.where(one.holds_label, mine * sqrt(one.n_effective / (one.n_effective - 1)), mine)
            total += sign * mine
            inside = float(np.sum(mine[one.holds_label] ** 2))
            outside = float(np.sum(mine[~one.holds_label] ** 2))
            squares += inside + outside
            denominators += inside**2 / left
            if outside:
                denominators += outside**2 / max(1, int(np.count_nonzero(mine[~one.holds_label])) - 1)
            counts += int(one.holds_label.sum())
        error = sqrt(float(total @ total) + extra)
        if not (error > 0 and denominators > 0):
            return cls(error, float("nan"), float("nan"))
        distinct = int(np.any([one.holds_label for _, one in parts], axis=0).sum())
        freedom = max(1.0, squares**2 / denominators * distinct / counts)
        return cls(error, freedom, float(stdtrit(freedom, (1 + level) / 2)) * error)


def _around(estimate: float, half_width: float) -> Interval | None:
    """The interval of this half-width; None if it is not positive."""
    return (estimate - half_width, estimate + half_width) if half_width > 0 else None


def _two_sided_p(estimate: float, spread: _Spread) -> float | None:
    """The p-value of the t-test that the estimate is 0; None without a standard error."""
    from scipy.special import stdtr

    if not (spread.error > 0 and isfinite(spread.freedom)):
        return None
    return 2 * float(stdtr(spread.freedom, -abs(estimate) / spread.error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How far the scores of labelled items lie from those of unlabelled ones, in standard deviations of the scores."""

    size: float
    p: (
        float | None
    )  # two-sided, that labelled and unlabelled items have the same mean score; None if undefined


def selection_gap(sample: Sample) -> Gap:
    """The gap between labelled and unlabelled items that have a score.

    0 without p if the scores do not vary, or if all of these have a label or none has.
    """
    scored = sample.scored
    labelled, scores = sample.labelled[scored], sample.scores[scored]
    spread = float(np.std(scores)) if len(scores) else 0.0
    if labelled.all() or not labelled.any() or spread <= 1e-12 * float(np.abs(scores).max()):
        return Gap(size=0.0, p=None)
    parts = _parts(
        Sample(
            scores, sample.ratings[scored], np.ones_like(scores), sample.clusters[scored], sample.n_clusters
        )
    )
    share = float(np.mean(~labelled))
    spread_of_gap = _Spread.of([(1.0, replace(parts, of_rating=parts.of_gap))], np.zeros(1), 0.95)
    return Gap(size=-parts.gap / share / spread, p=_two_sided_p(parts.gap, spread_of_gap))


def tilted(sample: Sample, tilt: float) -> Sample:
    """The sample with the weights that hold if items with higher ratings were labelled more often.

    `tilt` is the log of how many times as often an item was labelled as one whose rating is a standard deviation lower.
    """
    labelled = sample.labelled
    ratings = sample.ratings[labelled]
    spread = float(np.std(ratings))
    weights = sample.weights.copy()
    if spread > 0:
        weights[labelled] *= np.exp(-tilt * (ratings - ratings.mean()) / spread)
    return replace(sample, weights=weights)


def tilted_mean(sample: Sample, tilt: float, *, slope: float) -> float:
    """The mean rating if the labels are tilted, with the slope of the untilted estimate."""
    parts = _parts(tilted(sample, tilt))
    return parts.rating + slope * parts.gap


def tilted_range(sample: Sample, tilt: float, *, slope: float) -> Interval:
    """The lowest and the highest mean rating if the labels are tilted by `tilt` one way, not at all, or the other."""
    means = [tilted_mean(sample, one, slope=slope) for one in (-tilt, 0.0, tilt)]
    return min(means), max(means)


def tilted_difference(a: Sample, b: Sample, tilt: float, *, slopes: tuple[float, float]) -> Interval:
    """The range of A less B if the labels of the two may be tilted in opposite ways: A's lowest less B's highest, and
    A's highest less B's lowest. `slopes` are those of the two agents' means.
    """
    low_a, high_a = tilted_range(a, tilt, slope=slopes[0])
    low_b, high_b = tilted_range(b, tilt, slope=slopes[1])
    return low_a - high_b, high_a - low_b


def tipping_tilt(a: Sample, b: Sample, *, slopes: tuple[float, float], most: float = 3.0) -> float | None:
    """The smallest tilt at which the range of A less B reaches 0 from the side of the untilted difference.

    None if a tilt of `most` does not reach it.
    """
    plain = tilted_difference(a, b, 0.0, slopes=slopes)[0]

    def leads(tilt: float) -> bool:
        low, high = tilted_difference(a, b, tilt, slopes=slopes)
        return low > 0 if plain > 0 else high < 0

    if leads(most):
        return None
    low, high = 0.0, most
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (middle, high) if leads(middle) else (low, middle)
    return high


def calibrated(
    scores: Floats,
    ratings: Floats,
    weights: Floats,
    clusters: Ints,
    *,
    fit: Fit,
    rng: np.random.Generator,
    folds: int = FOLDS,
) -> Floats:
    """Scores mapped to the scale of the ratings, by a line or a monotone step function fitted on the labels.

    Cross-fitted by cluster: the map of a labelled item is fitted on the labels of other clusters, and an unlabelled
    item gets the mean over the maps. The mapped scores of labelled items are then as far from their ratings as those
    of unlabelled items would be. With fewer than two clusters with labels the scores are unchanged.
    """
    labelled = np.flatnonzero(~np.isnan(ratings))
    present = np.unique(clusters[labelled])
    if fit == "none" or len(present) < 2:
        return scores
    folds = min(folds, len(present))
    fold_of = dict(zip(rng.permutation(present).tolist(), np.arange(len(present)) % folds, strict=True))
    fold = np.array([fold_of[code] for code in clusters[labelled].tolist()])
    fitted = _line if fit == "linear" else _steps
    mapped = np.zeros((folds, len(scores)))
    for at in range(folds):
        train = labelled[fold != at]
        mapped[at] = fitted(scores[train], ratings[train], weights[train], scores)
    found: Floats = mapped.mean(axis=0)
    found[labelled] = mapped[fold, labelled]
    return found


def _line(x: Floats, y: Floats, weights: Floats, at: Floats) -> Floats:
    """The weighted least-squares line through (x, y), at these values of x; constant if x does not vary."""
    shares = weights / weights.sum()
    middle, level = float(shares @ x), float(shares @ y)
    spread = float(shares @ (x - middle) ** 2)
    slope = float(shares @ ((x - middle) * (y - level))) / spread if spread > 0 else 0.0
    found: Floats = level + slope * (at - middle)
    return found


def _steps(x: Floats, y: Floats, weights: Floats, at: Floats) -> Floats:
    """The weighted isotonic regression of y on x at these values of x, interpolated; it rises or falls as the line."""
    from scipy.optimize import isotonic_regression

    ends = _line(x, y, weights, np.array([x.min(), x.max()]))
    values, where = np.unique(x, return_inverse=True)
    mass = np.bincount(where, weights=weights)
    means = np.bincount(where, weights=weights * y) / mass
    fitted = isotonic_regression(means, weights=mass, increasing=bool(ends[1] >= ends[0])).x
    found: Floats = np.interp(at, values, fitted)
    return found
