import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import DataError
from turnwise.logs.native import parse
from turnwise.ratings import matrix as matrix_module
from turnwise.ratings.quality import screen
from turnwise.types import Rating

MARKS = [1, 2, 3, 4, 5] * 4  # twenty items, as many as ADEM's raters had in common


def ratings_of(rater: str | None, marks: Sequence[float], dimension: str = "overall") -> list[Rating]:
    return [
        Rating(f"i{j}", dimension, mark, rater, turn=None, scale=(1, 5), extra={})
        for j, mark in enumerate(marks)
    ]


def check(rater: str, given_mark: float, expected: object, item: str = "check") -> Rating:
    return Rating(item, "overall", given_mark, rater, scale=(1, 5), extra={"expected": expected})


def test_a_rater_who_fails_an_attention_check_is_dropped_with_all_their_ratings() -> None:
    ratings = [*ratings_of("ann", MARKS), *ratings_of("ben", MARKS), check("ann", 5, 5), check("ben", 2, 5)]
    result = screen(ratings)
    assert result.dropped == ("ben",)
    assert {rating.rater for rating in result.kept} == {"ann"}
    ben = next(report for report in result.raters if report.rater == "ben")
    assert (ben.ratings, ben.checks, ben.failed) == (20, 1, 1)
    assert ben.reason == "failed 1 of 1 attention checks"
    assert result.reasons.count("rater failed 1 of 1 attention checks") == 20


def test_a_passed_attention_check_is_not_a_rating() -> None:
    result = screen([*ratings_of("ann", MARKS), check("ann", 5, 5)])
    assert result.reasons == ("attention check passed",)
    assert len(result.kept) == 20


@pytest.mark.parametrize(("tolerance", "dropped"), [(0, ("ann",)), (1, ())])
def test_an_attention_check_passes_within_the_tolerance(tolerance: float, dropped: tuple[str, ...]) -> None:
    assert screen([*ratings_of("ann", MARKS), check("ann", 4, 5)], tolerance=tolerance).dropped == dropped


def test_an_attention_check_without_an_expected_number_is_an_error() -> None:
    with pytest.raises(DataError, match="'five', which is not a number"):
        screen([check("ann", 4, "five")])


def test_a_rater_who_disagrees_with_the_others_is_dropped_and_the_kappa_is_given() -> None:
    contrary = [6 - mark for mark in MARKS]
    result = screen([*ratings_of("ann", MARKS), *ratings_of("ben", MARKS), *ratings_of("dee", contrary)])
    assert result.dropped == ("dee",)
    reports = {report.rater: report for report in result.raters}
    # Mirrored marks: squares of the gaps 4, 2, 0, 2, 4 average 8; over all pairs of 1..5 the average is 4.
    assert reports["dee"].kappa == pytest.approx(1 - 8 / 4)
    # With dee among them ann's median is (1 - 1)/2 = 0, below .2 too; dee, the worst, goes first.
    assert reports["ann"].kappa == pytest.approx(1)
    assert (reports["ann"].partners, reports["dee"].partners) == (1, 2)
    assert reports["dee"].reason == "has a median kappa of -1.00 with the others, below 0.2"


def test_two_raters_who_disagree_are_both_dropped() -> None:
    result = screen([*ratings_of("ann", MARKS), *ratings_of("dee", [6 - mark for mark in MARKS])])
    assert result.dropped == ("ann", "dee")
    assert result.kept == ()


def test_the_median_protects_good_raters_from_one_bad_one() -> None:
    good = [rating for name in ("ann", "ben", "cho") for rating in ratings_of(name, MARKS)]
    result = screen([*good, *ratings_of("dee", [6 - mark for mark in MARKS])])
    assert result.dropped == ("dee",)
    assert {r.rater: r.kappa for r in result.raters}["ann"] == pytest.approx(1)


def test_raters_who_failed_a_check_do_not_count_for_the_kappas_of_others() -> None:
    contrary = [6 - mark for mark in MARKS]
    spoilers = [r for name in ("xia", "yve") for r in [*ratings_of(name, contrary), check(name, 1, 5)]]
    result = screen([*ratings_of("ann", MARKS), *ratings_of("ben", MARKS), *spoilers])
    assert result.dropped == ("xia", "yve")
    assert {r.rater: r.kappa for r in result.raters}["ann"] == pytest.approx(1)


def test_a_rater_dropped_on_one_dimension_is_dropped_from_all() -> None:
    ratings = [
        *(r for name in ("ann", "ben", "cho") for r in ratings_of(name, MARKS)),
        *ratings_of("dee", [6 - mark for mark in MARKS]),
        *ratings_of("dee", MARKS, dimension="fluent"),
    ]
    result = screen(ratings)
    assert len(result.excluded) == 40
    assert {rating.rater for rating in result.excluded} == {"dee"}


