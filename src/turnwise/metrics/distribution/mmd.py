"""Maximum mean discrepancy (MMD) between an agent's replies and people's (Gretton et al. 2012).

Pairs of query and reply are encoded as for `fbd`. MMD makes no assumption about the form of the distributions, and the
estimate is unbiased: for equal distributions its mean is 0, so it is negative about half of the time. Lower is better.
The computation is in `kernel`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from turnwise.metrics.distribution.distance import FEWEST, Distance, DistanceAttributes, EncodingSettings
from turnwise.metrics.distribution.kernel import RealSample
from turnwise.metrics.distribution.real_replies import real_replies
from turnwise.types import Card, Floats, Item, Signature


class _Attributes(DistanceAttributes):
    """The class attributes of `mmd` before and after `fit`."""

    __slots__ = ()

    higher_is_better: ClassVar[bool] = False
    card: ClassVar[Card] = Card(
        kind="distribution",
        meaning="Squared maximum mean discrepancy between the distributions of an agent's replies and of people's, "
        "with a Gaussian kernel; unbiased estimate.",
        range="around 0 for equal distributions, also below 0; at most 2",
        limits="Scores an agent as a whole, never one reply. The kernel's width is set by the real replies, so scores "
        "against different real replies cannot be compared.",
        citation="Gretton et al. 2012, A Kernel Two-Sample Test",
    )


@dataclass(frozen=True, slots=True)
class Mmd(_Attributes, EncodingSettings):
    """`mmd` before it is fitted to real replies."""

    fewest: int = FEWEST

    def fit(self, items: Iterable[Item], /) -> "FittedMmd":
        """Fit to the real replies among the items (see `real_replies`); raises `TooFewItems` if no group has enough."""
        return FittedMmd(real_replies(items, [self.encoding], fewest=self.fewest), self)


@dataclass(frozen=True, eq=False)
class FittedMmd(_Attributes, Distance[RealSample]):
    """`mmd`, fitted to real replies."""

    # MMD is a sum over pairs, so there is no mergeable summary; but the score of a random sample is unbiased.
    sampled: ClassVar[bool] = True

    settings: Mmd

    @property
    def fewest(self) -> int:
        """The smallest number of replies that get a score, from the settings."""
        return self.settings.fewest

    @property
    def signature(self) -> Signature:
        """The kind of kernel, the encoding and a digest of the real replies."""
        return self._signature("mmd", ("kernel", "rbf-median"))

    def prepare(self, real: Floats, /) -> RealSample:
        """The real vectors with the kernel's width and their inner term."""
        return RealSample.of(real)

    def between(self, generated: Floats, real: RealSample, /) -> float:
        """The unbiased squared MMD of the generated vectors from the real ones."""
        return real.discrepancy(generated)
