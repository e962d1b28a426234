"""MAUVE of an agent's replies and people's (Pillutla et al. 2021): the area under a curve of two divergences.

The replies of both are clustered together; P and Q are the shares of people's and of the agent's replies in the
clusters. For a mixture R = w P + (1 - w) Q, KL(Q | R) is large where the agent says what people do not, and KL(P | R)
where it does not say what people do. The curve has the points exp(-c KL(Q | R)), exp(-c KL(P | R)) for w from 0 to 1
with c = 5. The area under it is 1 for equal shares and near 0 for sets that share no cluster.

The settings are those of the released package (`mauve-text`): vectors of unit length, the principal components with
90 % of the variance, one cluster for every ten replies of the smaller side, 5 runs of k-means, 25 mixtures. Three
things differ. The vectors are those of query and reply as for `fbd`; the paper takes the last state of GPT-2 for a text
(`mauve[model=FOLDER,way=together,pooling=last]` does so with a model of that kind). The areas of the 5 runs are
averaged, where the package takes the run with the tightest clusters: the average varies half as much with the seed
(tests/differential/test_metrics_mauve.py). And at most 4,096 replies of either side are clustered, because the number
of clusters grows with them.

The number of clusters depends on the number of replies and so does the score: compare agents with equally many
replies, or `thinned` with `floor`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.distribution.curve import histograms_of_runs
from turnwise.metrics.distribution.distance import FEWEST, Distance, DistanceAttributes, EncodingSettings
from turnwise.metrics.distribution.real_replies import real_replies
from turnwise.types import Card, Floats, Item, Signature

MAX_REAL = 4096  # real replies that are clustered; of an agent's as many are kept
_REPLIES_PER_CLUSTER = 10
_EDGE = 1e-6  # the smallest weight of a side in a mixture


class _Attributes(DistanceAttributes):
    """The class attributes of `mauve` before and after `fit`."""

    __slots__ = ()

    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    card: ClassVar[Card] = Card(
        kind="distribution",
        meaning="Area under the curve of two divergences: of the agent's replies from a mixture with people's, and "
        "of people's from it, over common clusters.",
        range="0-1; 1 for equal sets, near 0 for sets that share no cluster",
        limits="Scores an agent as a whole, never one reply. Depends on the number of replies, which sets the number "
        "of clusters: compare agents with equally many. Two samples of one distribution score below 1: compare "
        "`thinned` with `floor`. Not comparable with figures from GPT-2.",
        citation="Pillutla et al. 2021, MAUVE: Measuring the Gap Between Neural Text and Human Text using Divergence "
        "Frontiers",
    )


@dataclass(frozen=True, slots=True)
class Mauve(_Attributes, EncodingSettings):
    """`mauve` before it is fitted to real replies."""

    clusters: int = 0  # 0: one for every ten replies of the smaller side
    variance: float = 0.9  # share of the variance that the principal components keep; 1: all dimensions
    scale: float = 5.0  # the factor c of the divergences
    mixtures: int = 25
    runs: int = 5  # of k-means, whose areas are averaged
    seed: int = 0
    fewest: int = FEWEST

    def __post_init__(self) -> None:
        if self.clusters < 0 or self.seed < 0 or self.runs < 1 or self.mixtures < 2:
            raise UsageError("`mauve` needs 1 run, 2 mixtures and 0 or more for `clusters` and `seed`")
        if not 0 < self.variance <= 1 or not 0 < self.scale < np.inf:
            raise UsageError("`mauve` needs a `variance` above 0 and up to 1, and a `scale` above 0")

    def fit(self, items: Iterable[Item], /) -> "FittedMauve":
        """Fit to the real replies among the items (see `real_replies`); raises `TooFewItems` if no group has enough."""
        return FittedMauve(real_replies(items, [self.encoding], fewest=self.fewest), self)


@dataclass(frozen=True, eq=False)
class FittedMauve(_Attributes, Distance[Floats]):
    """`mauve`, fitted to real replies."""

    # Clusters need all replies at once, so an agent with too many of them is scored on a sample.
    sampled: ClassVar[bool] = True

    settings: Mauve

    @property
    def fewest(self) -> int:
        """The smallest number of replies that get a score, from the settings."""
        return self.settings.fewest

    @property
    def signature(self) -> Signature:
        """The settings of clusters and curve, the encoding and a digest of the real replies."""
        settings = self.settings
        return self._signature(
            "mauve",
            ("k", str(settings.clusters or "n/10")),
            ("pca", str(settings.variance)),
            ("c", str(settings.scale)),
            ("mixtures", str(settings.mixtures)),
            ("runs", str(settings.runs)),
            ("seed", str(settings.seed)),
        )

    def prepare(self, real: Floats, /) -> Floats:
        """(m, d) at most 4,096 of the real vectors, of unit length.

        The first ones are taken: real replies are sorted by a digest, so these are a random sample.
        """
        return _unit(real[:MAX_REAL])

    def between(self, generated: Floats, real: Floats, /) -> float:
        """The area under the curve, averaged over the runs."""
        settings = self.settings
        smaller = min(len(generated), len(real))
        runs = histograms_of_runs(
            real, _unit(generated), settings.clusters or max(2, round(smaller / _REPLIES_PER_CLUSTER)),
            components=settings.variance if settings.variance < 1 else None, runs=settings.runs,
            rng=np.random.default_rng(settings.seed),
        )  # fmt: skip
        areas = [area(*shares, scale=settings.scale, mixtures=settings.mixtures) for shares in runs]
        return float(np.mean(areas))


def area(p: Floats, q: Floats, *, scale: float, mixtures: int) -> float:
    """The area under the curve of exp(-scale * divergence) for two (k,) distributions, by the trapezoid rule."""
    weights = np.linspace(_EDGE, 1 - _EDGE, mixtures)[:, None]
    mixed = weights * p + (1 - weights) * q
    x, y = (np.exp(-scale * _divergence(side, mixed)) for side in (q, p))
    # From w = 0, where the mixture is Q and lacks what only P has, to w = 1.
    return float(
        np.trapezoid(np.concatenate([[0.0], y, [1.0]])[::-1], np.concatenate([[1.0], x, [0.0]])[::-1])
    )


def _divergence(p: Floats, mixed: Floats) -> Floats:
    """(n,) KL(p | r) in nats for each of the (n, k) distributions r, which are positive where p is."""
    there = p > 0
    return np.asarray(np.sum(p[there] * np.log(p[there] / mixed[:, there]), axis=1))


def _unit(vectors: Floats) -> Floats:
    """The vectors scaled to length 1; a vector of zeros stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1.0, lengths))
