"""The people who rate: a panel with biases, scales and noise of their own, who give whole numbers from 1 to 5.

What an agent truly has is the mean rating that the whole panel would give its conversations, which is computed
exactly: ratings are rounded and end at 1 and 5, so it is not quite the latent quality.
"""

from dataclasses import dataclass
from functools import cache
from math import erf, sqrt

import numpy as np

from turnwise.types import Floats, Rating, Scores

PANEL = 20
RATERS = 3  # that see a conversation
SCALE = (1.0, 5.0)
MIDDLE = 3.0
GRID = np.linspace(*SCALE, 401)


@dataclass(frozen=True, slots=True)
class Rater:
    name: str
    bias: float  # kinder or harder than others
    spread: float  # how much of the scale is used
    noise: float

    def mean(self, quality: float) -> float:
        return MIDDLE + self.bias + self.spread * (quality - MIDDLE)

    def rate(self, quality: float, rng: np.random.Generator) -> float:
        felt = self.mean(quality) + self.noise * rng.standard_normal()
        return float(min(SCALE[1], max(SCALE[0], np.floor(felt + 0.5))))

    def expected(self, quality: float) -> float:
        """The mean of `rate`: 1 and the chance of every step above it."""
        steps = np.arange(SCALE[0], SCALE[1]) + 0.5
        return float(SCALE[0] + sum(_above((self.mean(quality) - step) / self.noise) for step in steps))


def _above(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


@cache
def panel() -> tuple[Rater, ...]:
    """The same people in every run."""
    rng = np.random.default_rng(1952)
    bias, spread, noise = (
        rng.normal(0, 0.4, PANEL),
        rng.uniform(0.7, 1.3, PANEL),
        rng.uniform(0.4, 0.9, PANEL),
    )
    return tuple(
        Rater(f"rater-{place + 1:02d}", float(bias[place]), float(spread[place]), float(noise[place]))
        for place in range(PANEL)
    )


@cache
def _expected() -> Floats:
    return np.array([np.mean([rater.expected(quality) for rater in panel()]) for quality in GRID])


def expected(qualities: Scores) -> Scores:
    """What the panel would give on average."""
    return {name: float(np.interp(quality, GRID, _expected())) for name, quality in qualities.items()}


def ratings(qualities: Scores, item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
    """The judgements of a few of the panel."""
    chosen = sorted(rng.permutation(PANEL)[:RATERS].tolist())
    return tuple(
        Rating(item, dimension, rater.rate(quality, rng), rater=rater.name, scale=SCALE)
        for rater in (panel()[place] for place in chosen)
        for dimension, quality in qualities.items()
    )
