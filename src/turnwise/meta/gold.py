"""What people said of each unit on one dimension: the side that metrics are held against.

The unit is what was rated: a turn or a whole dialogue. A dimension on which lower is better is mirrored, so
that a positive correlation always means that the metric and people like the same things.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.ratings.aggregate import aggregate, oriented
from turnwise.ratings.matrix import RatedLevel, RatingMatrix, rating_matrix
from turnwise.stats.clusters import cluster_sums, codes
from turnwise.stats.correlation import STATISTICS, row_correlations
from turnwise.types import Floats, Rating


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    dimension: str
    level: RatedLevel  # what was rated
    matrix: RatingMatrix
    values: dict[str, float]  # unit -> the raters' mean

    def of(self, *, whole: bool) -> dict[str, float]:
        """By rated unit; with `whole` by dialogue: where turns were rated, the mean of its turns."""
        if self.level == "dialogue" or not whole:
            return self.values
        turns: dict[str, list[float]] = {}
        for item, dialogue in zip(self.matrix.items, self.matrix.clusters, strict=True):
            turns.setdefault(dialogue, []).append(self.values[item])
        return {dialogue: sum(values) / len(values) for dialogue, values in turns.items()}

    def among(self, units: Collection[str]) -> RatingMatrix:
        """The ratings of these units only: a ceiling must be over what the metric was held against."""
        kept = [at for at, item in enumerate(self.matrix.items) if item in units]
        return replace(
            self.matrix,
            items=tuple(self.matrix.items[at] for at in kept),
            clusters=tuple(self.matrix.clusters[at] for at in kept),
            values=self.matrix.values[:, kept],
        )


def gold(ratings: Sequence[Rating], dimension: str, level: RatedLevel, *, rescale: bool = False) -> Gold:
    matrix = oriented(rating_matrix(ratings, dimension, level=level, rescale=rescale))
    return Gold(dimension, level, matrix, aggregate(matrix).by_item())


def ceiling(matrix: RatingMatrix, statistic: str) -> float:
    """How well one person agrees with the mean of the item's others; NaN if unknown.

    This is what one more rater would reach. A metric is compared with the mean of all raters, one more than
    the person is, so a metric as good as a person lands slightly above it.
    """
    if matrix.why_no_agreement:
        return float("nan")
    one, others = one_against_others(matrix.values)
    return STATISTICS[statistic](one, others)


def one_against_others(values: Floats) -> tuple[Floats, Floats]:
    """(raters, items) -> every single rating, and the mean of the item's other ratings."""
    counts = np.sum(~np.isnan(values), axis=0)
    others = (np.nansum(values, axis=0) - values) / np.maximum(counts - 1, 1)
    usable = ~np.isnan(values) & (counts > 1)
    return values[usable], others[usable]


def system_ceiling(matrix: RatingMatrix, agent_of: Mapping[str, str], statistic: str) -> float:
    """The same over systems: means of one rating an item against those of the others."""
    if matrix.why_no_agreement:
        return float("nan")
    judged = [at for at, item in enumerate(matrix.items) if item in agent_of]
    values = matrix.values[:, judged]
    codes_of, n_agents = codes([agent_of[matrix.items[at]] for at in judged])
    counts, totals = np.sum(~np.isnan(values), axis=0), np.nansum(values, axis=0)
    found = []
    for row in values:
        usable = ~np.isnan(row) & (counts > 1)
        one = row[usable]
        sides = np.stack([one, (totals[usable] - one) / (counts[usable] - 1), np.ones_like(one)], axis=1)
        sums = cluster_sums(sides, codes_of[usable], n_agents)
        if n_agents > 1 and sums[:, 2].all():  # a rater who never met one of the systems cannot rank them
            means = sums[:, :2] / sums[:, 2:]
            found.append(row_correlations(statistic, means[None, :, 0], means[None, :, 1])[0])
    known = [value for value in found if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def floor(values: Floats, statistic: str) -> float:
    """What a constant predictor gets: the share of tied pairs; undefined for correlations."""
    if statistic != "pairwise" or len(values) < 2:
        return float("nan")
    _, counts = np.unique(values, return_counts=True)
    return float(np.sum(counts * (counts - 1)) / (len(values) * (len(values) - 1)))
