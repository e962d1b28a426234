"""One procedure for interval and test: exact values, signs, degrees of freedom, and what has no variation."""

import numpy as np
import pytest
from scipy import stats

from turnwise.stats.studentised import (
    LABEL_TEST,
    SIGN_TEST,
    WON_OR_LOST,
    degrees_of,
    independent,
    jackknifed,
    of_interval,
    paired,
)


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


@pytest.mark.parametrize(("won", "tied", "lost"), [(14, 0, 26), (5, 1, 0), (12, 20, 4), (3, 2, 3)])
def test_wins_and_losses_of_one_amount_have_mcnemars_test(won: int, tied: int, lost: int) -> None:
    gaps = np.repeat([0.1, 0.0, -0.1], [won, tied, lost])
    n = len(gaps)
    test = paired(float(gaps.mean()), left_out(gaps), np.full(n, 2.0), unit=1.0)
    chi = (won - lost) ** 2 / (won + lost)
    assert test.method == WON_OR_LOST
    assert test.p == pytest.approx(2 * stats.t.sf(np.sqrt(chi), n - 1))
    exact = stats.binomtest(won, won + lost).pvalue
    assert test.p >= 0.6 * exact
    low, high = test.interval() or (0, 0)
    assert (low < 0 < high) == (test.p > 0.05)


def test_other_differences_and_single_values_keep_the_error_of_the_jackknife() -> None:
    gaps = np.repeat([1.0, 0.0, -2.0], [5, 4, 5])
    assert paired(float(gaps.mean()), left_out(gaps), np.ones(14), unit=1.0).method != WON_OR_LOST
    shares = np.repeat([1.0, 0.0], [9, 1])
    share = jackknifed(0.9, left_out(shares), np.ones(10), unit=0.9)
    assert share.error == pytest.approx(0.1)
    uneven = paired(0.9, left_out(shares), np.arange(1.0, 11.0), unit=0.9)
    assert uneven.error == pytest.approx(0.1)


def test_differences_that_are_all_alike_have_the_sign_test_and_the_interval_that_inverts_it():
    test = paired(5.0, np.full(8, 5.0), np.ones(8), unit=6.0)
    assert (test.interval(), test.method) == ((5.0, 5.0), SIGN_TEST)
    assert test.p == 2 * 0.5**8
    assert test.interval(0.999) is None  # 2 / 256 is above .001
    same = paired(1e-17, np.full(8, 1e-17), np.ones(8), unit=6.0)
    assert (same.p, same.interval()) == (1.0, (0.0, 0.0))
    few = paired(5.0, np.full(5, 5.0), np.ones(5), unit=6.0)  # 2 / 32 is above .05
    assert (few.p, few.interval()) == (2 * 0.5**5, None)
    looks = paired(5.0, np.full(8, 5.0), np.ones(8), unit=6.0, anytime=True)
    assert (looks.p, looks.interval()) == (1.0, None)  # a sign test at every look would err more often
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


@pytest.mark.parametrize(("few", "many", "rate"), [(6, 50, 0.2), (10, 100, 0.1), (12, 12, 0.3)])
def test_few_yes_or_no_values_that_are_all_alike_show_no_difference_to_many(few: int, many: int, rate: float):
    rng = np.random.default_rng(0)
    false = 0
    for _ in range(1000):
        a, b = ((rng.random(n) < rate).astype(float) for n in (few, many))
        without = tuple((one.sum() - one) / (len(one) - 1) for one in (a, b))
        test = independent(
            a.mean() - b.mean(), (without[0], without[1]), (np.ones(few), np.ones(many)), unit=1.0
        )
        false += test.p <= 0.05
    assert false <= 65  # 5 % and two standard errors
