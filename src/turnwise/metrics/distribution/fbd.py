"""Frechet BERT distance between an agent's replies and people's (Xiang et al. 2021).

Each (query, reply) pair is encoded as a vector, and a Gaussian is fitted to each set of vectors. The score is the
squared 2-Wasserstein distance of the two Gaussians; lower is better. 0 means equal means and covariances, not equal
texts. A finite sample of people's own replies is above 0: `floor` and `thinned` (see `sampling`) say by how much.

`fbd-paper` is the published method: the [CLS] vector of query and reply together, last layer, no fine-tuning. Equation
2 of the paper does not square the norm of the mean difference; the released code squares it, and so do we, because only
then is it the Frechet distance. The released code takes a generic matrix square root and adds 1e-6 to the diagonals
where that fails; ours needs neither (see `frechet`). The real replies are the distinct pairs of the group.

`fbd` encodes query and reply separately and multiplies the vectors (see `pair_encoding`). `also` names a second model:
the score is then the sum of the logarithms of both distances, which is not a distance. This variant was chosen on the
corpora on which it is best, so it is not the default; papers/fbd-prd.md reports it on others.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import ClassVar, TypeAlias

import numpy as np

from turnwise.errors import Refused, TooFewItems
from turnwise.metrics.distribution import sampling
from turnwise.metrics.distribution.distance import (
    ALL_THE_SAME,
    FEWEST,
    HEADER,
    MIXED_GROUPS,
    SEED,
    Distance,
    DistanceAttributes,
    EncodingSettings,
)
from turnwise.metrics.distribution.frechet import Gaussian, SubsetDistances, distance
from turnwise.metrics.distribution.moments import Moments
from turnwise.metrics.distribution.pair_encoding import PairEncoding, Way
from turnwise.metrics.distribution.real_replies import real_replies
from turnwise.metrics.rows import scored
from turnwise.types import Card, Floats, Ints, Item, Rows, Signature

_Gaussians: TypeAlias = tuple[Gaussian, ...]  # one for each encoding
_ROUNDING = 1e-9  # a distance below this share of the real vectors' total variance is rounding error


class _Attributes(DistanceAttributes):
    """The class attributes of `fbd` before and after `fit`."""

    __slots__ = ()

    higher_is_better: ClassVar[bool] = False
    card: ClassVar[Card] = Card(
        kind="distribution",
        meaning="Frechet distance between the distributions of an agent's replies and of people's, each approximated "
        "by a Gaussian of sentence vectors.",
        range="0 upwards; 0 for equal means and covariances. Samples of people's own replies are above 0: compare "
        "`thinned` with `floor`",
        limits="Scores an agent as a whole, never one reply. Falls as replies are added: compare agents on equally "
        "many replies, or by `at_infinity`. Ignores what the encoder does not represent, such as facts and "
        "contradictions.",
        citation="Xiang et al. 2021, Assessing Dialogue Systems with Distribution Distances; "
        "Heusel et al. 2017, GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium",
    )


@dataclass(frozen=True, slots=True)
class Fbd(_Attributes, EncodingSettings):
    """`fbd` before it is fitted to real replies."""

    name: ClassVar[str] = "fbd"

    shrinkage: float = 0.0
    also: str | None = None
    fewest: int = FEWEST

    def fit(self, items: Iterable[Item], /) -> "FittedFbd":
        """Fit to the real replies among the items (see `real_replies`); raises `TooFewItems` if no group has enough."""
        encodings = [self.encoding]
        if self.also is not None:
            encodings.append(PairEncoding(self.also, self.way, self.turns))
        return FittedFbd(real_replies(items, encodings, fewest=self.fewest), self)


@dataclass(frozen=True, slots=True)
class FbdPaper(Fbd):
    """`fbd-paper` before it is fitted to real replies."""

    name: ClassVar[str] = "fbd-paper"

    way: Way = "together"
    turns: int = 0


@dataclass(frozen=True, eq=False)
class FittedFbd(_Attributes, Distance[_Gaussians]):
    """`fbd` or `fbd-paper`, fitted to real replies."""

    settings: Fbd

    @property
    def fewest(self) -> int:
        """The smallest number of replies that get a score, from the settings."""
        return self.settings.fewest

    @property
    def signature(self) -> Signature:
        """The shrinkage, `sum:log` with a second model, the encodings and a digest of the real replies."""
        added = () if self.settings.also is None else (("sum", "log"),)
        return self._signature(self.settings.name, ("shrinkage", f"{self.settings.shrinkage:g}"), *added)

    @property
    def span(self) -> tuple[float, float]:
        """The range of the score; a sum of logarithms has no bounds."""
        return (0.0 if self.settings.also is None else -inf, inf)

    def prepare(self, real: Floats, /) -> _Gaussians:
        """The Gaussian of the vectors of each encoding."""
        return tuple(Gaussian.of(part, shrinkage=self.settings.shrinkage) for part in self._by_encoding(real))

    def between(self, generated: Floats, real: _Gaussians, /) -> float:
        """The Frechet distance or, with `also`, the sum of two logarithms; `Refused` where a logarithm is of 0."""
        return self._score(self.prepare(generated), real)

    def subset_scorer(self, rows: Rows, /) -> Callable[[Ints], float]:
        """The score of any of the rows, which are multiplied by the roots of the real covariances once.

        With shrinkage or rows without a vector it is `reduce` itself. Rows of several groups are a `ValueError`.
        """
        vectors, real = (
            self._scored_vectors(rows) if self.settings.shrinkage == 0 else (np.zeros((0, 0)), None)
        )
        if real is None or len(vectors) < rows.shape[0]:
            return lambda chosen: self.reduce(rows[chosen])
        gaussians = self.prepared[real.group]
        parts = [
            SubsetDistances(part, gaussian)
            for part, gaussian in zip(self._by_encoding(vectors), gaussians, strict=True)
        ]
        return lambda chosen: (
            self._combined([part.distance(chosen) for part in parts], gaussians)
            if len(chosen) > 1
            else float("nan")
        )

    def moments(self, rows: Rows, /) -> Moments:
        """Moments of the scored rows, header included.

        The mean of the first column is the code of their common group.
        """
        return Moments.of(np.asarray(rows[scored(rows)]))

    def of_moments(self, moments: Moments, /) -> float:
        """The score of all rows that the moments were computed from.

        Raises `TooFewItems` for too few or equal replies, and `ValueError` for rows of several groups.
        """
        self._check_count(moments.count)
        if moments.scatter[0, 0]:
            raise ValueError(MIXED_GROUPS)
        if not moments.scatter[1, 1]:
            raise TooFewItems(*ALL_THE_SAME)
        ends = [HEADER, *(HEADER + end for end in self._ends), len(moments.mean)]
        generated = tuple(
            Gaussian.of_moments(moments.part(start, end), shrinkage=self.settings.shrinkage)
            for start, end in pairwise(ends)
        )
        return self._score(generated, self.prepared[self._real_of_code(moments.mean[0]).group])

    def _score(self, generated: _Gaussians, real: _Gaussians) -> float:
        """The distance or, with `also`, the sum of the logarithms of both encodings' distances, as in `_combined`."""
        return self._combined([distance(x, y) for x, y in zip(generated, real, strict=True)], real)

    def _combined(self, distances: list[float], real: _Gaussians) -> float:
        """The only distance or, with `also`, the sum of the logarithms of two.

        Raises `Refused` where a logarithm is needed and a distance is 0 up to rounding.
        """
        if self.settings.also is None:
            return distances[0]
        variances = [float(np.sum(each.root**2)) for each in real]
        if any(value <= _ROUNDING * variance for value, variance in zip(distances, variances, strict=True)):
            raise Refused(
                "these are the real replies themselves: the distance is 0 and has no logarithm",
                "no-logarithm",
            )
        return float(np.sum(np.log(distances)))

    def details(self, rows: Rows, /) -> dict[str, float]:
        """The diagnostics of every distance, and `at_infinity`, the limit for infinitely many replies.

        Without `at_infinity` if there are too few replies for it, or with a second model (`also`).
        """
        details = super().details(rows)
        vectors, real = self._scored_vectors(rows)
        if real is None or self.settings.also is not None:
            return details
        try:
            rng = np.random.default_rng(SEED)
            limit = sampling.limit_at_infinity(vectors, real.vectors, self._distance, rng=rng)
        except TooFewItems:
            return details
        return {**details, "at_infinity": limit}

    def _by_encoding(self, vectors: Floats) -> list[Floats]:
        """The vectors (n, d) split into those of each encoding."""
        return np.split(vectors, self._ends, axis=1)

    @cached_property
    def _ends(self) -> list[int]:
        """The columns at which the vectors of one encoding end and those of the next begin; empty for one encoding."""
        widths = [encoding.dimension for encoding in next(iter(self.real.values())).encodings]
        return [int(end) for end in np.cumsum(widths)[:-1]]
