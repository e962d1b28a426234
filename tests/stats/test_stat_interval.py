import numpy as np
import pytest
from scipy import stats

from tests.stats.simple_sums import mean, of_values, rng
from turnwise.stats.interval import (
    bca,
    interval_of_correlation,
    interval_of_rows,
    interval_of_sums,
    mean_t_interval,
    percentile,
    wilson,
)


def test_percentile_takes_the_middle_of_the_draws() -> None:
    assert percentile(np.arange(1, 1000) / 1000, 0.9) == pytest.approx((0.05, 0.95))


def test_few_clusters_widen_an_interval_and_many_do_not() -> None:
    draws = np.random.default_rng(1).normal(size=20_000)
    plain = percentile(draws)
    few, many = percentile(draws, n_clusters=10), percentile(draws, n_clusters=10**6)
    # t with 9 degrees of freedom at 2.262, times sqrt(10/9): 2.384 standard deviations
    assert few == pytest.approx((-2.384, 2.384), abs=0.1)
    assert many == pytest.approx(plain, abs=1e-3)


def test_bca_without_bias_or_skewness_is_the_widened_percentile() -> None:
    draws = np.arange(-499.0, 500.0)
    jackknife = np.array([-1.0, 1.0] * 20)
    assert bca(0.0, draws, jackknife) == pytest.approx(percentile(draws, n_clusters=40), abs=1e-9)


def test_bca_equals_scipy_for_a_skewed_mean_of_many_items() -> None:
    values = np.random.default_rng(3).lognormal(size=3000)
    ours, method = interval_of_sums(of_values(values), mean, draws=4000, rng=rng(), bounds=None)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="BCa", rng=rng()
    ).confidence_interval
    assert method == "BCa bootstrap by cluster, 4000 draws"
    width = theirs.high - theirs.low
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.05 * width)


def test_bca_falls_back_to_percentile_where_acceleration_is_undefined() -> None:
    draws = np.linspace(0, 1, 999)
    assert bca(0.4, draws, np.full(30, 0.4)) == percentile(draws, n_clusters=30)
    assert bca(0.4, draws, np.full(30, np.nan)) == percentile(draws, n_clusters=30)
    assert bca(-5.0, draws, np.arange(30.0)) == percentile(draws, n_clusters=30)


def test_bca_moves_against_the_bias_of_the_draws() -> None:
    draws, jackknife = np.linspace(0, 1, 999), np.array([-1.0, 1.0] * 20)
    low, high = bca(0.6, draws, jackknife)
    plain = percentile(draws, n_clusters=40)
    assert low > plain[0]
    assert high > plain[1]


def test_bca_counts_draws_that_equal_the_estimate_but_for_rounding_as_equal() -> None:
    draws = np.concatenate([np.linspace(0, 1, 900), np.full(100, 0.5)])
    jackknife = np.array([-1.0, 1.0] * 20)
    expected = bca(0.5, draws, jackknife)
    assert bca(0.5 + 1e-15, draws, jackknife) == expected
    assert bca(0.5 - 1e-15, draws, jackknife) == expected


def test_t_equals_scipy() -> None:
    values = np.random.default_rng(0).normal(size=12)
    expected = stats.t.interval(0.9, 11, values.mean(), stats.sem(values))
    assert mean_t_interval(values, 0.9) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(0, 50), (3, 20), (20, 20), (480, 500)])
def test_wilson_equals_scipy(successes, n) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")
    assert wilson(successes, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 1.0, 0.96, 0.04])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_share_near_a_bound_gets_wilsons_interval_in_its_own_unit(share, scale) -> None:
    values = scale * (np.arange(50) < share * 50)
    found, method = interval_of_sums(of_values(values), mean, draws=500, rng=rng(), bounds=(0.0, scale))
    expected = wilson(share * 50, 50)
    assert method == "Wilson by cluster"
    assert found == pytest.approx((scale * expected[0], scale * expected[1]))


def test_a_cluster_without_items_does_not_count_as_a_trial() -> None:
    empty = np.concatenate([of_values(np.zeros(40)), np.zeros((10, 2))])
    found, method = interval_of_sums(empty, mean, draws=99, rng=rng())
    assert method == "Wilson by cluster"
    assert found == wilson(0, 40)


def test_a_share_in_the_middle_gets_bca() -> None:
    found, method = interval_of_sums(of_values(np.arange(50) % 2.0), mean, draws=500, rng=rng())
    assert method.startswith("BCa")
    assert found[0] < 0.5 < found[1]


def test_no_variation_is_no_interval_with_the_reason() -> None:
    assert interval_of_sums(of_values(np.full(30, 0.1)), mean, draws=200, rng=rng()) == (
        None,
        "none: no variation",
    )
    zeros = of_values(np.zeros(30))
    assert interval_of_sums(zeros, mean, draws=200, rng=rng(), bounds=None) == (None, "none: no variation")
    assert interval_of_rows(lambda rows: 3.0, np.arange(30), 30, draws=50, rng=rng())[0] is None


def test_one_cluster_is_no_interval_with_the_reason() -> None:
    few = (None, "none: fewer than 2 clusters")
    one = np.zeros(5, dtype=np.int64)
    assert interval_of_sums(of_values(np.ones(1)), mean, draws=99, rng=rng()) == few
    assert (
        interval_of_correlation("pearson", np.arange(5.0), np.arange(5.0), one, 1, draws=99, rng=rng()) == few
    )
    assert interval_of_rows(lambda rows: 1.0, one, 1, draws=99, rng=rng()) == few
    assert mean_t_interval(np.ones(1)) is None
    assert percentile(np.arange(9.0), n_clusters=1) is None


def test_a_statistic_undefined_in_most_draws_has_no_interval() -> None:
    codes = np.arange(10)
    found, method = interval_of_correlation(
        "pearson", np.ones(10), codes * 1.0, codes, 10, draws=99, rng=rng()
    )
    assert found is None
    assert method == "none: undefined in most draws"
    assert percentile(np.full(99, np.nan)) is None
    assert percentile(np.append(np.arange(40.0), np.full(60, np.nan))) is None


def test_undefined_draws_are_left_out_not_counted_as_zero() -> None:
    draws = np.append(np.linspace(1, 2, 999), np.full(300, np.nan))
    assert percentile(draws) == percentile(draws[:999])


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.random.default_rng(8).normal(size=40)
    first, second = (interval_of_sums(of_values(values), mean, draws=300, rng=rng()) for _ in range(2))
    assert first == second


def test_bca_reaches_further_towards_the_long_tail() -> None:
    # The mean of skewed values is itself skewed: an honest interval reaches further up than down.
    values = np.random.default_rng(2).exponential(size=60) ** 2
    sums = of_values(values)
    found, method = interval_of_sums(sums, mean, draws=4000, rng=rng(), bounds=None)
    assert found is not None
    assert method.startswith("BCa")
    estimate = values.mean()
    plain = np.std(values, ddof=1) / np.sqrt(60) * 1.96
    assert found[1] - estimate > 1.15 * (estimate - found[0])
    assert found[1] > estimate + plain
