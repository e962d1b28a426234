"""Statistics of numbers that are as large, as small or as close to each other as ratings can be.

Each gives a number, an interval, NaN, None or a refusal; never a warning of a library, which the test run turns into an
error, and never another exception.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.errors import Refused
from turnwise.estimators.calibration import line
from turnwise.meta.disagreements import on_rating_scale
from turnwise.report import plot
from turnwise.report.regression import Dot, draw, fit_with_band
from turnwise.stats import correlation, interval, permutation, power, ppi, resample, studentised
from turnwise.stats.pairs import effect, pairwise
from turnwise.types import LARGEST, Floats

numbers = st.one_of(
    st.floats(-LARGEST, LARGEST),
    st.integers(1, 5).map(float),
    st.sampled_from(
        [0.0, -0.0, 5e-324, -5e-324, 1e-323, 1e-300, 1e-162, LARGEST, -LARGEST, 1.0, 1.0 + 2**-52, 1e16]
    ),
)
DRAWS = 40


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Two columns of equal length."""
    n = draw(st.integers(0, 12))
    kinds = st.one_of(
        st.lists(numbers, min_size=n, max_size=n), numbers.map(lambda one: [one] * n), _close(n)
    )
    return np.array(draw(kinds), dtype=np.float64), np.array(draw(kinds), dtype=np.float64)


def _close(n: int) -> st.SearchStrategy[list[float]]:
    """Numbers that differ in their last digits."""
    return st.tuples(numbers, st.lists(st.integers(0, 3), min_size=n, max_size=n)).map(
        lambda drawn: [drawn[0] * (1 + step * 2**-52) for step in drawn[1]]
    )


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def sums(x: Floats) -> Floats:
    """Cluster sums of a mean, one cluster a number."""
    return np.stack([x, np.ones_like(x)], axis=1)


def mean(found: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return found[..., 0] / found[..., 1]


def sample(x: Floats, y: Floats) -> ppi.Sample:
    """Scores and ratings of one agent, every second item rated."""
    ratings = np.where(np.arange(len(y)) % 2 == 0, y, np.nan)
    return ppi.Sample(x, ratings, np.ones(len(x)), np.arange(len(x)), len(x))


STATISTICS: dict[str, Callable[[Floats, Floats], Any]] = {
    "pearson": correlation.pearson,
    "spearman": correlation.spearman,
    "kendall": correlation.kendall,
    "pairwise": pairwise.pairwise_accuracy,
    "calibrated": correlation.calibrated_accuracy,
    "effect": lambda x, y: effect.cohen_dz(x - y),
    "superiority": lambda x, y: effect.superiority(x - y),
    "percentile": lambda x, y: interval.percentile(x, n_clusters=len(y)),
    "bca": lambda x, y: interval.bca(float(x[0]), x, y) if len(x) else None,
    "mean t": lambda x, y: interval.mean_t_interval(x),
    "jackknife t": lambda x, y: interval.jackknife_t(float(x[0]), y) if len(x) else None,
    "paired t": lambda x, y: (
        studentised.paired(0.0, x, np.ones(len(x)), unit=1.0).interval() if len(x) > 1 else None
    ),
    "welch": lambda x, y: (
        studentised.independent(0.0, (x, y), (np.ones(len(x)), np.ones(len(y))), unit=1.0).interval()
        if len(x) > 1
        else None
    ),
    "of sums": lambda x, y: interval.interval_of_sums(sums(x), mean, draws=DRAWS, rng=rng(), bounds=None),
    "of correlation": lambda x, y: interval.interval_of_correlation(
        "pearson", x, y, np.arange(len(x)), len(x), draws=DRAWS, rng=rng()
    ),
    "resampled": lambda x, y: (
        resample.resampled_correlation("kendall", x, y, np.arange(len(x)), len(x), draws=DRAWS, rng=rng())
        if len(x) > 1
        else None
    ),
    "paired test": lambda x, y: (
        permutation.paired_test(sums(x), sums(y), mean, draws=DRAWS, rng=rng()) if len(x) else None
    ),
    "correlation test": lambda x, y: (
        permutation.correlation_test("pearson", x, y, np.arange(len(x)), len(x), draws=DRAWS, rng=rng())
        if len(x)
        else None
    ),
    "detectable": lambda x, y: power.minimum_detectable_difference(x - y),
    "components": lambda x, y: (
        power.components(x, np.arange(len(x)), np.arange(len(x)) // 2) if len(x) > 2 else None
    ),
    "corrected mean": lambda x, y: ppi.corrected_mean(sample(np.tile(x, 4), np.tile(y, 4))) if len(x) > 5 else None,
    "calibration": lambda x, y: line(x, y),
    "on the scale": lambda x, y: on_rating_scale(x, y, (1.0, 5.0)),
    "band": fit_with_band,
}  # fmt: skip


@pytest.mark.parametrize("name", STATISTICS)
@settings(max_examples=60)
@given(columns=pairs())
def test_a_statistic_of_extreme_numbers_is_a_number_or_none(
    name: str, columns: tuple[Floats, Floats]
) -> None:
    try:
        STATISTICS[name](*columns)
    except Refused as error:
        assert str(error)  # noqa: PT017  # either way is allowed


@settings(max_examples=100)
@given(st.lists(st.floats() | numbers, max_size=9), st.lists(st.floats() | numbers, min_size=9, max_size=9))
def test_any_numbers_can_be_drawn(xs: list[float], ys: list[float]) -> None:
    low, high = plot.padded_range(xs)
    assert low < high
    assert math.isfinite(high - low)
    known = [(x, y) for x, y in zip(xs, ys, strict=False) if math.isfinite(x) and math.isfinite(y)]
    picture = draw([Dot("a", x, y, (y, y)) for x, y in known], title="any")
    assert "nan" not in picture
    assert "inf" not in picture
