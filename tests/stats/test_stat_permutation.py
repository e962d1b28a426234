from itertools import product

import numpy as np
import pytest
from scipy import stats

from tests.stats.simple_sums import mean, of_values, rng
from turnwise.stats.correlation import STATISTICS
from turnwise.stats.permutation import (
    correlation_test,
    paired_test,
    paired_test_rows,
    perm_both,
    perm_both_systems,
    system_correlation_test,
    williams,
)


def test_few_clusters_are_swapped_in_all_ways() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 8))
    signs = np.array(list(product([1, -1], repeat=8)))
    exact = np.mean(np.abs(signs @ (a - b)) >= abs(np.sum(a - b)) - 1e-12)
    found = paired_test(of_values(a), of_values(b), mean, draws=256, rng=rng())
    assert found.p == exact
    assert found.difference == pytest.approx(np.mean(a - b))


def test_sampled_swaps_approximate_the_exact_p() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 12)) + np.array([[0.5], [0.0]])
    exact = paired_test(of_values(a), of_values(b), mean, draws=5000, rng=rng()).p
    sampled = paired_test(of_values(a), of_values(b), mean, draws=4000, rng=rng()).p
    assert sampled == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4000))


def test_p_is_never_zero_however_clear_the_difference() -> None:
    a = np.random.default_rng(0).normal(size=60)
    assert paired_test(of_values(a + 9), of_values(a), mean, draws=99, rng=rng()).p == 1 / 100


def test_two_equal_systems_have_p_one() -> None:
    a = np.random.default_rng(0).normal(size=60)
    assert paired_test(of_values(a), of_values(a), mean, draws=99, rng=rng()) == (0.0, 1.0)


def test_systems_of_different_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3, 2\) and \(4, 2\)"):
        paired_test(np.ones((3, 2)), np.ones((4, 2)), mean, draws=9, rng=rng())


def test_an_undefined_difference_has_no_p() -> None:
    found = paired_test(
        np.ones((3, 1)), np.ones((3, 1)), lambda sums: np.full(len(sums), np.nan), draws=9, rng=rng()
    )
    assert np.isnan(found.p)
    assert np.isnan(found.difference)


def test_a_test_of_rows_equals_the_test_of_sums() -> None:
    codes = np.repeat(np.arange(20), 2)
    a, b = np.random.default_rng(6).normal(size=(2, 40))
    values = np.concatenate([a, b])
    sums = [np.stack([np.bincount(codes, side), np.bincount(codes)], axis=1) for side in (a, b)]
    by_sums = paired_test(*sums, mean, draws=200, rng=rng())
    by_rows = paired_test_rows(
        lambda rows: float(values[rows].mean()),
        np.repeat([False, True], 40),
        np.tile(codes, 2),
        20,
        draws=200,
        rng=rng(),
    )
    assert by_rows == pytest.approx(by_sums)


