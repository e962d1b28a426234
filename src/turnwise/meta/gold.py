"""People's mean ratings of each unit on one dimension, with which metrics are correlated.

A unit is what was rated: a turn or a whole dialogue. A dimension on which lower is better is mirrored, so that a
positive correlation always means agreement with people.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from turnwise.ratings.aggregate import aggregate, oriented
from turnwise.ratings.ceiling import ceiling
from turnwise.ratings.matrix import RatedLevel, RatingMatrix, rating_matrix
from turnwise.stats.agreement import leave_one_out_correlation
from turnwise.stats.clusters import cluster_sums, codes
from turnwise.stats.correlation import row_correlations
from turnwise.stats.within import MIN_ITEMS, mean_correlation, mean_weight
from turnwise.types import Floats, Rating


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """Mean ratings of units on one dimension, and the rating matrix that they come from."""

    dimension: str
    level: RatedLevel  # what was rated
    matrix: RatingMatrix
    values: dict[str, float]  # unit -> mean rating
    known: dict[tuple[str, str, int], float] = field(default_factory=dict, repr=False)  # see `once`
    subsets: dict[frozenset[str], RatingMatrix] = field(
        default_factory=dict, repr=False
    )  # see `restricted_to`

    def once(
        self, what: tuple[str, str], units: frozenset[str], compute: Callable[[RatingMatrix], float]
    ) -> float:
        """A number about the raters of these units, computed for the first metric that needs it.

        `what` says which number it is; `compute` gets the rating matrix of the units.
        """
        matrix = self.restricted_to(units)
        key = (*what, list(self.subsets).index(units))  # the units themselves would be kept for each number
        if key not in self.known:
            self.known[key] = compute(matrix)
        return self.known[key]

    def by_unit(self, *, whole_dialogues: bool) -> dict[str, float]:
        """Mean ratings by unit; with `whole_dialogues` by dialogue, as the mean over its rated turns."""
        if self.level == "dialogue" or not whole_dialogues:
            return self.values
        turns: dict[str, list[float]] = {}
        for item, dialogue in zip(self.matrix.items, self.matrix.clusters, strict=True):
            turns.setdefault(dialogue, []).append(self.values[item])
        return {dialogue: sum(values) / len(values) for dialogue, values in turns.items()}

    def restricted_to(self, units: Collection[str]) -> RatingMatrix:
        """The rating matrix of these units only, so that a ceiling uses the same units as a metric's correlation.

        Most metrics score the same units, so it is kept.
        """
        chosen = frozenset(units)
        if chosen not in self.subsets:
            kept = [at for at, item in enumerate(self.matrix.items) if item in chosen]
            self.subsets[chosen] = replace(
                self.matrix,
                items=tuple(self.matrix.items[at] for at in kept),
                clusters=tuple(self.matrix.clusters[at] for at in kept),
                values=self.matrix.values[:, kept],
            )
        return self.subsets[chosen]


def gold(
    ratings: Sequence[Rating], dimension: str, level: RatedLevel, *, rescale: bool | None = None
) -> Gold:
    """The mean ratings of one dimension at one level, mirrored if lower is better.

    `rescale` maps ratings to 0-1 first; None where the caller has no such option.
    """
    matrix = oriented(rating_matrix(ratings, dimension, level=level, rescale=rescale))
    return Gold(dimension, level, matrix, aggregate(matrix).by_item())


def one_rater(matrix: RatingMatrix, statistic: str) -> float:
    """Correlation of one rater with the mean of the item's other raters; NaN if agreement is undefined.

    A metric is compared with the mean of all raters, one more than the rater is compared with, so a metric as good as
    a rater scores slightly above this.
    """
    if matrix.why_no_agreement:
        return float("nan")
    return leave_one_out_correlation(matrix.values, statistic)


def one_rater_within_agents(matrix: RatingMatrix, agent_of: Mapping[str, str], statistic: str) -> float:
    """`one_rater` inside each agent with at least four rated units, averaged as a metric's agreement inside agents is.

    NaN if agreement is undefined for every agent.
    """
    if matrix.why_no_agreement:
        return float("nan")
    agents = np.array([agent_of.get(item, "") for item in matrix.items])
    found, weights = [], []
    for agent in dict.fromkeys(agents.tolist()):
        mine = np.flatnonzero(agents == agent)
        value = leave_one_out_correlation(matrix.values[:, mine], statistic) if agent else float("nan")
        if len(mine) >= MIN_ITEMS and not np.isnan(value):
            found.append(value)
            weights.append(mean_weight(statistic, len(mine)))
    return mean_correlation(statistic, np.array(found), np.array(weights)) if found else float("nan")


def perfect_metric(matrix: RatingMatrix, statistic: str) -> float:
    """The ceiling: the correlation that a metric without error would have with these mean ratings.

    NaN where the reliability of the ratings is unknown, and for statistics other than Pearson and Spearman. For
    Spearman it is an approximation, because the reliability is that of the ratings and not of their ranks.
    """
    return ceiling(matrix).correlation if statistic in ("pearson", "spearman") else float("nan")


def one_rater_of_systems(matrix: RatingMatrix, agent_of: Mapping[str, str], statistic: str) -> float:
    """Mean over raters of the correlation, across systems, of one rater's means with the means of the other raters.

    Only raters who rated every system count. NaN if there are none, or if agreement is undefined.
    """
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
        if n_agents > 1 and sums[:, 2].all():  # only raters who rated every system
            means = sums[:, :2] / sums[:, 2:]
            found.append(row_correlations(statistic, means[None, :, 0], means[None, :, 1])[0])
    known = [value for value in found if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def tie_floor(values: Floats, statistic: str) -> float:
    """Pairwise accuracy of a constant metric, which is the share of tied pairs; NaN for correlations."""
    if statistic != "pairwise" or len(values) < 2:
        return float("nan")
    _, counts = np.unique(values, return_counts=True)
    return float(np.sum(counts * (counts - 1)) / (len(values) * (len(values) - 1)))
