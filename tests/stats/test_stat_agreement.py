import numpy as np
import pytest

from turnwise.stats.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    leave_one_out_correlation,
    pairwise_median,
)
from turnwise.stats.correlation import pearson

NAN = float("nan")


def test_cohen_kappa_on_a_worked_example() -> None:
    # 6 of 10 agree; both use category 1 six times, so chance is .36 + .16 = .52; kappa = .08 / .48
    a = np.array([1, 1, 1, 1, 1, 1, 2, 2, 2, 2])
    b = np.array([1, 1, 1, 1, 2, 2, 1, 2, 2, 1])
    assert cohen_kappa(a, b) == pytest.approx(0.08 / 0.48)


def test_one_category_has_no_kappa_and_no_alpha() -> None:
    assert np.isnan(cohen_kappa(np.ones(5), np.ones(5)))
    assert np.isnan(fleiss_kappa(np.array([[3, 0], [3, 0]])))
    assert np.isnan(krippendorff_alpha(np.ones((3, 4))))
    assert np.isnan(krippendorff_alpha(np.ones((3, 4)), "ordinal"))
    assert np.isnan(cohen_kappa(np.array([]), np.array([])))


def test_ratings_off_the_scale_are_refused() -> None:
    with pytest.raises(ValueError, match=r"outside the categories: \[7\]"):
        cohen_kappa(np.array([1, 7]), np.array([1, 2]), categories=np.arange(1, 6))
    with pytest.raises(ValueError, match="equal length"):
        cohen_kappa(np.array([1, 2]), np.array([1]))


def test_fleiss_kappa_on_a_worked_example() -> None:
    # Three raters, four items. Agreement of items: 1, 1/3, 1, 1/3, mean 2/3. Both categories have 6 of 12:
    # chance 1/2. kappa = (2/3 - 1/2) / (1/2) = 1/3.
    assert fleiss_kappa(np.array([[3, 0], [2, 1], [0, 3], [1, 2]])) == pytest.approx(1 / 3, abs=1e-12)
    assert fleiss_kappa(np.array([[3, 0], [2, 1], [0, 3], [1, 2], [1, 0]])) == pytest.approx(1 / 3, abs=1e-12)
    assert np.isnan(fleiss_kappa(np.array([[1, 0], [0, 1]])))


def test_krippendorff_alpha_on_a_worked_example() -> None:
    # Two raters, items (1,1), (1,2), (2,2) and one rated once. 6 ratings, 3 of each value.
    # Observed: 2 of 6 ordered pairs differ. Expected: 2*3*3 / (6*5) = 3/5. alpha = 1 - (1/3)/(3/5) = 4/9.
    matrix = np.array([[1, 1, 2, 1], [1, 2, 2, NAN]])
    assert krippendorff_alpha(matrix) == pytest.approx(4 / 9, abs=1e-12)


def test_agreement_is_nan_if_no_item_has_two_ratings() -> None:
    matrix = np.array([[1.0, NAN], [NAN, 2.0]])
    assert np.isnan(krippendorff_alpha(matrix))
    assert np.isnan(leave_one_out_correlation(matrix))
    assert np.isnan(pairwise_median(matrix, pearson))


def test_leave_one_out_correlates_each_rating_with_the_mean_of_the_others() -> None:
    matrix = np.array([[1.0, 2.0, 5.0, NAN], [2.0, 2.0, 4.0, 3.0], [1.0, 4.0, NAN, NAN]])
    # rater by rater, items rated by two or more; the last item has one rating and is left out
    ratings = np.array([1.0, 2.0, 5.0, 2.0, 2.0, 4.0, 1.0, 4.0])
    others = np.array([1.5, 3.0, 4.0, 1.0, 3.0, 5.0, 1.5, 2.0])
    assert leave_one_out_correlation(matrix) == pytest.approx(pearson(ratings, others))


def test_the_median_leaves_out_pairs_of_raters_with_few_shared_items() -> None:
    base = np.arange(6.0)
    little = np.array([5.0, 1.0, NAN, NAN, NAN, NAN])
    matrix = np.array([base, base + 1, -base, little])
    assert pairwise_median(matrix, pearson) == pytest.approx(-1.0)  # of 1, -1, -1
    assert np.isnan(pairwise_median(matrix, pearson, overlap=7))
