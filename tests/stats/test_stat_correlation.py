import numpy as np
import pytest

from turnwise.stats.clusters import MAX_CLUSTERS, cluster_sums, codes, group_clusters
from turnwise.stats.correlation import STATISTICS, kendall, pearson, row_correlations
from turnwise.stats.pairs.pairwise import pairwise_accuracy, tie_calibration
from turnwise.stats.weighted import weighted_correlation

ALL = {**STATISTICS, "pairwise at 0": pairwise_accuracy}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("values", [[], [1.0]])
def test_fewer_than_two_points_have_no_correlation(name, values) -> None:
    assert np.isnan(ALL[name](np.array(values), np.array(values)))


@pytest.mark.parametrize("name", ALL)
def test_a_nan_makes_the_correlation_nan(name) -> None:
    assert np.isnan(ALL[name](np.array([1.0, np.nan, 3.0]), np.array([1.0, 2.0, 3.0])))
    assert np.isnan(ALL[name](np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, np.nan])))


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall"])
def test_a_constant_side_has_no_correlation(name) -> None:
    assert np.isnan(ALL[name](np.full(5, 0.1), np.arange(5.0)))
    assert np.isnan(ALL[name](np.arange(5.0), np.full(5, 0.1)))


@pytest.mark.parametrize("name", ALL)
def test_unequal_lengths_are_refused(name) -> None:
    with pytest.raises(ValueError, match=r"got \(3,\) and \(2,\)"):
        ALL[name](np.arange(3.0), np.arange(2.0))


def test_a_constant_metric_has_the_share_of_ties_as_its_accuracy() -> None:
    assert pairwise_accuracy(np.zeros(4), np.array([1.0, 1.0, 2.0, 3.0])) == 1 / 6


def test_tie_calibration_finds_the_largest_difference_that_people_rate_as_a_tie() -> None:
    # People tie the first two, which the metric sets .3 apart; every ordered pair is 1 apart or more.
    x, y = np.array([0.0, 0.3, 1.3, 2.3]), np.array([1.0, 1.0, 2.0, 3.0])
    assert tie_calibration(x, y) == pytest.approx(0.3)
    assert STATISTICS["pairwise"](x, y) == 1.0
    assert pairwise_accuracy(x, y) == 5 / 6


def test_a_side_of_infinities_is_constant_too() -> None:
    for name in ("pearson", "spearman", "kendall"):
        assert np.isnan(ALL[name](np.full(3, -np.inf), np.arange(3.0)))


def test_pearson_is_exact_for_very_large_and_very_small_numbers() -> None:
    x = np.array([1.0, 2.0, 4.0])
    assert pearson(1e9 + x, x) == pytest.approx(1.0, abs=1e-12)
    assert pearson(1e-300 * x, x) == pytest.approx(1.0, abs=1e-12)
    assert pearson(1e200 * x, x) == pytest.approx(1.0, abs=1e-12)
    assert weighted_correlation("pearson", 1e200 * x, 1e9 + x, np.arange(3), 3)(
        np.ones((1, 3))
    ) == pytest.approx([1.0])


def test_only_rows_with_a_nan_or_a_constant_side_are_nan() -> None:
    x = np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0], [2.0, 2.0, 2.0]])
    y = np.tile([1.0, 2.0, 4.0], (3, 1))
    for name in ("pearson", "spearman", "kendall"):
        assert np.isnan(row_correlations(name, x, y)).tolist() == [False, True, True]
    assert row_correlations("pairwise", x, y) == pytest.approx([1.0, np.nan, 0.0], nan_ok=True)


def test_an_unknown_statistic_is_refused_with_the_list() -> None:
    with pytest.raises(ValueError, match="pearson, spearman, kendall, tau-c, pairwise"):
        row_correlations("spaerman", np.zeros((1, 2)), np.zeros((1, 2)))


def test_codes_count_labels_in_order_of_first_appearance() -> None:
    coded, n = codes(["b", "a", "b", "c"])
    assert coded.tolist() == [0, 1, 0, 2]
    assert n == 3


def test_cluster_sums_add_by_cluster_and_leave_empty_ones_at_zero() -> None:
    sums = cluster_sums(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([2, 0, 2]), 4)
    assert sums.tolist() == [[3, 4], [0, 0], [6, 8], [0, 0]]
    with pytest.raises(ValueError, match="3 values but 2 cluster codes"):
        cluster_sums(np.ones(3), np.zeros(2, dtype=np.int64), 1)


def test_more_clusters_than_the_maximum_are_merged_into_groups() -> None:
    coded, n = group_clusters(np.arange(3000), 3000)
    assert n == MAX_CLUSTERS
    assert set(np.bincount(coded)) == {2, 3}
    assert group_clusters(np.arange(10), 10)[1] == 10


def test_a_resample_without_variation_has_no_correlation() -> None:
    x, y = np.array([0.1, 0.1, 0.7]), np.array([1.0, 2.0, 3.0])
    only_first_two = np.array([[1.0, 1.0, 0.0]])
    for name in ("pearson", "spearman", "kendall"):
        assert np.isnan(weighted_correlation(name, x, y, np.arange(3), 3)(only_first_two))


def test_kendall_of_two_items_is_defined() -> None:
    assert kendall(np.array([1.0, 2.0]), np.array([5.0, 3.0])) == -1.0
