import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import DataError
from turnwise.ratings.aggregate import aggregate, normalised, oriented
from turnwise.ratings.matrix import RatingMatrix, rating_matrix
from turnwise.types import Direction, Rating


def table(
    rows: dict[str, list[float | None]],
    direction: Direction = "higher",
    scale: tuple[float, float] | None = (1, 5),
) -> RatingMatrix:
    return rating_matrix(
        [
            Rating(f"i{j}", "overall", value, rater, scale=scale, direction=direction)
            for rater, row in rows.items()
            for j, value in enumerate(row)
            if value is not None
        ]
    )


def test_an_aggregate_keeps_the_ratings_of_each_rater() -> None:
    result = aggregate(table({"ann": [1, 4], "ben": [2, None], "cho": [5, None]}))
    # (1+2+5)/3; deviations -5/3, -2/3, 7/3 -> sum of squares 26/3, over 2 -> sqrt(13/3).
    assert result.by_item() == {"i0": pytest.approx(8 / 3), "i1": 4.0}
    assert result.spreads[0] == pytest.approx(math.sqrt(13 / 3))
    assert result.counts.tolist() == [3, 1]


def test_the_standard_deviation_of_one_rating_is_nan() -> None:
    assert np.isnan(aggregate(table({"ann": [3, 4]})).spreads).all()


def test_the_median_is_not_moved_by_one_outlier() -> None:
    assert aggregate(table({"ann": [4], "ben": [4], "cho": [1]}), "median").values.tolist() == [4]


def test_oriented_mirrors_only_scales_on_which_lower_is_better() -> None:
    insults = table({"ann": [1, 5, 2]}, direction="lower")
    assert aggregate(insults).values.tolist() == [1, 5, 2]
    turned = oriented(insults)
    assert turned.values.tolist() == [[5, 1, 4]]  # 1 + 5 - v
    assert turned.direction == "higher"
    assert oriented(turned) is turned
    assert oriented(table({"ann": [1, 5]}, direction="lower", scale=None)).values.tolist() == [[-1, -5]]


def test_centring_removes_a_raters_mean() -> None:
    # ann's mean is 4, ben's 2: after centring they say the same.
    strict = normalised(table({"ann": [3, 4, 5], "ben": [1, 2, 3]}), "centre")
    np.testing.assert_allclose(strict.values, [[-1, 0, 1], [-1, 0, 1]])
    assert strict.scale is None


def test_z_scores_remove_a_raters_spread_too() -> None:
    # ann's spread is 1, ben's 2.
    emphatic = normalised(table({"ann": [3, 4, 5], "ben": [1, 3, 5]}), "z")
    np.testing.assert_allclose(emphatic.values, [[-1, 0, 1], [-1, 0, 1]])


def test_a_rater_who_cannot_be_normalised_loses_all_ratings_and_items_without_ratings_are_counted() -> None:
    flat = normalised(table({"ann": [1, 3, None], "ben": [3, 3, 3]}), "z")
    assert np.isnan(flat.values[1]).all()
    result = aggregate(flat)
    assert list(result.by_item()) == ["i0", "i1"]
    assert result.left_out == {"no rating left after normalisation": 1}
    assert result.matrix.clusters == ("i0", "i1")


def test_a_rater_with_one_rating_cannot_be_centred() -> None:
    assert np.isnan(normalised(table({"ann": [3], "ben": [4]}), "centre").values).all()


def test_an_aggregate_without_ratings_is_empty() -> None:
    for middle in ("mean", "median"):
        result = aggregate(normalised(table({"ann": [3], "ben": [4]}), "z"), middle)  # type: ignore[arg-type]
        assert result.by_item() == {}
        assert result.left_out == {"no rating left after normalisation": 1}


def test_positions_cannot_be_normalised() -> None:
    with pytest.raises(DataError, match=r"positions.*stable_raters=True"):
        normalised(table({"r1": [1, 2], "r2": [2, 3]}), "z")


rows = st.lists(st.integers(1, 5), min_size=2, max_size=8).filter(lambda row: len(set(row)) > 1)


@given(st.lists(rows, min_size=1, max_size=4))
def test_z_scores_of_a_rater_have_mean_zero_and_spread_one(values: list[list[int]]) -> None:
    scores = normalised(table({f"p{i}x": list(row) for i, row in enumerate(values)}), "z").values
    np.testing.assert_allclose(np.nanmean(scores, axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(scores, axis=1, ddof=1), 1)


@given(rows)
def test_orienting_reverses_the_order_of_means(values: list[int]) -> None:
    lower = aggregate(table({"ann": list(values)}, direction="lower")).values
    higher = aggregate(oriented(table({"ann": list(values)}, direction="lower"))).values
    np.testing.assert_allclose(lower + higher, 6)
