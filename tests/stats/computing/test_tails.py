"""The normal and Student's t distribution: the values of scipy, and no import of it."""

import math

import pytest
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from turnwise.stats.computing.tails import normal_cdf, normal_quantile, t_cdf, t_quantile

FREEDOM = (0.3, 0.5, 1, 1.5, 2, 3, 4.7, 9, 19, 29.3, 49, 99, 333.3, 999, 2999, 3000, 1e5, 1e8)
TAILS = (1e-12, 1e-9, 1e-6, 1e-4, 0.001, 0.01, 0.025, 0.05, 0.2, 0.4, 0.499, 0.5)


@pytest.mark.parametrize("df", FREEDOM)
def test_quantiles_of_t_are_those_of_scipy(df: float) -> None:
    for tail in TAILS:
        assert t_quantile(df, tail) == pytest.approx(float(stdtrit(df, tail)), rel=2e-13, abs=1e-15)
        assert t_quantile(df, 1 - tail) == pytest.approx(float(stdtrit(df, 1 - tail)), rel=2e-13, abs=1e-15)


@pytest.mark.parametrize("df", FREEDOM)
def test_shares_below_are_those_of_scipy(df: float) -> None:
    for x in (0.0, 0.01, 0.1, 0.5, 1, 1.7, 2, 3, 6, 20, 1e5):
        assert t_cdf(df, -x) == pytest.approx(float(stdtr(df, -x)), rel=2e-13)
        assert t_cdf(df, x) == pytest.approx(float(stdtr(df, x)), rel=1e-14)


def test_the_normal_distribution_is_that_of_scipy() -> None:
    for tail in TAILS:
        assert normal_quantile(tail) == pytest.approx(float(ndtri(tail)), rel=1e-14, abs=1e-15)
    for x in (-9.0, -3.0, -1.96, -0.1, 0.0, 0.1, 1.96, 9.0):
        assert normal_cdf(x) == pytest.approx(float(ndtr(x)), rel=2e-14)


def test_the_ends_and_what_has_no_answer() -> None:
    assert (t_quantile(5, 0.0), t_quantile(5, 1.0)) == (-math.inf, math.inf)
    assert (normal_quantile(0.0), normal_quantile(1.0)) == (-math.inf, math.inf)
    assert (t_cdf(5, -math.inf), t_cdf(5, math.inf)) == (0.0, 1.0)
    assert t_cdf(5, -1e300) == 0.0
    assert t_quantile(1, 1e-100) == pytest.approx(-1 / (math.pi * 1e-100))
    assert math.isinf(t_quantile(1, 5e-324))
    for value in (t_quantile(0, 0.5), t_quantile(5, 1.5), t_quantile(5, math.nan), t_cdf(math.nan, 1.0)):
        assert math.isnan(value)
    assert math.isnan(t_cdf(5, math.nan))
    assert math.isnan(normal_quantile(-0.1))
