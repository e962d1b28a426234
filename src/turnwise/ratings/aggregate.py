"""One number an item out of several raters', with the raters kept beside it.

The mean is what metrics are compared with; without the number of raters and their spread it hides whether
two people or ten stand behind it, and whether they agreed. `normalised` takes out how strict and how
emphatic each person is. ADEM (Lowe et al. 2017) normalises "on a per-user basis, based on the average score
given by each user" (Appendix A, Figure 5) and gives no formula: `centre` subtracts the rater's mean, `z`
also divides by their standard deviation. Both assume that raters saw comparable items, and both need raters
who are persons.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from turnwise.errors import DataError
from turnwise.ratings.matrix import RatingMatrix
from turnwise.types import Floats, Ints

Middle = Literal["mean", "median"]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    matrix: RatingMatrix  # who said what
    middle: Middle
    values: Floats  # (items,)
    counts: Ints  # (items,) raters behind each value
    spreads: Floats  # (items,) standard deviation between raters, n-1; NaN for one rater
    left_out: Mapping[str, int] = field(default_factory=dict)  # items without a value: why -> how many

    def by_item(self) -> dict[str, float]:
        return dict(zip(self.matrix.items, self.values.tolist(), strict=True))

    def judgements(self, item: str) -> dict[str, float]:
        """Each rater's value for one item."""
        column = self.matrix.values[:, self.matrix.items.index(item)]
        judged = zip(self.matrix.raters, column.tolist(), strict=True)
        return {rater: value for rater, value in judged if not np.isnan(value)}


def aggregate(matrix: RatingMatrix, middle: Middle = "mean") -> Aggregate:
    """The middle of each item's ratings. An item none of whose ratings is left is left out and counted."""
    kept = matrix.counts > 0
    if not kept.all():
        matrix = replace(
            matrix,
            items=tuple(item for item, keep in zip(matrix.items, kept, strict=True) if keep),
            clusters=tuple(c for c, keep in zip(matrix.clusters, kept, strict=True) if keep),
            values=matrix.values[:, kept],
        )
    counts = matrix.counts
    values = np.nanmean(matrix.values, axis=0) if middle == "mean" else np.nanmedian(matrix.values, axis=0)
    spreads = np.full(len(counts), np.nan)
    several = counts > 1
    if several.any():
        spreads[several] = np.nanstd(matrix.values[:, several], axis=0, ddof=1)
    missing = int(np.sum(~kept))
    left_out = {"no rating left after normalisation": missing} if missing else {}
    return Aggregate(matrix, middle, values, counts, spreads, left_out)


def oriented(matrix: RatingMatrix) -> RatingMatrix:
    """The same judgements with the good end up: a lower-is-better scale is mirrored."""
    if matrix.direction == "higher":
        return matrix
    low, high = matrix.scale or (0.0, 0.0)
    return replace(matrix, values=low + high - matrix.values, direction="higher")


def normalised(matrix: RatingMatrix, method: Literal["centre", "z"]) -> RatingMatrix:
    """Each rater's values against their own mean (and spread).

    A rater whose own mean (or spread) is unknown cannot be normalised and becomes absent: one with a single
    rating, and for `z` one who always gave the same value.
    """
    if matrix.identity != "people":
        raise DataError(
            f"per-rater normalisation needs persons, and the raters of `{matrix.dimension}` are"
            f" {matrix.identity}; stable_raters=True says that they are persons"
        )
    values = np.full_like(matrix.values, np.nan)
    for i, row in enumerate(matrix.values):
        given = row[~np.isnan(row)]
        if len(given) > 1 and (method == "centre" or np.ptp(given) > 0):
            values[i] = (row - given.mean()) / (given.std(ddof=1) if method == "z" else 1.0)
    return replace(matrix, values=values, scale=None)