def test_a_rater_with_too_few_common_items_is_kept_with_the_reason() -> None:
    result = screen([*ratings_of("ann", MARKS), *ratings_of("ben", [5, 4, 3])])
    assert result.dropped == ()
    for report in result.raters:
        assert math.isnan(report.kappa)
        assert report.reason == "not screened: no other rater with 20 items in common and a defined kappa"
    assert screen([*ratings_of("ann", MARKS), *ratings_of("ben", [5, 4, 3])], min_shared=3).dropped == (
        "ann",
        "ben",
    )


def test_too_many_raters_for_memory_are_kept_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_module, "MAX_CELLS", 15)
    result = screen(
        [*ratings_of("ann", MARKS), *ratings_of("ben", [6 - mark for mark in MARKS]), check("ben", 1, 5)]
    )
    assert result.dropped == ("ben",)
    assert {r.rater: r.reason for r in result.raters}["ann"] == (
        "not screened: too many raters to compare each with each; screen a part of the log at a time"
    )


def test_a_rater_who_always_gives_the_same_rating_agrees_by_chance_only() -> None:
    others = [r for name in ("ann", "ben", "cho") for r in ratings_of(name, MARKS)]
    result = screen([*others, *ratings_of("dee", [3] * 20)])
    assert result.dropped == ("dee",)
    assert {r.rater: r.kappa for r in result.raters}["dee"] == pytest.approx(0)


def test_a_context_not_understood_excludes_the_ratings_of_that_rater_and_item_only() -> None:
    ratings = [
        *ratings_of("ann", MARKS),
        *ratings_of("ben", MARKS),
        *ratings_of("ann", MARKS, dimension="fluent"),
    ]
    ratings[0] = Rating("i0", "overall", 1, "ann", scale=(1, 5), extra={"understood": False})
    result = screen(ratings, min_shared=10)
    assert [(r.rater, r.item, r.dimension) for r in result.excluded] == [
        ("ann", "i0", "overall"),
        ("ann", "i0", "fluent"),
    ]
    assert set(result.reasons) == {"context not understood"}
    assert result.dropped == ()
    assert {r.rater: r.not_understood for r in result.raters} == {"ann": 2, "ben": 0}


def test_positions_are_not_dropped_but_single_ratings_are_excluded() -> None:
    ratings = [*ratings_of("r1", MARKS), *ratings_of("r2", [6 - mark for mark in MARKS]), check("r1", 1, 5)]
    result = screen(ratings)
    assert (result.identity, result.raters, result.dropped) == ("positions", (), ())
    assert result.reasons == ("attention check failed",)
    assert screen(ratings, stable_raters=True).dropped == ("r1",)


def test_checks_and_contexts_not_understood_are_read_from_a_log() -> None:
    marks = [
        {"dimension": "overall", "value": 5, "rater": "ann", "turn": 1, "expected": 1},
        {"dimension": "overall", "value": 2, "rater": "ben", "turn": 1, "understood": False},
        {"dimension": "overall", "value": 2, "rater": "cho", "turn": 1, "understood": True},
    ]
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    line = json.dumps({"id": "d", "messages": messages, "ratings": marks})
    result = screen(parse(line, file="log.jsonl", line_number=1).ratings)
    assert result.dropped == ("ann",)
    assert [rating.rater for rating in result.kept] == ["cho"]
    assert result.reasons == ("attention check failed", "context not understood")


def test_published_means_and_no_ratings_pass_through() -> None:
    means = ratings_of("mean", MARKS)
    assert screen(means).kept == tuple(means)
    assert screen([]).kept == ()


extras = st.sampled_from([{}, {}, {}, {"understood": False}, {"understood": True}, {"expected": 3}])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "ben", "cho", "mean"]), st.integers(0, 5), st.integers(1, 5), extras
        ),
        max_size=30,
    )
)
def test_every_rating_is_kept_or_excluded_with_a_reason(
    cells: list[tuple[str, int, int, dict[str, object]]],
) -> None:
    ratings = [Rating(f"i{j}", "overall", mark, rater, extra=extra) for rater, j, mark, extra in cells]
    result = screen(ratings, min_shared=2)
    assert sorted(map(id, (*result.kept, *result.excluded))) == sorted(map(id, ratings))
    assert len(result.reasons) == len(result.excluded)
    assert all(result.reasons)
    assert not {rating.rater for rating in result.kept} & set(result.dropped)
