import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import DataError
from turnwise.ratings.agreement import Agreement, Coefficient, agreement, agreement_of
from turnwise.ratings.matrix import RatingMatrix, rating_matrix
from turnwise.types import Rating

COEFFICIENTS = [field.name for field in fields(Agreement) if field.type in ("Coefficient", Coefficient)]
BETWEEN_RATERS = [name for name in COEFFICIENTS if name != "consistency"]
PAIRWISE = ["pairwise_kappa", "pairwise_kappa_quadratic", "pairwise_correlation"]


def rated(rows: dict[str, list[float | None]], scale: tuple[float, float] | None = (1, 5)) -> list[Rating]:
    return [
        Rating(f"i{j}", "overall", value, rater, scale=scale)
        for rater, row in rows.items()
        for j, value in enumerate(row)
        if value is not None
    ]


def only(ratings: list[Rating], stable_raters: bool | None = None) -> Agreement:
    (row,) = agreement(ratings, stable_raters=stable_raters)
    return row


def test_the_coefficients_of_a_small_table_equal_those_computed_by_hand() -> None:
    row = only(rated({"ann": [1, 2, 1], "ben": [1, 2, 2]}))
    # Three ones and three twos; one of three items disagrees.
    # alpha: D_o = 2/6, D_e = 2*3*3/(6*5) = 3/5, so 1 - (1/3)/(3/5) = 4/9. Two values: all levels agree.
    for name in ("alpha_nominal", "alpha_ordinal", "alpha_interval"):
        assert getattr(row, name).value == pytest.approx(4 / 9)
    # Fleiss: P = (1+1+0)/3 = 2/3, P_e = 1/2.
    assert row.fleiss.value == pytest.approx(1 / 3)
    # Pooled both ways round, deviations are all +-1/2; four products are 1/4, two are -1/4: 1/2 over 3/2.
    assert row.leave_one_out.value == pytest.approx(1 / 3)
    # Crossed persons: item means 1, 2, 3/2 have variance 1/4. After items and raters ann is left with
    # 1/6, 1/6, -1/3 and ben with the opposite: squares sum to 1/3, over (3-1)(2-1) degrees 1/6.
    # 1 - (1/6)(1/2)/(1/4) = 2/3. Cronbach: variances 1/3 and 1/3, of the sum 1: 2(1 - 2/3) = 2/3.
    assert row.reliability.value == pytest.approx(2 / 3)
    assert row.ceiling.value == pytest.approx(math.sqrt(2 / 3))
    assert (row.n_items, row.n_raters, row.n_ratings, row.per_item) == (3, 2, 6, (2, 2.0, 2))


def test_pairwise_coefficients_are_medians_over_all_pairs() -> None:
    ann, ben, cho = [1, 2, 3, 4, 5, 1], [1, 2, 3, 4, 5, 2], [5, 4, 3, 2, 1, 5]
    row = only(rated({"ann": list(ann), "ben": list(ben), "cho": list(cho)}))
    pairs = [np.corrcoef(a, b)[0, 1] for a, b in ((ann, ben), (ann, cho), (ben, cho))]
    assert row.pairwise_correlation.value == pytest.approx(sorted(pairs)[1])


def test_weighted_kappa_counts_steps_of_the_scale_and_not_of_the_values_used() -> None:
    # Used are 1, 2 and 5. On the scale 1-5 the miss 1-5 costs 16, on used values only 2 steps, so 4.
    # Table of (ann, ben): (1,1) (2,2) (5,5) (1,5) (2,1).
    # Observed cost 16 + 1 = 17. ann has 1,1,2,2,5, ben has 1,1,2,5,5: over all 25 pairs
    #   ann's two 1s: 0+0+1+16+16 = 33 each; two 2s: 1+1+0+9+9 = 20 each; the 5: 16+16+9+0+0 = 41.
    # Expected 2*33 + 2*20 + 41 = 147, over 25 pairs times 5 items: 147/5. kappa = 1 - 17*5/147.
    row = only(rated({"ann": [1, 2, 5, 1, 2], "ben": [1, 2, 5, 5, 1]}))
    assert row.pairwise_kappa_quadratic.value == pytest.approx(1 - 85 / 147)


def test_positions_have_alpha_but_no_pairs_of_people() -> None:
    row = only(rated({"r1": [1, 2, 1, 4, 5], "r2": [1, 2, 2, 5, 4]}))
    assert (row.identity, row.guessed) == ("positions", True)
    assert row.alpha_interval.value > 0.5
    for name in PAIRWISE:
        assert math.isnan(getattr(row, name).value)
        assert "positions" in getattr(row, name).reason
    named = only(rated({"r1": [1, 2, 1, 4, 5], "r2": [1, 2, 2, 5, 4]}), stable_raters=True)
    assert named.pairwise_correlation.value > 0.5
    assert not named.guessed


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({"ann": [1, 2, 3]}, "fewer than two items have two ratings"),
        ({"ann": [1], "ben": [2]}, "fewer than two items have two ratings"),
        ({"ann": [3, 3, 3], "ben": [3, 3, 3]}, "all ratings are equal"),
        ({"mean": [1, 2, 3]}, "only the mean over raters was published"),
        ({"ann": [1, None], "ben": [None, 2]}, "fewer than two items have two ratings"),
    ],
)
def test_where_agreement_is_undefined_every_coefficient_is_nan_with_the_reason(
    rows: dict[str, list[float | None]], reason: str
) -> None:
    row = only(rated(rows))
    for name in BETWEEN_RATERS:
        figure = getattr(row, name)
        assert math.isnan(figure.value), name
        assert figure.interval is None
        assert figure.reason == reason
    assert row.consistency.reason == "nobody rated an item twice"


