"""Ridge regression from signals to ratings over several corpora with different rating scales.

Ratings and signals are centred within each corpus, so that differences between corpora (length, style, scale) are not
learned. Every corpus has the same weight. Ratings are in standard deviations of their corpus.

With `cut`, signals are cut off at so many standard deviations: replies of other corpora have values that no reply of
the training had, and an attack would look for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.types import Floats

CORPUS_WEIGHT = 300.0  # weight of a corpus, in items


@dataclass(frozen=True, slots=True, eq=False)
class RidgeWeights:
    """A fitted linear prediction from k signals."""

    centre: Floats  # (k,) mean of the corpora's means
    scale: Floats  # (k,) pooled standard deviation within a corpus
    weights: Floats  # (k,)
    offset: float = 0.0
    cut: float = np.inf  # standard deviations at which signals are cut off

    def predict(self, table: Floats) -> Floats:
        """(n,) predictions from signals (n, k). Computed row by row, so that a row does not depend on the others."""
        return np.array(
            [self.standardise(row) @ self.weights + self.offset for row in table], dtype=np.float64
        )

    def standardise(self, rows: Floats) -> Floats:
        """The signals minus `centre`, divided by `scale`, and cut off."""
        standard: Floats = np.clip((rows - self.centre) / self.scale, -self.cut, self.cut)
        return standard


def fit_ridge(
    tables: Sequence[Floats],
    ratings: Sequence[Floats],
    *,
    penalty: float,
    prior: Floats | None = None,
    cut: float = np.inf,
) -> RidgeWeights:
    """The weights that predict the ratings best within the corpora, shrunk towards `prior` (default 0).

    `tables` has the signals (n, k) and `ratings` the raw ratings (n,) of each corpus. The offset is 0.
    """
    means = np.stack([table.mean(axis=0) for table in tables])
    spread = np.sqrt(np.mean([table.var(axis=0) for table in tables], axis=0))
    scale = np.where(spread > 0, spread, 1.0)
    width = means.shape[1]
    start = np.zeros(width) if prior is None else prior
    gram, cross = penalty * np.eye(width), np.zeros(width)
    for table, mean, rated in zip(tables, means, ratings, strict=True):
        x, share = np.clip((table - mean) / scale, -cut, cut), CORPUS_WEIGHT / len(table)
        gram += share * x.T @ x
        cross += share * x.T @ (standardised(rated) - x @ start)
    solved: Floats = start + np.linalg.solve(gram, cross)
    return RidgeWeights(means.mean(axis=0), scale, solved, cut=cut)


def standardised(ratings: Floats) -> Floats:
    """The ratings with mean 0 and standard deviation 1."""
    standard: Floats = (ratings - ratings.mean()) / ratings.std()
    return standard
