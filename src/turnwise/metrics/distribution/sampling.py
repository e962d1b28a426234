"""Effects of the sample size on a distance: the value for people themselves, and the limit for infinitely many replies.

A distance between two finite samples is above 0 even if both are people's replies, and it grows as the samples get
smaller. Two corrections help to read it.

`floor` and `thinned` are computed at equal sample sizes and can be compared. `floor` is the distance of some real
replies from the remaining ones; `thinned` is the distance of equally many replies of the agent from the same remaining
ones. A reply is closer to real replies with the same query, so both use queries that the remaining replies do not have.
For new replies by people, `thinned` equals `floor` on average; an agent for which they are equal cannot be
distinguished from people with that many replies.

`at_infinity` is the intercept of a line in 1/N (Chong and Forsyth 2020, for FID). Both sides are subsampled together,
so the bias from the finite real side is removed too. The line holds only with more vectors than dimensions; with fewer,
the limit is refused.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import TooFewItems
from turnwise.types import Floats

DistanceFunction: TypeAlias = Callable[[Floats, Floats], float]  # (generated, real) -> a distance

MIN_REAL = 4  # real vectors: two in each half
# Vectors per dimension that the limit needs. Measured on two samples of one Gaussian, where the true limit is 0: with 2
# or more the limit is within 2 % of the distance (7 % if the spread is uneven), with 1 it is 29 % of it, with 0.5 62 %.
MIN_VECTORS_PER_DIMENSION = 2
# Subsample sizes as shares of both sides. Below one half the next term of the bias, in 1/N^2, is noticeable.
SUBSAMPLE_SHARES = (0.5, 0.625, 0.75, 0.875, 1.0)


class EqualSizeDistances(NamedTuple):
    """Distances of held-out real vectors and of equally many generated ones from the remaining real vectors."""

    floor: float  # distance between two samples of real vectors
    thinned: float  # distance of as many generated vectors


def equal_size_distances(
    generated: Floats,
    real: Floats,
    distance: DistanceFunction,
    *,
    queries: tuple[Floats, Floats] | None = None,  # hashes of the queries: (n,) generated and (m,) real
    rng: np.random.Generator,
    splits: int = 10,
) -> EqualSizeDistances:
    """Mean distances of held-out real vectors (`floor`) and of generated ones (`thinned`) from the other real vectors.

    The means are over `splits` random splits. Both samples have one size: about that of `generated`, but at most about
    half of the real vectors. With too few different queries to keep them apart, `queries` is ignored. Raises
    `TooFewItems` for fewer than 4 real vectors.
    """
    if len(real) < MIN_REAL:
        raise TooFewItems(
            "two halves need {needed} real vectors or more, and there are {n}",
            "too-few-for-halves",
            n=len(real),
            needed=MIN_REAL,
        )
    own_queries, real_queries = queries or (
        np.full(len(generated), -1.0),
        np.arange(len(real), dtype=np.float64),
    )
    floors, thinned = [], []
    for _ in range(splits):
        held_out = _hold_out(own_queries, real_queries, min(len(generated), len(real) // 2), rng)
        rest = real[~held_out]
        real_sample, own_sample = real[held_out], generated[~np.isin(own_queries, real_queries[~held_out])]
        n = min(len(real_sample), len(own_sample))
        if n < 2 or len(rest) < 2:  # too few different queries to keep them apart
            return equal_size_distances(generated, real, distance, rng=rng, splits=splits)
        floors.append(distance(real_sample[rng.permutation(len(real_sample))[:n]], rest))
        thinned.append(distance(own_sample[rng.permutation(len(own_sample))[:n]], rest))
    return EqualSizeDistances(float(np.mean(floors)), float(np.mean(thinned)))


def _hold_out(
    own_queries: Floats, real_queries: Floats, n: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """(m,) mask of the real vectors to hold out: about `n`, with all vectors of the same query together.

    Queries to which the agent replies too come first, so that the agent's replies can take their place.
    """
    different, counts = np.unique(real_queries, return_counts=True)
    order = np.argsort(~np.isin(different, own_queries) + rng.random(len(different)))
    ends = np.cumsum(counts[order])
    return np.isin(real_queries, different[order][: np.searchsorted(ends, n) + 1])


def limit_at_infinity(
    generated: Floats,
    real: Floats,
    distance: DistanceFunction,
    *,
    rng: np.random.Generator,
    shares: Sequence[float] = SUBSAMPLE_SHARES,
    draws: int = 10,
) -> float:
    """The limit of a distance for infinitely many vectors on both sides: the intercept of its line in 1/N.

    Both sides are subsampled to each of the `shares`, `draws` times (to all vectors once). Raises `TooFewItems` where a
    side has fewer vectors than twice the dimensions.
    """
    available, needed = min(len(generated), len(real)), MIN_VECTORS_PER_DIMENSION * generated.shape[1]
    if available < needed:
        raise TooFewItems(
            "a limit needs {needed} vectors or more on each side, and there are {n}",
            "too-few-for-a-limit",
            n=available,
            needed=needed,
        )
    inverse, values, weights = [], [], []
    for share in shares:
        times = 1 if share == 1 else draws  # the full sample can be drawn only once
        for _ in range(times):
            x, y = (
                rows[rng.permutation(len(rows))[: round(share * len(rows))]] for rows in (generated, real)
            )
            inverse.append(1 / share)
            values.append(distance(x, y))
            weights.append(1 / np.sqrt(times))  # so that each share has the same weight
    _, intercept = np.polyfit(inverse, values, 1, w=weights)
    return float(intercept)
