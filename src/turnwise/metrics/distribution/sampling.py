"""What a distance owes to the number of vectors: its floor, its value for infinitely many, and when to refuse.

A distance of two samples is above 0 even if both are people's. The floor is what two halves of the real side come
to: a system at the floor cannot be told from people by so many replies. The limit is read off a line in 1/N
(Chong and Forsyth 2020 for FID): both sides are thinned together, so the real side's own shortage goes too.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.types import Floats

Between: TypeAlias = Callable[[Floats, Floats], float]  # (generated, real) -> a distance

FEWEST = 4  # vectors on a side: two in each half
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
    """Where the distance goes as both sides grow: the intercept of its line in 1/N.

    A distance that is not linear in 1/N (F1 of precision and recall) gets a guess of its direction, no more.
    """
    if min(len(generated), len(real)) < FEWEST:
        raise TooFewItems(f"a limit needs {FEWEST} vectors or more on each side")
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
