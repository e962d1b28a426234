"""The regressions of `turnwise` for single dimensions of rating, and how they do on corpora that were left out."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from papers.rated_dimensions import DIMENSIONS, SOURCES, Units
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights, fit_dimension, standardised
from turnwise.stats.correlation import STATISTICS
from turnwise.types import Floats

PENALTY = 5000.0  # on the change from the overall weights; 100 to 10,000 were compared (papers/dimensions.md)


class LeftOut(NamedTuple):
    """Predictions for a corpus by regressions that saw nothing of its publication."""

    ratings: Floats  # (n,)
    overall: Floats  # (n,) by the overall regression
    own: Floats  # (n,) by that of the dimension

    @property
    def agreement(self) -> tuple[float, float]:
        """Spearman's correlation of the two predictions with the ratings."""
        return spearman(self.overall, self.ratings), spearman(self.own, self.ratings)


def spearman(predicted: Floats, ratings: Floats) -> float:
    """Spearman's correlation over the units that have both."""
    known = ~np.isnan(predicted) & ~np.isnan(ratings)
    return float(STATISTICS["spearman"](predicted[known], ratings[known]))


def fit_head(
    dimension: str, overall: RidgeWeights, units: Mapping[str, Units], *, without: str = ""
) -> Floats | None:
    """(k,) the weights of a dimension, fitted to the corpora that rate it; None if there are none.

    `without` is a publication that is left out.
    """
    rows, ratings = [], []
    for name in DIMENSIONS[dimension]:
        if SOURCES[name] != without:
            row, rated = units[name].rows(overall), units[name].ratings[dimension]
            known = ~np.isnan(row).any(axis=1) & ~np.isnan(rated)
            rows.append(row[known])
            ratings.append(rated[known])
    return fit_dimension(overall, rows, ratings, penalty=PENALTY) if rows else None


def left_out(
    dimension: str, units: Mapping[str, Units], fit_without: Callable[[str], RidgeWeights]
) -> dict[str, LeftOut]:
    """Group -> predictions for it; a group whose publication is the only one with this dimension is not there.

    `fit_without` gives the overall regression without a publication.
    """
    found = {}
    for name in DIMENSIONS[dimension]:
        overall = fit_without(SOURCES[name])
        own = fit_head(dimension, overall, units, without=SOURCES[name])
        if own is not None:
            rows = units[name].rows(overall)
            found[name] = LeftOut(units[name].ratings[dimension], rows @ overall.weights, rows @ own)
    return found


def gain(found: Mapping[str, LeftOut]) -> float:
    """The mean over groups of what the dimension's own regression adds to Spearman's correlation."""
    return float(np.mean([own - overall for overall, own in (one.agreement for one in found.values())]))


def errors(found: Mapping[str, LeftOut], units: Mapping[str, Units]) -> list[Floats]:
    """The absolute errors of the own predictions for each group of replies, in standard deviations of its ratings."""
    sizes: Sequence[Floats] = [
        np.abs(standardised(one.ratings[known]) - one.own[known])
        for name, one in found.items()
        if units[name].is_turns
        for known in [~np.isnan(one.ratings) & ~np.isnan(one.own)]
    ]
    return list(sizes)
