import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import DataError
from turnwise.ratings import matrix as matrix_module
from turnwise.ratings.matrix import choose_dimension, dialogue_of, rating_matrix
from turnwise.types import Rating, item_id

judgements = st.dictionaries(
    st.tuples(st.sampled_from(["ann", "ben", "cho", "dee"]), st.integers(0, 9)),
    st.integers(1, 5),
    min_size=1,
)


def rated(item: str, rater: str | None, value: float, **more: object) -> Rating:
    return Rating(item, "overall", value, rater, **more)  # type: ignore[arg-type]


def test_missing_ratings_are_nan_and_never_zero() -> None:
    matrix = rating_matrix([rated("a", "ann", 1), rated("a", "ben", 2), rated("b", "ben", 3)])
    assert matrix.raters == ("ann", "ben")
    assert matrix.items == ("a", "b")
    np.testing.assert_array_equal(matrix.values, [[1, np.nan], [2, 3]])
    assert matrix.counts.tolist() == [2, 1]


def test_the_last_of_a_raters_repeats_is_kept_and_the_others_are_counted() -> None:
    values = [4, 4, 2]  # two superseded, none of them equal to the last word
    matrix = rating_matrix([rated("a", "ann", value) for value in values])
    assert matrix.values.tolist() == [[2]]
    assert (matrix.repeats, matrix.repeats_equal, matrix.consistency) == (2, 0, 0.0)
    # 3 -> 3 is consistent, 5 -> 1 is not: one of two.
    pairs = [("a", 3), ("a", 3), ("b", 5), ("b", 1)]
    assert rating_matrix([rated(item, "ann", v) for item, v in pairs]).consistency == 0.5
    assert math.isnan(rating_matrix([rated("a", "ann", 1)]).consistency)


@pytest.mark.parametrize(
    ("names", "stable", "identity", "guessed"),
    [
        (("r1", "r2"), None, "positions", True),
        (("r1", "r2"), True, "people", False),
        (("ann", "r2"), None, "people", True),
        (("ann", "ben"), False, "positions", False),
        (("ann", None), None, "positions", True),
        ((None, None), None, "positions", True),
        (("mean",), None, "mean", False),
    ],
)
def test_the_identity_of_raters_is_guessed_from_names_and_marked_as_guessed(
    names: tuple[str | None, ...], stable: bool | None, identity: str, guessed: bool
) -> None:
    matrix = rating_matrix([rated("a", name, 3) for name in names], stable_raters=stable)
    assert (matrix.identity, matrix.guessed) == (identity, guessed)


def test_unnamed_ratings_cannot_have_stable_raters() -> None:
    with pytest.raises(DataError, match="no rater's name"):
        rating_matrix([rated("a", None, 1)], stable_raters=True)


def test_several_unnamed_ratings_of_an_item_count_as_different_raters() -> None:
    matrix = rating_matrix([rated("a", None, 1), rated("a", None, 5), rated("b", None, 2)])
    np.testing.assert_array_equal(matrix.values, [[1, 2], [5, np.nan]])
    assert matrix.repeats == 0


def test_a_published_mean_is_ignored_where_there_are_single_ratings() -> None:
    matrix = rating_matrix([rated("a", "ann", 1), rated("a", "ben", 2), rated("a", "mean", 1.5)])
    assert matrix.raters == ("ann", "ben")
    assert matrix.means == 1
    alone = rating_matrix([rated("a", "mean", 1.5), rated("b", "mean", 2.5)])
    assert alone.raters == ("mean",)
    assert alone.means == 0
    assert alone.why_no_agreement == "only the mean over raters was published"


def test_raters_with_numbers_are_in_the_order_of_the_numbers() -> None:
    assert rating_matrix([rated("a", f"r{i}", 1) for i in (10, 2, 1)]).raters == ("r1", "r2", "r10")


def test_mixed_scales_are_an_error_that_names_the_remedy() -> None:
    mixed = [rated("a", "ann", 3, scale=(1, 5)), rated("b", "ann", 50, scale=(0, 100))]
    with pytest.raises(DataError, match=r"different scales.*--rescale"):
        rating_matrix(mixed, rescale=False)
    with pytest.raises(DataError, match=r"different scales.*use ratings on one scale$"):
        rating_matrix(mixed)  # of a command without the option
    matrix = rating_matrix(mixed, rescale=True)
    assert matrix.values.tolist() == [[0.5, 0.5]]  # (3-1)/4 and 50/100
    assert matrix.scale == (0.0, 1.0)