@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_perm_both_reports_the_difference_of_the_two_plain_correlations(statistic) -> None:
    generator = np.random.default_rng(2)
    y = np.round(2 * generator.normal(size=80))
    one, two = y + generator.normal(size=80), 5 * (y + 3 * generator.normal(size=80))
    found = perm_both(one, two, y, np.arange(80) // 2, 40, statistic, draws=299, rng=rng())
    plain = STATISTICS[statistic](one, y) - STATISTICS[statistic](two, y)
    assert found.difference == pytest.approx(plain, abs=1e-9)
    assert found.p == 1 / 300


@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_perm_both_by_weights_equals_swapping_scores_by_hand(statistic) -> None:
    generator = np.random.default_rng(3)
    y = np.round(generator.normal(size=12))
    one, two = y + generator.normal(size=(2, 12))
    codes = np.arange(12) // 2
    found = perm_both(one, np.exp(two), y, codes, 6, statistic, draws=64, rng=rng())
    if statistic == "pairwise":  # no plain counterpart: each metric brings its own threshold to mixed pairs
        assert 0 < found.p <= 1
        return
    shape = stats.zscore if statistic == "pearson" else stats.rankdata
    one, two = shape(one), shape(np.exp(two))
    differences = []
    for stays in product([True, False], repeat=6):
        kept = np.array(stays)[codes]
        first, second = np.where(kept, one, two), np.where(kept, two, one)
        differences.append(STATISTICS[statistic](first, y) - STATISTICS[statistic](second, y))
    assert found.p == np.mean(np.abs(differences) >= abs(differences[0]) - 1e-9)


def test_perm_both_across_systems_equals_perm_both_with_a_cluster_a_system() -> None:
    y, one, two = np.random.default_rng(4).normal(size=(3, 9))
    one, two = one + y, two + y
    across_systems = perm_both_systems(one, two, y, "kendall", draws=512, rng=rng())
    over = perm_both(one, two, y, np.arange(9), 9, "kendall", draws=512, rng=rng())
    assert across_systems == pytest.approx(over)


def test_a_constant_metric_has_no_difference_to_test() -> None:
    y = np.arange(10.0)
    assert np.isnan(perm_both(np.ones(10), y, y, np.arange(10), 10, "pearson", draws=9, rng=rng()).p)


def test_williams_on_a_worked_example() -> None:
    # r12 .5, r13 .3, r23 .6, n 43: |R| = 1 - .25 - .09 - .36 + .18 = .48; mean r = .4;
    # t = .2 * sqrt(42 * 1.6 / (2 * .48 * 42/40 + .16 * .064)) = .2 * sqrt(67.2 / 1.01824) = 1.624757, 40 df
    assert williams(0.5, 0.3, 0.6, 43) == pytest.approx(2 * stats.t.sf(1.624757, 40), abs=1e-6)
    assert williams(0.3, 0.5, 0.6, 43) == pytest.approx(williams(0.5, 0.3, 0.6, 43))


def test_williams_needs_four_items_and_defined_correlations() -> None:
    assert np.isnan(williams(0.5, 0.3, 0.6, 3))
    assert np.isnan(williams(float("nan"), 0.3, 0.6, 30))


@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_a_clear_correlation_is_found_and_repeated_turns_do_not_make_it_clearer(statistic) -> None:
    generator = np.random.default_rng(5)
    x = generator.normal(size=40)
    y = x + 2.5 * generator.normal(size=40)
    codes = np.arange(40)
    once = correlation_test(statistic, x, y, codes, 40, draws=999, rng=rng())
    again = (np.repeat(x, 3), np.repeat(y, 3), np.repeat(codes, 3), 40)
    thrice = correlation_test(statistic, *again, draws=999, rng=rng())
    assert once < 0.05
    assert thrice == pytest.approx(once, abs=0.01)


def test_one_outlier_is_not_significant() -> None:
    # Ratings and lengths are independent but for one long reply, which alone makes a correlation of .5.
    generator = np.random.default_rng(6)
    x, y = generator.normal(size=(2, 60))
    x[0], y[0] = 40.0, 3.0
    assert np.corrcoef(x, y)[0, 1] > 0.3
    assert correlation_test("pearson", x, y, np.arange(60), 60, draws=999, rng=rng()) > 0.2


def test_an_undefined_correlation_or_too_few_clusters_have_no_p() -> None:
    x, codes = np.arange(10.0), np.arange(10)
    settings = {"draws": 99, "rng": rng()}
    assert np.isnan(correlation_test("pearson", x, np.ones(10), codes, 10, **settings))
    assert np.isnan(correlation_test("pearson", x, -x + x % 2, np.zeros(10, dtype=int), 1, **settings))
    assert correlation_test("pearson", x, x, codes, 10, **settings) < 0.05


def test_four_systems_in_perfect_order_agree_by_chance_twice_in_24() -> None:
    x = np.arange(4.0)
    assert system_correlation_test("kendall", x, x, draws=10, rng=rng()) == 2 / 24
    assert system_correlation_test("pairwise", x, x, draws=10, rng=rng()) == 2 / 24


def test_many_systems_are_permuted_at_random_and_p_is_never_zero() -> None:
    x = np.arange(20.0)
    assert system_correlation_test("spearman", x, x, draws=99, rng=rng()) == 1 / 100
    assert np.isnan(system_correlation_test("spearman", x, np.ones(20), draws=99, rng=rng()))
