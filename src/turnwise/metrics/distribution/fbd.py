"""Frechet BERT distance between a system's replies and people's (Xiang et al. 2021).

Each (query, reply) pair becomes a vector, each set of vectors a Gaussian; the number is the squared 2-Wasserstein
distance of the two. 0 says that two moments agree, not that texts do; and a finite sample of people themselves is
above it: `floor` and `thinned` (sampling.py) say by how much.

`fbd-paper` is the published recipe: the [CLS] of query and reply together, last layer, no tuning. Equation 2 of the
paper leaves the norm of the mean difference unsquared; the released code squares it, and so do we: squared it is the
Frechet distance. The released code takes a generic matrix square root, and adds 1e-6 to the diagonals where that
fails; here nothing fails and nothing is added (frechet.py). The real side is the distinct pairs of the group.

`fbd` reads query and reply apart and multiplies them (reading.py). `also` names a second model: the number is then
the sum of the logarithms of both distances, which is no distance any more. It was chosen on the corpora on which it
is best, and so it is no default; papers/fbd-prd.md says what it does on others.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import ClassVar, TypeAlias

import numpy as np

from turnwise.errors import Refused, TooFewItems
from turnwise.metrics.distribution import sampling
from turnwise.metrics.distribution.distance import ALL_THE_SAME, FEWEST, HEAD, MIXED, SEED, Distance, Facts
from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.metrics.distribution.moments import Moments
from turnwise.metrics.distribution.reading import Reading, Way
from turnwise.metrics.distribution.sides import real_sides
from turnwise.metrics.rows import scored
from turnwise.types import Card, Floats, Item, Rows, Signature

_Gaussians: TypeAlias = tuple[Gaussian, ...]  # one a reading
_NOTHING = 1e-9  # of the real spread: a distance below it is rounding


class _Facts(Facts):
    __slots__ = ()

    higher_is_better: ClassVar[bool] = False
    card: ClassVar[Card] = Card(
        kind="distribution",
        meaning="Distance between the distributions of a system's replies and of people's, each taken for a Gaussian "
        "of sentence vectors.",
        range="0 upwards; 0 for equal means and covariances, above it for samples of people: hold `thinned` against "
        "`floor`",
        limits="A system as a whole, never one reply. Falls as replies are added: compare systems on as many replies "
        "each, or their limits. Blind to what the encoder does not see, such as facts and contradictions.",
        citation="Xiang et al. 2021, Assessing Dialogue Systems with Distribution Distances; "
        "Heusel et al. 2017, GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium",
    )


@dataclass(frozen=True, slots=True)
class Fbd(_Facts):
    """`fbd` before it has seen real replies."""

    name: ClassVar[str] = "fbd"

    model: str = "minilm"
    layer: int | None = None
    pooling: str | None = None
    way: Way = "product"
    turns: int = 1
    shrinkage: float = 0.0
    also: str | None = None
    fewest: int = FEWEST

    def fit(self, items: Iterable[Item], /) -> "FbdToReal":
        readings = [Reading(self.model, self.way, self.turns, self.layer, self.pooling)]
        if self.also is not None:
            readings.append(Reading(self.also, self.way, self.turns))
        return FbdToReal(real_sides(items, readings, fewest=self.fewest), self)


@dataclass(frozen=True, slots=True)
class FbdPaper(Fbd):
    """`fbd-paper` before it has seen real replies."""

    name: ClassVar[str] = "fbd-paper"

    way: Way = "together"
    turns: int = 0


@dataclass(frozen=True, eq=False)
class FbdToReal(_Facts, Distance[_Gaussians]):
    asked: Fbd

    @property
    def fewest(self) -> int:
        return self.asked.fewest

    @property
    def signature(self) -> Signature:
        added = () if self.asked.also is None else (("sum", "log"),)
        return self._signed(self.asked.name, ("shrinkage", f"{self.asked.shrinkage:g}"), *added)

    @property
    def span(self) -> tuple[float, float]:
        """What the number can be; a sum of logarithms can be anything."""
        return (0.0 if self.asked.also is None else -inf, inf)

    def prepare(self, real: Floats, /) -> _Gaussians:
        return tuple(Gaussian.of(part, shrinkage=self.asked.shrinkage) for part in self._parts(real))

    def between(self, generated: Floats, real: _Gaussians, /) -> float:
        return self._number(self.prepare(generated), real)

    def moments(self, rows: Rows, /) -> Moments:
        """Of whole rows, the head included: where all have one group, its mean is the code."""
        return Moments.of(np.asarray(rows[scored(rows)]))

    def of_moments(self, moments: Moments, /) -> float:
        """What `reduce` says of all rows behind the moments."""
        self._check_count(moments.count)
        if moments.scatter[0, 0]:
            raise ValueError(MIXED)
        if not moments.scatter[1, 1]:
            raise TooFewItems(ALL_THE_SAME)
        ends = [HEAD, *(HEAD + end for end in self._ends), len(moments.mean)]
        generated = tuple(
            Gaussian.of_moments(moments.part(start, end), shrinkage=self.asked.shrinkage)
            for start, end in pairwise(ends)
        )
        return self._number(generated, self.prepared[self._side(moments.mean[0]).group])

    def _number(self, generated: _Gaussians, real: _Gaussians) -> float:
        found = [distance(x, y) for x, y in zip(generated, real, strict=True)]
        if self.asked.also is None:
            return found[0]
        spread = [float(np.sum(each.root**2)) for each in real]
        if any(value <= _NOTHING * size for value, size in zip(found, spread, strict=True)):
            raise Refused("these are the real replies themselves: a distance of 0 has no logarithm to add up")
        return float(np.sum(np.log(found)))

    def details(self, rows: Rows, /) -> dict[str, float]:
        """Also the limit, where there are replies enough to see one."""
        told = super().details(rows)
        vectors, side = self._taken(rows)
        if side is None or self.asked.also is not None:
            return told
        try:
            rng = np.random.default_rng(SEED)
            limit = sampling.at_infinity(vectors, side.vectors, self._afresh, rng=rng)
        except TooFewItems:
            return told
        return {**told, "at_infinity": limit}

    def _parts(self, vectors: Floats) -> list[Floats]:
        return np.split(vectors, self._ends, axis=1)

    @cached_property
    def _ends(self) -> list[int]:
        """Where one reading's vectors end and the next one's begin."""
        widths = [space.dimension for space in next(iter(self.sides.values())).spaces]
        return [int(end) for end in np.cumsum(widths)[:-1]]
