"""What a distance owes to the number of vectors: its floor, and its value for infinitely many.

A distance of two samples is above 0 even if both are people's. The floor is what two halves of the real side come
to: a system at the floor cannot be told from people by so many replies. The limit is read off a line in 1/N
(Chong and Forsyth 2020 for FID): both sides are thinned together, so the real side's own shortage goes too. The
line holds only where there are more vectors than dimensions; with fewer, the limit is refused.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.types import Floats

Between: TypeAlias = Callable[[Floats, Floats], float]  # (generated, real) -> a distance

FEWEST = 4  # vectors on a side: two in each half
# Vectors a dimension. Measured on two samples of one Gaussian, where the limit is 0: with 2 or more it is within 2 %
# of the distance at hand (7 % if the spread is uneven), with 1 it leaves 29 % of it, with a half 62 %.
PER_DIMENSION = 2
SHARES = (0.5, 0.625, 0.75, 0.875, 1.0)  # of both sides; below a half the next term, in 1/N^2, is felt


def floor(real: Floats, between: Between, *, rng: np.random.Generator, splits: int = 10) -> float:
    """The mean distance of two halves of the real vectors over seeded splits."""
    if len(real) < FEWEST:
        raise TooFewItems(f"two halves need {FEWEST} real vectors or more, and there are {len(real)}")
    half = len(real) // 2
    values = []
    for _ in range(splits):
        order = rng.permutation(len(real))
        values.append(between(real[order[:half]], real[order[half:]]))
    return float(np.mean(values))


def at_infinity(
    generated: Floats,
    real: Floats,
    between: Between,
    *,
    rng: np.random.Generator,
    shares: Sequence[float] = SHARES,
    draws: int = 10,
) -> float:
    """Where a distance whose bias is in 1/N goes as both sides grow: the intercept of its line."""
    few, enough = min(len(generated), len(real)), PER_DIMENSION * generated.shape[1]
    if few < enough:
        raise TooFewItems(f"a limit needs {enough} vectors or more on each side, and there are {few}")
    inverse, values, weights = [], [], []
    for share in shares:
        times = 1 if share == 1 else draws  # all there is can be drawn only once
        for _ in range(times):
            x, y = (
                rows[rng.permutation(len(rows))[: round(share * len(rows))]] for rows in (generated, real)
            )
            inverse.append(1 / share)
            values.append(between(x, y))
            weights.append(1 / np.sqrt(times))  # so that each share weighs the same
    _, intercept = np.polyfit(inverse, values, 1, w=weights)
    return float(intercept)
