"""Ridge regression from signals to ratings over several corpora with different rating scales.

Ratings and signals are centred within each corpus, so that differences between corpora (length, style, scale) are not
learned. Every corpus has the same weight. Ratings are in standard deviations of their corpus.

With `cut`, signals are cut off at so many standard deviations: replies of other corpora have values that no reply of
the training had, and an attack would look for them.

Rated replies are seldom frauds, so ratings say little of them. With `pairs` of a person's reply and a fraud in the same
context, the person's is to be predicted above the fraud by a margin (squared hinge loss).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.types import Floats

CORPUS_WEIGHT = 300.0  # weight of a corpus, in items
PAIRS_WEIGHT = 1200.0  # weight of all pairs of a person's reply and a fraud, in items
MARGIN = 0.5  # by which a person's reply is to be above a fraud, in standard deviations of ratings
STEPS = 50  # most steps of Newton's method; 5 to 15 are needed


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
    pairs: tuple[Floats, Floats] | None = None,
) -> RidgeWeights:
    """The weights that predict the ratings best within the corpora, shrunk towards `prior` (default 0).

    `tables` has the signals (n, k) and `ratings` the raw ratings (n,) of each corpus. `pairs` has the signals (m, k) of
    people's replies and of frauds in the same contexts. The offset is 0.
    """
    means = np.stack([table.mean(axis=0) for table in tables])
    spread = np.sqrt(np.mean([table.var(axis=0) for table in tables], axis=0))
    scale = np.where(spread > 0, spread, 1.0)
    width = means.shape[1]
    start = np.zeros(width) if prior is None else prior
    gram: Floats = penalty * np.eye(width)
    cross: Floats = penalty * start
    for table, mean, rated in zip(tables, means, ratings, strict=True):
        x, share = np.clip((table - mean) / scale, -cut, cut), CORPUS_WEIGHT / len(table)
        gram += share * x.T @ x
        cross += share * x.T @ standardised(rated)
    solved: Floats = np.asarray(np.linalg.solve(gram, cross), dtype=np.float64)
    made = RidgeWeights(means.mean(axis=0), scale, solved, cut=cut)
    if pairs is None:
        return made
    people, frauds = (made.standardise(part) for part in pairs)
    return replace(made, weights=_with_margin(gram, cross, people - frauds, solved))


def _with_margin(gram: Floats, cross: Floats, differences: Floats, start: Floats) -> Floats:
    """Minimise w gram w - 2 w cross + the squared hinge losses of `differences` (m, k), by Newton's method."""
    share = PAIRS_WEIGHT / len(differences)
    weights = start
    for _ in range(STEPS):
        close = differences[differences @ weights < MARGIN]
        before = weights
        wanted = cross + share * MARGIN * close.sum(axis=0)
        weights = np.asarray(np.linalg.solve(gram + share * close.T @ close, wanted), dtype=np.float64)
        if np.abs(weights - before).max() < 1e-9:
            break
    return weights


def fit_dimension(
    overall: RidgeWeights, rows: Sequence[Floats], ratings: Sequence[Floats], *, penalty: float
) -> Floats:
    """(k,) weights for another dimension of rating: the overall ones times a factor, plus a change that is penalised.

    `rows` has the standardised signals (n, k) and `ratings` the raw ratings (n,) of each corpus. A row is a reply, or
    the mean over the replies of a dialogue that was rated as a whole.
    """
    start = overall.weights
    gram, cross, along, onto = penalty * np.eye(len(start)), np.zeros(len(start)), 0.0, 0.0
    for table, rated in zip(rows, ratings, strict=True):
        x, y, share = table - table.mean(axis=0), standardised(rated), CORPUS_WEIGHT / len(table)
        gram += share * x.T @ x
        cross += share * x.T @ y
        along += share * float(start @ (x.T @ y))
        onto += share * float(np.sum((x @ start) ** 2))
    factor = max(0.0, along / max(onto, 1e-12))
    products = gram - penalty * np.eye(len(start))
    change = np.linalg.solve(gram, cross - factor * products @ start)
    return np.asarray(factor * start + change, dtype=np.float64)


def standardised(ratings: Floats) -> Floats:
    """The ratings with mean 0 and standard deviation 1."""
    standard: Floats = (ratings - ratings.mean()) / ratings.std()
    return standard
