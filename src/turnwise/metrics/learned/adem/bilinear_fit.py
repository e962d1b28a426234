"""Training of ADEM's head: squared error with an L1 penalty, Adam, early stopping, and a hyper-parameter search.

The search tries every combination of n (principal components), gamma (L1 penalty), learning rate and batch size.
Combinations with the same n and batch size use the same batches, so they are trained together in one array, and a
search takes little longer than one training. The loss of a batch is the mean squared error plus gamma times the sum of
absolute weights; the paper writes a sum over examples without their number. Early stopping and model selection use the
correlation on validation replies, whose contexts are not in the training data. They do not use the squared error,
because predicting the mean already makes it small.

A batch can be computed in pieces whose gradients are added, with the same result. Finished parts of the search are
stored in `work`, so that an interrupted run resumes after them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError, UsageError, setting
from turnwise.metrics.learned.adem.bilinear import Bilinear, Components
from turnwise.metrics.learned.adem.triples import Triples
from turnwise.metrics.learned.progress import load_or_compute
from turnwise.stats.correlation import row_correlations
from turnwise.types import Floats, Ints

_ADAM = (0.9, 0.999, 1e-8)  # Adam's beta 1, beta 2 and epsilon, with their usual values


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The hyper-parameter values, of which every combination is tried, and how long each is trained.

    The paper's best: 7 components, gamma .02, rate .01, batch 16 (tweet2vec: 150 and .01).
    """

    components: tuple[int, ...] = (7, 20, 50)
    gamma: tuple[float, ...] = (0.0, 0.002, 0.02)
    rate: tuple[float, ...] = (0.01, 0.002)
    batch: tuple[int, ...] = (16, 64)
    epochs: int = 60
    patience: int = 10  # epochs without a better validation score after which training stops
    piece: int | None = None  # examples computed at once; None: the whole batch
    validation: float = 0.2  # share of the contexts for validation

    def __post_init__(self) -> None:
        counts = (*self.components, *self.batch, self.epochs, self.patience, self.piece or 1)
        if min(counts) < 1:
            raise UsageError("components, batch, epochs, patience and piece are 1 or more")
        if min(self.rate) <= 0 or min(self.gamma) < 0 or not 0 < self.validation < 1:
            raise UsageError(
                "rates are above 0, gamma is 0 or more, and validation is a share between 0 and 1"
            )

    @property
    def size(self) -> int:
        """Number of combinations."""
        return len(self.components) * len(self.gamma) * len(self.rate) * len(self.batch)


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """m rated replies with their vectors."""

    triples: Triples
    ratings: Floats  # (m,)
    contexts: Ints  # (m,) number of the context group; a group is never split between training and test

    def take(self, rows: Ints) -> "Examples":
        """The examples at these indices."""
        return Examples(self.triples.take(rows), self.ratings[rows], self.contexts[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The best head of a search, with its settings and learning curve."""

    head: Bilinear
    chosen: dict[str, float]  # the settings with the best validation score
    validation: float  # correlation on the validation replies
    curve: list[dict[str, float]]  # curve of the chosen settings; epoch 0 is the untrained head


def split(contexts: Ints, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Indices of the training examples and of at most `share` for validation, with no context in both.

    At least one context is for validation, however large it is.
    """
    order = rng.permutation(np.unique(contexts))
    sizes = np.cumsum([np.count_nonzero(contexts == code) for code in order])
    held = order[: max(1, int(np.searchsorted(sizes, share * len(contexts), side="right")))]
    apart = np.isin(contexts, held)
    return indices(~apart), indices(apart)


def indices(mask: NDArray[np.bool_]) -> Ints:
    """The indices at which the mask is true."""
    return np.flatnonzero(mask).astype(np.int64)


def learn(
    examples: Examples,
    *,
    sides: Sequence[str],
    scale: tuple[float, float] | None,
    search: Search,
    seed: int,
    watch: Examples | None = None,
    work: Path | None = None,
    about: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> Learned:
    """Train heads with all settings of the search and return the best one on validation replies.

    `sides` names what a reply is compared with. `scale` has the ends of the ratings' scale; None is their range.
    `watch` are further examples whose correlation is only recorded in the curve. Finished parts are stored in `work`
    under `about`. Raises `DataError` if the training or the validation ratings are all equal or none.
    """
    inner, held = split(examples.contexts, search.validation, np.random.default_rng([seed, 1]))
    if any(len(rows) == 0 or np.ptp(examples.ratings[rows]) == 0 for rows in (inner, held)):
        raise DataError(
            "too few contexts, or ratings too much alike, to train on some and validate on others"
        )
    train, valid = examples.take(inner), examples.take(held)
    vectors = np.concatenate([train.triples.reply, *(train.triples.sides[side] for side in sides)])
    components = Components.fit(vectors, max(search.components))
    best: Learned | None = None
    tried = 0
    for n, batch in product(search.components, search.batch):
        part = _ProjectedExamples(components.first(n), train, valid, watch, tuple(sides), scale)
        found = load_or_compute(
            work,
            (about, str(search), str(seed), f"{n} {batch}"),
            lambda: _train(part, search, batch, seed),  # noqa: B023 - called at once
        )
        tried += len(search.gamma) * len(search.rate)
        index = int(np.argmax(found["value"]))
        say(
            f"{tried} of {search.size} settings tried: n {n}, batch {batch}, validation {found['value'][index]:.3f}"
        )
        if best is None or found["value"][index] > best.validation:
            gamma, rate = list(product(search.gamma, search.rate))[index]
            chosen = {"components": len(part.components.axes), "gamma": gamma, "rate": rate, "batch": batch}
            curve = [
                {
                    "epoch": epoch,
                    **{name: float(x) for name, x in zip(_CURVE, row, strict=True) if not np.isnan(x)},
                }
                for epoch, row in enumerate(found["curve"][:, index])
                if not np.isnan(row[0])
            ]
            best = Learned(part.head(found["weights"][index]), chosen, float(found["value"][index]), curve)
    if best is None:
        raise DataError("nothing was trained")
    return best


_CURVE = ("loss", "validation", "watched")


class _ProjectedExamples:
    """The training, validation and watched examples, projected on n components, with the constants alpha and beta."""

    def __init__(
        self,
        components: Components,
        train: Examples,
        valid: Examples,
        watch: Examples | None,
        sides: tuple[str, ...],
        scale: tuple[float, float] | None,
    ) -> None:
        self.components, self.sides = components, sides
        self.train, self.valid = self._projected(train), self._projected(valid)
        self.watch = None if watch is None else self._projected(watch)
        start = self.scores(self.identity(1), self.train)[0]
        self.alpha, self.beta = constants(start, train.ratings, scale)

    def _projected(self, examples: Examples) -> tuple[Floats, Floats, Floats]:
        """Sides (p, m, n), replies (m, n) and ratings (m,)."""
        sides = [self.components(examples.triples.sides[side]) for side in self.sides]
        return np.stack(sides), self.components(examples.triples.reply), examples.ratings

    def identity(self, count: int) -> Floats:
        """(count, p, n, n) identity matrices: the weights before training."""
        n = len(self.components.axes)
        return np.broadcast_to(np.eye(n), (count, len(self.sides), n, n)).copy()

    @staticmethod
    def scores(weights: Floats, data: tuple[Floats, Floats, Floats]) -> Floats:
        """(k, m) scores with weights (k, p, n, n), before alpha and beta; `data` is what `_projected` returns."""
        left, right, _ = data
        total: Floats = ((left @ weights) * right).sum(axis=(1, 3))
        return total

    def correlation(self, weights: Floats, data: tuple[Floats, Floats, Floats]) -> Floats:
        """(k,) Pearson correlation of scores and ratings; -1 for a head whose scores are all equal."""
        scores = self.scores(weights, data)
        return np.nan_to_num(
            row_correlations("pearson", scores, np.broadcast_to(data[2], scores.shape)), nan=-1.0
        )

    def gradient(self, weights: Floats, rows: Ints, piece: int) -> tuple[Floats, Floats]:
        """(k,) squared error summed over the training examples `rows`, and its gradient (k, p, n, n).

        `piece` examples are computed at once.
        """
        loss, total = np.zeros(len(weights)), np.zeros_like(weights)
        left, right, ratings = self.train
        for start in range(0, len(rows), piece):
            some = rows[start : start + piece]
            data = (left[:, some], right[some], ratings[some])
            error = (self.scores(weights, data) - self.alpha) / self.beta - data[2]  # (k, b)
            loss += (error**2).sum(axis=1)
            weighed = data[0] * error[:, None, :, None]  # (k, p, b, n)
            total += 2 / self.beta * (weighed.swapaxes(2, 3) @ data[1])
        return loss, total

    def head(self, weights: Floats) -> Bilinear:
        """The head with the weights (p, n, n) of one combination."""
        matrices = dict(zip(self.sides, weights, strict=True))
        return Bilinear(self.components, matrices, self.alpha, self.beta)


def constants(start: Floats, ratings: Floats, scale: tuple[float, float] | None) -> tuple[float, float]:
    """alpha and beta: the untrained predictions get the mean of the ratings and the largest spread on their scale.

    `start` has the untrained scores. Without `scale`, the scale is the range of the ratings. Equal scores are a
    `DataError`.
    """
    low, high = scale or (float(ratings.min()), float(ratings.max()))
    centre, spread = float(ratings.mean()), start - start.mean()
    room = max(high - centre, 1e-9), max(centre - low, 1e-9)
    beta = max(float(spread.max()) / room[0], float(-spread.min()) / room[1])
    if not beta > 0:
        raise DataError("the encoder gives every reply the same vector: there is nothing to learn from")
    return float(start.mean()) - beta * centre, beta


def _train(part: _ProjectedExamples, search: Search, batch: int, seed: int) -> dict[str, Floats]:
    """Train all k combinations of gamma and rate together.

    Returns `weights`, the best of each (k, p, n, n), `value`, their validation correlations (k,), and `curve`, the
    points (epochs + 1, k, 3) from before training on, which are NaN once a combination has stopped.
    """
    pairs = np.array(list(product(search.gamma, search.rate)))
    gamma, rate = (pairs[:, column][:, None, None, None] for column in (0, 1))
    n = len(part.train[2])
    weights = part.identity(len(pairs))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    keep, best, waited = weights.copy(), part.correlation(weights, part.valid), np.zeros(len(pairs))
    everything = np.arange(n, dtype=np.int64)
    curve = [_curve_point(part, weights, part.gradient(weights, everything, n)[0] / n)]
    step = 0
    for epoch in range(search.epochs):
        total = np.zeros(len(pairs))
        for rows in _batches(n, batch, seed, epoch):
            step += 1
            loss, slope = part.gradient(weights, rows, search.piece or len(rows))
            total += loss
            slope = slope / len(rows) + gamma * np.sign(weights)
            first += (1 - _ADAM[0]) * (slope - first)
            second += (1 - _ADAM[1]) * (slope**2 - second)
            moved = (first / (1 - _ADAM[0] ** step)) / (np.sqrt(second / (1 - _ADAM[1] ** step)) + _ADAM[2])
            weights = weights - rate * moved
        if not np.isfinite(weights).all():
            raise DataError(
                "the weights are no longer finite: training diverged; a smaller rate "
                f"({setting('--set', 'rate=NUMBER')}) may help"
            )
        curve.append(_curve_point(part, weights, total / n))
        curve[-1][waited >= search.patience] = np.nan  # these combinations have stopped
        value = curve[-1][:, 1]
        better = value > best
        keep[better], best[better] = weights[better], value[better]
        waited = np.where(better, 0, waited + 1)
        if (waited >= search.patience).all():
            break
    return {"weights": keep, "value": best, "curve": np.stack(curve)}


def _curve_point(part: _ProjectedExamples, weights: Floats, loss: Floats) -> Floats:
    """(k, 3) a point of the curves: training loss, validation correlation, correlation on `watch` (NaN without it)."""
    watched = np.full(len(weights), np.nan) if part.watch is None else part.correlation(weights, part.watch)
    return np.stack([loss, part.correlation(weights, part.valid), watched], axis=1)


def _batches(n: int, batch: int, seed: int, epoch: int) -> Iterator[Ints]:
    """The row numbers of each batch of an epoch, in an order that depends only on seed and epoch.

    The last may be smaller.
    """
    order = np.random.default_rng([seed, 2, epoch]).permutation(n)
    for start in range(0, n, batch):
        yield order[start : start + batch]
