"""A ridge from signals to ratings, over corpora that rate in different ways.

Ratings and signals are centred within each corpus, so that what separates corpora (length, style, scale) teaches
nothing; corpora weigh alike. Ratings are in standard deviations of their corpus.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.types import Floats

EACH = 300.0  # what a corpus weighs, in items
PENALTY = 2000.0


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    centre: Floats  # (k,) mean of the corpora's means
    scale: Floats  # (k,) pooled standard deviation within a corpus
    weights: Floats  # (k,)
    offset: float = 0.0

    def predict(self, table: Floats) -> Floats:
        """(n, k) signals -> (n,); row by row, so that neighbours do not move the last digit."""
        return np.array([self.standard(row) @ self.weights + self.offset for row in table], dtype=np.float64)

    def standard(self, rows: Floats) -> Floats:
        found: Floats = (rows - self.centre) / self.scale
        return found


def ridge(
    tables: Sequence[Floats],
    ratings: Sequence[Floats],
    *,
    penalty: float = PENALTY,
    prior: Floats | None = None,
) -> Weights:
    """The weights that foretell ratings best within corpora, shrunk towards `prior` (0)."""
    means = np.stack([table.mean(axis=0) for table in tables])
    spread = np.sqrt(np.mean([table.var(axis=0) for table in tables], axis=0))
    scale = np.where(spread > 0, spread, 1.0)
    width = means.shape[1]
    start = np.zeros(width) if prior is None else prior
    gram, cross = penalty * np.eye(width), np.zeros(width)
    for table, mean, rated in zip(tables, means, ratings, strict=True):
        x, share = (table - mean) / scale, EACH / len(table)
        gram += share * x.T @ x
        cross += share * x.T @ (standardised(rated) - x @ start)
    solved: Floats = start + np.linalg.solve(gram, cross)
    return Weights(means.mean(axis=0), scale, solved)


def standardised(ratings: Floats) -> Floats:
    found: Floats = (ratings - ratings.mean()) / ratings.std()
    return found