def test_a_rating_without_a_scale_cannot_be_rescaled() -> None:
    with pytest.raises(DataError, match="has no scale"):
        rating_matrix([rated("a", "ann", 3)], rescale=True)


def test_mixed_directions_are_an_error() -> None:
    with pytest.raises(DataError, match="different directions"):
        rating_matrix([rated("a", "ann", 1), rated("b", "ann", 1, direction="lower")])


def test_turns_and_whole_dialogues_are_not_mixed_in_one_table() -> None:
    both = [rated("d#1", "ann", 1, turn=1), rated("d", "ann", 2)]
    with pytest.raises(DataError, match="choose one with `level`"):
        rating_matrix(both)
    assert rating_matrix(both, level="turn").values.tolist() == [[1]]
    assert rating_matrix(both, level="dialogue").values.tolist() == [[2]]
    with pytest.raises(DataError, match="no turn was rated"):
        rating_matrix(both[1:], level="turn")


def test_items_cluster_by_dialogue_unless_told_otherwise() -> None:
    ratings = [rated("d#1", "ann", 1, turn=1), rated("d#3", "ann", 1, turn=3), rated("e#1", "ann", 1, turn=1)]
    assert rating_matrix(ratings).clusters == ("d", "d", "e")
    grouped = rating_matrix(ratings, clusters={"d#1": "x", "e#1": "x"})
    assert grouped.clusters == ("x", "d", "x")


@given(st.text(), st.none() | st.integers(0, 99))
def test_the_dialogue_of_a_rating_inverts_the_items_id(dialogue: str, turn: int | None) -> None:
    assert dialogue_of(rated(item_id(dialogue, turn), "ann", 1, turn=turn)) == dialogue


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_rating_that_is_not_finite_is_an_error_that_names_the_item(value: float) -> None:
    with pytest.raises(DataError, match="`a`"):
        rating_matrix([rated("a", "ann", value)])


def test_the_dimension_defaults_to_overall_then_to_the_only_one() -> None:
    def of(*names: str) -> list[Rating]:
        return [Rating("a", name, 1) for name in names]

    assert choose_dimension(of("fluent", "overall"), None) == "overall"
    assert choose_dimension(of("fluent"), None) == "fluent"
    with pytest.raises(DataError, match="fluent, polite"):
        choose_dimension(of("fluent", "polite"), None)
    with pytest.raises(DataError, match="rated were: fluent"):
        choose_dimension(of("fluent"), "polite")
    with pytest.raises(DataError, match="no ratings"):
        choose_dimension([], None)


def test_categories_are_the_whole_scale_even_if_a_step_was_never_used() -> None:
    on_scale = rating_matrix([rated("a", "ann", v, scale=(1, 5)) for v in (1, 5)])
    assert on_scale.categories.tolist() == [1, 2, 3, 4, 5]
    between = rating_matrix([rated(i, "ann", v, scale=(1, 5)) for i, v in (("a", 1), ("b", 2.5))])
    assert between.categories.tolist() == [1, 2.5]
    endless = rating_matrix([rated(i, "ann", v, scale=(0, 1e12)) for i, v in (("a", 1), ("b", 7))])
    assert endless.categories.tolist() == [1, 7]
    assert rating_matrix([rated("a", "ann", 3)]).categories.tolist() == [3]


def test_raters_become_positions_where_one_row_each_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = [rated(f"i{n}", f"user{n + k}", n + k) for n in range(50) for k in range(2)]
    whole = rating_matrix(ratings)
    monkeypatch.setattr(matrix_module, "MAX_CELLS", 1000)
    packed = rating_matrix(ratings)
    assert whole.values.shape == (51, 50)
    assert packed.values.shape == (2, 50)
    assert packed.identity == "positions"
    np.testing.assert_array_equal(np.nanmean(packed.values, axis=0), np.nanmean(whole.values, axis=0))


@given(judgements, st.randoms())
def test_the_order_of_ratings_changes_no_cell(
    cells: dict[tuple[str, int], int], shuffler: random.Random
) -> None:
    ratings = [rated(f"i{item}", rater, value) for (rater, item), value in cells.items()]
    shuffled = ratings.copy()
    shuffler.shuffle(shuffled)
    for order in (ratings, shuffled):
        matrix = rating_matrix(order)
        found = {
            (rater, int(item[1:])): value
            for rater, row in zip(matrix.raters, matrix.values.tolist(), strict=True)
            for item, value in zip(matrix.items, row, strict=True)
            if not math.isnan(value)
        }
        assert found == cells
