"""Count, mean and scatter matrix of vectors, computed in one pass and mergeable in any order.

Memory is one d x d matrix for any number of vectors. Merged parts agree with a single pass to 1e-9. Plain sums of
squares lose precision if the mean is large relative to the spread, so deviations from the running mean are merged
instead (Chan, Golub and LeVeque 1983).
"""

from dataclasses import dataclass

import numpy as np

from turnwise.errors import DataError, TooFewItems
from turnwise.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Count, mean and scatter matrix of vectors; the sum of two is that of both sets of vectors together."""

    count: int
    mean: Floats  # (d,)
    scatter: Floats  # (d, d) sum of the outer products of deviations from the mean

    @classmethod
    def of(cls, rows: Floats) -> "Moments":
        """The moments of the rows (n, d); all 0 without rows."""
        rows = finite(rows)
        if not len(rows):
            return cls(0, np.zeros(rows.shape[1]), np.zeros((rows.shape[1], rows.shape[1])))
        mean = rows.mean(axis=0)
        centred = rows - mean
        return cls(len(rows), mean, centred.T @ centred)

    def __add__(self, other: "Moments") -> "Moments":
        count = self.count + other.count
        if not count:
            return self
        gap = other.mean - self.mean
        share = other.count / count
        scatter = self.scatter + other.scatter + np.outer(gap, gap) * (self.count * share)
        return Moments(count, self.mean + gap * share, scatter)

    def part(self, start: int, end: int) -> "Moments":
        """The moments of the dimensions from `start` up to, but not including, `end`."""
        kept = slice(start, end)
        return Moments(self.count, self.mean[kept], self.scatter[kept, kept])

    @property
    def covariance(self) -> Floats:
        """(d, d), with n - 1 in the denominator; raises `TooFewItems` for fewer than 2 vectors."""
        if self.count < 2:
            raise too_few_vectors(self.count)
        return self.scatter / (self.count - 1)


def too_few_vectors(n: int) -> TooFewItems:
    """The refusal (not raised) of the covariance of so few vectors."""
    return TooFewItems("a covariance needs 2 vectors or more, and there are {n}", "too-few-vectors", n=n)


def finite(rows: Floats) -> Floats:
    """The rows (n, d) as float64; raises `DataError` if a number is NaN or infinite, or if the shape is not (n, d)."""
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2:
        raise DataError(f"vectors must be an array of shape (n, d), not {rows.shape}")
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise DataError(
            f"{np.count_nonzero(bad)} of {len(rows)} vectors hold a NaN or an infinite number, the first in row "
            f"{int(np.argmax(bad))}: leave out what could not be encoded"
        )
    return rows
