"""What must hold of p-values and their adjustment whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from turnwise.stats.permutation import benjamini_hochberg, paired_test, perm_both, system_correlation_test
from turnwise.types import Floats

P = st.one_of(st.floats(0, 1), st.just(float("nan")))


def total(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0])


@given(arrays(np.float64, st.integers(1, 40), elements=P))
def test_adjusted_p_keeps_the_order_and_is_never_smaller(p) -> None:
    adjusted = benjamini_hochberg(p)
    tested = ~np.isnan(p)
    assert np.array_equal(np.isnan(adjusted), ~tested)
    assert (adjusted[tested] >= p[tested]).all()
    assert (adjusted[tested] <= 1).all()
    assert (np.diff(adjusted[tested][np.argsort(p[tested])]) >= 0).all()


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)))
def test_adjusted_p_equals_scipy(p) -> None:
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p), abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.sampled_from([50, 200]))
@settings(max_examples=50)
def test_p_is_above_zero_at_most_one_and_symmetric_in_the_systems(seed, n_clusters, draws) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, n_clusters, 1))
    one = paired_test(a, b, total, draws=draws, rng=np.random.default_rng(seed))
    other = paired_test(b, a, total, draws=draws, rng=np.random.default_rng(seed))
    assert 0 < one.p <= 1
    assert one.p == other.p
    assert one.difference == -other.difference


def test_p_is_uniform_where_two_systems_do_not_differ() -> None:
    rng = np.random.default_rng(12)
    found = [paired_test(*rng.normal(size=(2, 25, 1)), total, draws=199, rng=rng).p for _ in range(600)]
    assert stats.kstest(found, "uniform").pvalue > 1e-4


def test_p_is_uniform_where_two_metrics_do_not_differ() -> None:
    rng = np.random.default_rng(13)
    codes, found = np.arange(60) // 3, []
    for _ in range(400):
        y, one, two = rng.normal(size=(3, 20))[:, codes] + rng.normal(size=(3, 60))
        found.append(perm_both(one + y, two + y, y, codes, 20, "kendall", draws=199, rng=rng).p)
    assert stats.kstest(found, "uniform").pvalue > 1e-4


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
@settings(max_examples=50)
def test_p_is_at_least_the_share_of_orders_equal_to_the_observed_one(seed, n_systems) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n_systems))
    p = system_correlation_test("spearman", x, y, draws=1, rng=rng)
    orders = float(np.prod(np.arange(1, n_systems + 1)))
    assert p * orders == pytest.approx(round(p * orders))
    assert 1 / orders <= p <= 1
