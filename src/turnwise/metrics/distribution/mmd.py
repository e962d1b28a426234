"""Maximum mean discrepancy between a system's replies and people's (Gretton et al. 2012).

Pairs become vectors as for `fbd`; no shape is assumed of their distribution, and the estimate is unbiased: 0 is what
equal distributions come to on average, and half of the time they come to less. See kernel.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from turnwise.metrics.distribution.distance import FEWEST, Distance, Facts
from turnwise.metrics.distribution.kernel import Reference
from turnwise.metrics.distribution.reading import Reading, Way
from turnwise.metrics.distribution.sides import real_sides
from turnwise.types import Card, Floats, Item, Signature


class _Facts(Facts):
    __slots__ = ()

    higher_is_better: ClassVar[bool] = False
    card: ClassVar[Card] = Card(
        kind="distribution",
        meaning="Squared distance between the distributions of a system's replies and of people's in the space of a "
        "Gaussian kernel, unbiased.",
        range="around 0 for equal distributions, also below; at most 2",
        limits="A system as a whole, never one reply. The kernel's width is set by the real replies: numbers of "
        "different real sides cannot be compared.",
        citation="Gretton et al. 2012, A Kernel Two-Sample Test",
    )


@dataclass(frozen=True, slots=True)
class Mmd(_Facts):
    """`mmd` before it has seen real replies."""

    model: str = "minilm"
    layer: int | None = None
    pooling: str | None = None
    way: Way = "product"
    turns: int = 1
    fewest: int = FEWEST

    def fit(self, items: Iterable[Item], /) -> "MmdToReal":
        reading = Reading(self.model, self.way, self.turns, self.layer, self.pooling)
        return MmdToReal(real_sides(items, [reading], fewest=self.fewest), self)


@dataclass(frozen=True, eq=False)
class MmdToReal(_Facts, Distance[Reference]):
    # Pairs of replies do not add up; but a sample's number is an unbiased estimate of that of all.
    sampled: ClassVar[bool] = True

    asked: Mmd

    @property
    def fewest(self) -> int:
        return self.asked.fewest

    @property
    def signature(self) -> Signature:
        return self._signed("mmd", ("kernel", "rbf-median"))

    def prepare(self, real: Floats, /) -> Reference:
        return Reference.of(real)

    def between(self, generated: Floats, real: Reference, /) -> float:
        return real.discrepancy(generated)
