"""Mean or median rating of each item, with the number of raters and their standard deviation.

Metrics are compared with the mean rating. `normalised` removes differences between raters in mean and spread. ADEM
(Lowe et al. 2017) normalises "on a per-user basis, based on the average score given by each user" (Appendix A, Figure
5) and gives no formula: `centre` subtracts the rater's mean, `z` also divides by the rater's standard deviation. Both
assume that raters saw comparable items, and both need rater names that identify people.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from turnwise.errors import DataError
from turnwise.ratings.matrix import RatingMatrix
from turnwise.types import Floats, Ints

Average = Literal["mean", "median"]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """Mean or median rating of each item, with counts and spreads, and the rating matrix that they come from."""

    matrix: RatingMatrix
    average: Average
    values: Floats  # (items,)
    counts: Ints  # (items,) number of raters of each item
    spreads: Floats  # (items,) standard deviation between raters, n-1; NaN for one rater
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason -> number of items without a value

    def by_item(self) -> dict[str, float]:
        """Item -> its value, in the order of the matrix."""
        return dict(zip(self.matrix.items, self.values.tolist(), strict=True))


def aggregate(matrix: RatingMatrix, average: Average = "mean") -> Aggregate:
    """Mean or median rating of each item; items without a rating are left out and counted in `left_out`."""
    kept = matrix.counts > 0
    if not kept.all():
        matrix = replace(
            matrix,
            items=tuple(item for item, keep in zip(matrix.items, kept, strict=True) if keep),
            clusters=tuple(c for c, keep in zip(matrix.clusters, kept, strict=True) if keep),
            values=matrix.values[:, kept],
        )
    counts = matrix.counts
    values = np.nanmean(matrix.values, axis=0) if average == "mean" else np.nanmedian(matrix.values, axis=0)
    spreads = np.full(len(counts), np.nan)
    several = counts > 1
    if several.any():
        spreads[several] = np.nanstd(matrix.values[:, several], axis=0, ddof=1)
    missing = int(np.sum(~kept))
    left_out = {"no rating left after normalisation": missing} if missing else {}
    return Aggregate(matrix, average, values, counts, spreads, left_out)


def oriented(matrix: RatingMatrix) -> RatingMatrix:
    """The ratings with higher being better: where lower is better they are mirrored, or negated without a scale."""
    if matrix.direction == "higher":
        return matrix
    low, high = matrix.scale or (0.0, 0.0)
    return replace(matrix, values=low + high - matrix.values, direction="higher")


def normalised(matrix: RatingMatrix, method: Literal["centre", "z"]) -> RatingMatrix:
    """Each rater's ratings minus the rater's mean (`centre`), also divided by the standard deviation (`z`).

    Raters that cannot be normalised get no ratings: those with a single rating and, for `z`, those who always gave the
    same value. Rater names that do not identify people are a `DataError`.
    """
    if matrix.identity != "people":
        raise DataError(
            f"normalisation by rater needs rater names that identify people, and those of `{matrix.dimension}` are"
            f" {matrix.identity}; if they do identify people, pass stable_raters=True"
        )
    values = np.full_like(matrix.values, np.nan)
    for i, row in enumerate(matrix.values):
        given = row[~np.isnan(row)]
        if len(given) > 1 and (method == "centre" or np.ptp(given) > 0):
            values[i] = (row - given.mean()) / (given.std(ddof=1) if method == "z" else 1.0)
    return replace(matrix, values=values, scale=None)
