"""One procedure for interval and test: exact values, signs, degrees of freedom, and what has no variation."""

import numpy as np
import pytest
from scipy import stats

from turnwise.stats.studentised import LABEL_TEST, SIGN_TEST, degrees_of, independent, of_interval, paired


def left_out(values: np.ndarray) -> np.ndarray:
    return (values.sum() - values) / (len(values) - 1)


def test_the_test_of_equal_clusters_is_the_paired_t_test():
    gaps = np.random.default_rng(0).normal(0.4, 1, 15)
    test = paired(float(gaps.mean()), left_out(gaps), np.full(15, 3.0), unit=1.0)
    peer = stats.ttest_1samp(gaps, 0)
    assert test.p == pytest.approx(peer.pvalue)
    assert test.interval() == pytest.approx(tuple(peer.confidence_interval()))
    assert test.interval(0.99) == pytest.approx(tuple(peer.confidence_interval(0.99)))


def test_the_test_of_two_samples_is_that_of_welch():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 9), rng.normal(1, 3, 14)
    test = independent(
        float(a.mean() - b.mean()), (left_out(a), left_out(b)), (np.ones(9), np.ones(14)), unit=1.0
    )
    peer = stats.ttest_ind(a, b, equal_var=False)
    assert test.p == pytest.approx(peer.pvalue)
    assert test.interval() == pytest.approx(tuple(peer.confidence_interval()))
    other = independent(
        float(b.mean() - a.mean()), (left_out(b), left_out(a)), (np.ones(14), np.ones(9)), unit=1.0
    )
    assert other.interval() == tuple(-end for end in (test.interval() or ())[::-1])


def test_clusters_of_different_sizes_have_fewer_degrees_of_freedom():
    assert degrees_of(np.ones(12)) == pytest.approx(11)
    assert degrees_of(np.array([1.0, 1.0, 10.0])) == 1.0
    # 1 + 2 + 3 is 6, and 1 + 4 + 9 is 14: 36 / 14 clusters.
    assert degrees_of(np.array([3.0, 3.0, 3.0, 3.0, 6.0])) == pytest.approx(18**2 / 72 - 1)
    assert degrees_of(np.array([1.0, 2.0, 3.0, 0.0])) == pytest.approx(36 / 14 - 1)


def test_differences_that_are_all_alike_have_no_interval_and_the_p_of_the_sign_test():
    test = paired(5.0, np.full(8, 5.0), np.ones(8), unit=6.0)
    assert (test.interval(), test.method) == (None, SIGN_TEST)
    assert test.p == 2 * 0.5**8
    assert paired(1e-17, np.full(8, 1e-17), np.ones(8), unit=6.0).p == 1.0
    labels = independent(5.0, (np.full(4, 6.0), np.full(3, 1.0)), (np.ones(4), np.ones(3)), unit=6.0)
    assert (labels.p, labels.method) == (2 / 35, LABEL_TEST)  # 35 ways to choose 4 of 7


def test_one_cluster_and_a_value_that_is_not_defined_give_no_p():
    assert np.isnan(paired(1.0, np.array([1.0]), np.ones(1), unit=1.0).p)
    broken = paired(1.0, np.array([1.0, np.nan, 2.0]), np.ones(3), unit=1.0)
    assert np.isnan(broken.p)
    assert broken.interval() is None


def test_a_standard_error_is_recovered_from_an_interval():
    gaps = np.random.default_rng(3).normal(0.4, 1, 15)
    test = paired(float(gaps.mean()), left_out(gaps), np.ones(15), unit=1.0)
    again = of_interval(test.estimate, test.interval() or (0, 0), test.degrees, "t")
    assert (again.error, again.p) == (pytest.approx(test.error), pytest.approx(test.p))
