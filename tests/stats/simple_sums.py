"""Cluster sums of a mean, and a seeded generator, for the tests of intervals and permutation tests."""

import numpy as np

from turnwise.types import Floats


def mean(sums: Floats) -> Floats:
    """The mean from sums of (value, count)."""
    return np.divide(sums[..., 0], sums[..., 1])


def of_values(values: Floats) -> Floats:
    """Sums of (value, count) for clusters of one item each."""
    return np.stack([values, np.ones(len(values))], axis=1)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)
