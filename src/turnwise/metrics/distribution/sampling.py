"""What a distance owes to the number of vectors: its floor, and its value for infinitely many.

A distance of two samples is above 0 even if both are people's, and the more so the fewer they are. The floor is what
some of the real side come to against the rest of it. A system is measured on more than that, so its own number is no
measure beside the floor: `thinned` is, its number from as many replies against as many real ones. A reply is nearer to
the real ones that answer the same query, so both are taken at queries that the rest has not. New people have the
floor for their thinned number, on average, whatever the distance; a system that has it too cannot be told from people
by so many replies. The limit is read off a line in 1/N
(Chong and Forsyth 2020 for FID): both sides are thinned together, so the real side's own shortage goes too. The
line holds only where there are more vectors than dimensions; with fewer, the limit is refused.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import TooFewItems
from turnwise.types import Floats

Between: TypeAlias = Callable[[Floats, Floats], float]  # (generated, real) -> a distance

FEWEST = 4  # vectors on a side: two in each half
# Vectors a dimension. Measured on two samples of one Gaussian, where the limit is 0: with 2 or more it is within 2 %
# of the distance at hand (7 % if the spread is uneven), with 1 it leaves 29 % of it, with a half 62 %.
PER_DIMENSION = 2
SHARES = (0.5, 0.625, 0.75, 0.875, 1.0)  # of both sides; below a half the next term, in 1/N^2, is felt


class Beside(NamedTuple):
    """Two distances that can be compared: each of `n` vectors against the real ones without `n`."""

    floor: float  # of real vectors
    thinned: float  # of generated vectors


def beside_people(
    generated: Floats,
    real: Floats,
    between: Between,
    *,
    queries: tuple[Floats, Floats] | None = None,  # (n,) and (m,) marks of what is answered
    rng: np.random.Generator,
    splits: int = 10,
) -> Beside:
    """The mean distances over seeded splits, with as many vectors as there are generated, or half of the real ones."""
    if len(real) < FEWEST:
        raise TooFewItems(f"two halves need {FEWEST} real vectors or more, and there are {len(real)}")
    asked, answered = queries or (np.full(len(generated), -1.0), np.arange(len(real), dtype=np.float64))
    floors, thinned = [], []
    for _ in range(splits):
        taken = _taken(asked, answered, min(len(generated), len(real) // 2), rng)
        rest = real[~taken]
        some, mine = real[taken], generated[~np.isin(asked, answered[~taken])]
        n = min(len(some), len(mine))
        if n < 2 or len(rest) < 2:  # few queries, which most replies share: they cannot be kept apart
            return beside_people(generated, real, between, rng=rng, splits=splits)
        floors.append(between(some[rng.permutation(len(some))[:n]], rest))
        thinned.append(between(mine[rng.permutation(len(mine))[:n]], rest))
    return Beside(float(np.mean(floors)), float(np.mean(thinned)))


def _taken(asked: Floats, answered: Floats, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(m,) which real vectors leave the real side: `n` or a few more, with all that answer the same query.

    Queries that the system answers too go first: at these, people and the system can be exchanged.
    """
    different, counts = np.unique(answered, return_counts=True)
    order = np.argsort(~np.isin(different, asked) + rng.random(len(different)))
    ends = np.cumsum(counts[order])
    return np.isin(answered, different[order][: np.searchsorted(ends, n) + 1])


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