def test_no_ratings_give_no_rows() -> None:
    assert agreement([]) == ()


def test_fleiss_kappa_is_undefined_where_items_have_different_numbers_of_raters() -> None:
    row = only(rated({"ann": [1, 2, 3, 4], "ben": [1, 2, 3, 4], "cho": [1, 2, 4, None]}))
    assert row.fleiss.reason == "items have different numbers of ratings"
    assert row.alpha_nominal.value > 0


def test_raters_who_share_too_few_items_are_not_compared() -> None:
    row = only(rated({"ann": [1, 2, 3, 4], "ben": [1, 2, 3, 5]}))
    assert math.isnan(row.pairwise_kappa.value)
    assert row.pairwise_kappa.reason == "no two raters share 5 items on which they can be compared"


def test_perfect_agreement_is_one_without_an_interval() -> None:
    row = only(rated({"ann": [1, 2, 3, 4, 5], "ben": [1, 2, 3, 4, 5]}))
    for name in BETWEEN_RATERS:
        assert getattr(row, name).value == pytest.approx(1), name
        assert getattr(row, name).interval is None, name


def test_each_dimension_and_level_has_its_row() -> None:
    ratings = [
        Rating("d#1", "overall", 1, "ann", turn=1),
        Rating("d", "overall", 2, "ann"),
        Rating("d#1", "fluent", 2, "ann", turn=1),
    ]
    assert [(row.dimension, row.level) for row in agreement(ratings)] == [
        ("overall", "turn"),
        ("overall", "dialogue"),
        ("fluent", "turn"),
    ]


def test_mixed_scales_stop_the_table_unless_rescaled() -> None:
    ratings = [
        Rating(f"i{j}", "overall", value * factor, rater, scale=(0, 4 * factor))
        for rater, row in (("ann", [0, 1, 2, 4]), ("ben", [0, 1, 3, 4]))
        for j, (value, factor) in enumerate(zip(row, (1, 1, 25, 25), strict=True))
    ]
    with pytest.raises(DataError, match="different scales"):
        agreement(ratings)
    (row,) = agreement(ratings, rescale=True)
    plain = only(rated({"ann": [0, 1, 2, 4], "ben": [0, 1, 3, 4]}, scale=(0, 4)))
    assert row.alpha_interval.value == pytest.approx(plain.alpha_interval.value)


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=2, max_size=12), st.permutations([0, 1, 2]))
def test_names_and_order_of_raters_change_no_coefficient(
    columns: list[tuple[int, int, int]], order: list[int]
) -> None:
    rows = list(zip(*columns, strict=True))
    one = agreement(rated(dict(zip(("ann", "ben", "cho"), map(list, rows), strict=True))), intervals=False)[0]
    moved = [list(rows[i]) for i in order]
    two = agreement(rated(dict(zip(("xia", "yve", "zoe"), moved, strict=True))), intervals=False)[0]
    for name in COEFFICIENTS:
        assert getattr(one, name).value == pytest.approx(getattr(two, name).value, nan_ok=True, abs=1e-9)


@given(
    st.lists(
        st.tuples(st.sampled_from(["ann", "ben", "r1", "mean", None]), st.integers(0, 3), st.integers(1, 5)),
        max_size=20,
    )
)
def test_any_ratings_give_numbers_or_reasons_and_never_a_traceback(
    rated: list[tuple[str | None, int, int]],
) -> None:
    for row in agreement([Rating(f"i{j}", "overall", value, rater) for rater, j, value in rated]):
        for name in COEFFICIENTS:
            figure = getattr(row, name)
            assert math.isnan(figure.value) == (figure.reason is not None), name
            assert figure.value <= 1 + 1e-12 or math.isnan(figure.value)


def simulated(rng: np.random.Generator, dialogues: int) -> RatingMatrix:
    """Three turns a dialogue that share part of their quality, three strangers a turn, whole marks."""
    quality = np.repeat(rng.normal(scale=0.6, size=dialogues), 3) + rng.normal(scale=0.8, size=3 * dialogues)
    marks = np.clip(np.round(3 + quality + rng.normal(size=(3, 3 * dialogues))), 1, 5)
    return rating_matrix(
        [
            Rating(f"d{j // 3}#{j % 3}", "overall", float(marks[i, j]), f"r{i}", turn=j % 3)
            for i in range(3)
            for j in range(3 * dialogues)
        ]
    )


@pytest.mark.slow
def test_intervals_cover_the_truth_on_clustered_dialogues() -> None:
    names = ("alpha_interval", "leave_one_out", "ceiling")
    rng = np.random.default_rng(17)
    truth = agreement_of(simulated(rng, 6_000), intervals=False)
    hits = dict.fromkeys(names, 0)
    for _ in range(150):
        row = agreement_of(simulated(rng, 60))
        for name in names:
            low, high = getattr(row, name).interval
            hits[name] += low <= getattr(truth, name).value <= high
    # 150 trials at .95 have a standard error of .018.
    assert all(0.90 <= count / 150 <= 0.99 for count in hits.values()), hits
