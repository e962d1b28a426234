import math

import numpy as np
import pytest

from turnwise.ratings.ceiling import Ceiling, ceiling, reliability
from turnwise.ratings.matrix import RatingMatrix, rating_matrix
from turnwise.types import Rating

# Shrout and Fleiss 1979, Table 2: four judges, six targets. Table 4 prints the coefficients to two decimals.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
).T


def table(values: np.ndarray, names: str = "abcdefghij", **more: bool) -> RatingMatrix:
    return rating_matrix(
        [
            Rating(f"i{j}", "overall", float(value), names[i])
            for i, row in enumerate(values)
            for j, value in enumerate(row)
            if not np.isnan(value)
        ],
        **more,
    )


def one_rater(found: Ceiling) -> float:
    """The reliability of a single rating, by the Spearman-Brown formula."""
    return found.reliability / (found.per_item - (found.per_item - 1) * found.reliability)


def test_positions_have_the_published_one_way_reliability() -> None:
    found = ceiling(table(SHROUT_FLEISS, stable_raters=False))
    assert one_rater(found) == pytest.approx(0.17, abs=0.005)  # ICC(1,1)
    assert found.reliability == pytest.approx(0.44, abs=0.005)  # ICC(1,4)
    assert found.correlation == pytest.approx(math.sqrt(found.reliability))


def test_the_same_people_on_every_item_have_the_published_consistency() -> None:
    found = ceiling(table(SHROUT_FLEISS))
    assert one_rater(found) == pytest.approx(0.71, abs=0.005)  # ICC(3,1)
    assert found.reliability == pytest.approx(0.91, abs=0.005)  # ICC(3,4)


def test_raters_who_skipped_an_item_add_to_the_error_variance() -> None:
    holes = SHROUT_FLEISS.copy()
    holes[0, 0] = np.nan
    found = ceiling(table(holes))
    assert found.reliability == ceiling(table(holes, stable_raters=False)).reliability
    assert found.per_item == pytest.approx(6 / (5 / 4 + 1 / 3))  # harmonic mean of 4, 4, 4, 4, 4, 3


def test_a_perfect_metric_reaches_the_ceiling_and_not_more() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=4000)
    # Variance of truth 1, of one rating's noise 2: the mean of 3 has reliability 1 / (1 + 2/3) = .6.
    matrix = table(truth + rng.normal(scale=math.sqrt(2), size=(3, 4000)), stable_raters=False)
    reached = np.corrcoef(truth, matrix.values.mean(axis=0))[0, 1]
    assert ceiling(matrix).reliability == pytest.approx(0.6, abs=0.03)
    assert ceiling(matrix).correlation == pytest.approx(reached, abs=0.02)


def test_unequal_numbers_of_raters_leave_the_ceiling_unbiased() -> None:
    rng = np.random.default_rng(6)
    truth = rng.normal(size=6000)
    values = truth + rng.normal(scale=1.0, size=(5, 6000))
    values[rng.integers(1, 6, size=6000)[None, :] <= np.arange(5)[:, None]] = np.nan
    matrix = table(values, stable_raters=False)
    reached = np.corrcoef(truth, np.nanmean(values, axis=0))[0, 1]
    assert ceiling(matrix).correlation == pytest.approx(reached, abs=0.02)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([[3.0, 4.0, 5.0]], "fewer than two items have two ratings"),
        ([[3.0], [4.0]], "fewer than two items have two ratings"),
        ([[3.0, 3.0], [3.0, 3.0]], "all ratings are equal"),
        ([[1.0, 5.0], [5.0, 1.0]], "all items have the same mean"),
        ([[1.0, 5.0, 2.0], [5.0, 1.0, 3.0]], "ratings differ inside items as much as between them"),
    ],
)
def test_where_there_is_no_ceiling_it_is_nan_with_the_reason(values: list[list[float]], reason: str) -> None:
    found = ceiling(table(np.array(values)))
    assert math.isnan(found.correlation)
    assert found.reason == reason


def test_a_reliability_within_rounding_of_zero_gives_no_ceiling() -> None:
    values = np.array([[1, 5, 5, 5], [3, 2, 2, 5], [2, 1, 4, 2]], dtype=float)  # found by hypothesis
    for order in ([0, 1, 2], [0, 2, 1], [2, 1, 0]):
        found = ceiling(table(values[order]))
        assert found.reliability == 0
        assert math.isnan(found.correlation)
        assert found.reason == "ratings differ inside items as much as between them"


def test_reliability_of_means_that_do_not_vary_is_undefined() -> None:
    assert math.isnan(reliability(np.array([[1.0, 5.0], [5.0, 1.0]]), people=False))
    assert math.isnan(reliability(np.array([[1.0], [2.0]]), people=False))


def test_means_whose_squares_are_too_small_have_no_reliability() -> None:
    assert math.isnan(reliability(np.array([[1e-200, 3e-200], [2e-200, 4e-200]]), people=False))
