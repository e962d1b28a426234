"""Numbers whose squares or cubes are below the smallest float, and cluster counts at which scipy has no value."""

import math

import numpy as np
import pytest

from turnwise.stats.interval import bca
from turnwise.stats.pairs.effect import cohen_dz
from turnwise.stats.permutation import perm_both
from turnwise.stats.power import minimum_detectable_difference

SMALL = 2.0**-700  # about 1.9e-211, a power of two: numbers times it keep all their digits


def test_the_acceleration_does_not_depend_on_the_unit() -> None:
    rng = np.random.default_rng(1)
    draws, left_out = rng.exponential(size=400), rng.exponential(size=30)
    low, high = bca(0.7, draws, left_out) or (math.nan, math.nan)
    assert bca(0.7 * SMALL, SMALL * draws, SMALL * left_out) == pytest.approx(
        (SMALL * low, SMALL * high), rel=1e-9
    )


def test_an_effect_of_differences_without_a_measurable_spread_is_undefined() -> None:
    assert math.isnan(cohen_dz(np.array([1e-200, 2e-200])))
    assert cohen_dz(np.array([1.0, 3.0])) == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("n", [2, 3, 9, 16, 17, 18, 19, 100])
def test_every_number_of_clusters_has_a_detectable_difference(n: int) -> None:
    """scipy's noncentral t has no value far from 0 with 8, 15, 16 and 17 degrees of freedom."""
    rng = np.random.default_rng(n)
    found = minimum_detectable_difference(rng.normal(size=n))
    assert 0 < found < 30


def test_a_metric_of_tiny_scores_is_tested_as_one_of_larger_scores() -> None:
    rng = np.random.default_rng(2)
    people, other = rng.normal(size=30), rng.normal(size=30)
    tests = [
        perm_both(
            unit * (people + other),
            other,
            people,
            np.arange(30),
            30,
            "pearson",
            draws=99,
            rng=np.random.default_rng(0),
        )
        for unit in (1.0, SMALL)
    ]
    assert tests[1].p == tests[0].p
