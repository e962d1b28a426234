"""Simulated raters: a panel with individual bias, scale use and noise, who give whole numbers from 1 to 5.

The true score of a dialogue is the mean rating that the whole panel would give it, computed exactly. It differs from
the latent quality because ratings are rounded and limited to 1 to 5.
"""

from dataclasses import dataclass
from functools import cache
from math import erf, sqrt

import numpy as np

from turnwise.types import DimensionScores, Floats, Rating
from turnwise.worlds.chat.quality import FIRST_DIMENSIONS

PANEL_SIZE = 20  # raters in the panel
RATERS_PER_DIALOGUE = 3  # raters per dialogue
SCALE = (1.0, 5.0)
SCALE_MIDDLE = 3.0
# Qualities at which the mean rating of the panel is computed; between them it is interpolated.
QUALITY_GRID = np.linspace(*SCALE, 401)


@dataclass(frozen=True, slots=True)
class Rater:
    """A simulated person: rating = 3 + bias + spread * (quality - 3) + noise, rounded and limited to 1 to 5."""

    name: str
    bias: float  # added to every rating
    spread: float  # slope: above 1 the rater uses more of the scale
    noise: float  # standard deviation

    def mean(self, quality: float) -> float:
        """The rating before noise, rounding and limits."""
        return SCALE_MIDDLE + self.bias + self.spread * (quality - SCALE_MIDDLE)

    def rate(self, quality: float, rng: np.random.Generator) -> float:
        """Draw a rating, a whole number from 1 to 5, of a dialogue of this quality."""
        latent = self.mean(quality) + self.noise * rng.standard_normal()
        return float(min(SCALE[1], max(SCALE[0], np.floor(latent + 0.5))))

    def expected_rating(self, quality: float) -> float:
        """The exact mean of `rate`: 1 plus the probabilities of a rating above 1, above 2, above 3 and above 4."""
        steps = np.arange(SCALE[0], SCALE[1]) + 0.5
        return float(SCALE[0] + sum(_normal_cdf((self.mean(quality) - step) / self.noise) for step in steps))


def _normal_cdf(z: float) -> float:
    """The cumulative distribution function of the standard normal distribution."""
    return 0.5 * (1 + erf(z / sqrt(2)))


@cache
def panel() -> tuple[Rater, ...]:
    """The 20 raters, equal in every run."""
    rng = np.random.default_rng(1952)
    bias, spread, noise = (
        rng.normal(0, 0.4, PANEL_SIZE),
        rng.uniform(0.7, 1.3, PANEL_SIZE),
        rng.uniform(0.4, 0.9, PANEL_SIZE),
    )
    return tuple(
        Rater(f"rater-{index + 1:02d}", float(bias[index]), float(spread[index]), float(noise[index]))
        for index in range(PANEL_SIZE)
    )


@cache
def _expected_on_grid() -> Floats:
    """The mean rating of the panel at each quality of `QUALITY_GRID`."""
    return np.array(
        [np.mean([rater.expected_rating(quality) for rater in panel()]) for quality in QUALITY_GRID]
    )


def expected_ratings(qualities: DimensionScores) -> DimensionScores:
    """The mean rating that the whole panel would give, by dimension."""
    return {
        name: float(np.interp(quality, QUALITY_GRID, _expected_on_grid()))
        for name, quality in qualities.items()
    }


def ratings(qualities: DimensionScores, item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
    """Draw the ratings of three random members of the panel on every dimension.

    `item` is the id of the rated dialogue.
    """
    chosen = [panel()[index] for index in sorted(rng.permutation(PANEL_SIZE)[:RATERS_PER_DIALOGUE].tolist())]
    first = {name: quality for name, quality in qualities.items() if name in FIRST_DIMENSIONS}
    others = {name: quality for name, quality in qualities.items() if name not in first}
    # A generator of their own for the dimensions that came later, so that the first ones' ratings stay as they were.
    (later,) = rng.spawn(1)
    return tuple(
        Rating(item, dimension, rater.rate(quality, generator), rater=rater.name, scale=SCALE)
        for some, generator in ((first, rng), (others, later))
        for rater in chosen
        for dimension, quality in some.items()
    )
