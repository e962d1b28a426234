"""Agreement of raters about preferences."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import turnwise
from tests.compared_pairs import chosen
from turnwise.errors import DataError, UsageError
from turnwise.meta.preferences import ComparedPair
from turnwise.meta.rater_choices import Asked, rater_agreement
from turnwise.records import AgreementRecord


def study(rng: np.random.Generator, *, follow: float, pairs: int = 60, raters: int = 4) -> list[ComparedPair]:
    """Choices of raters who follow a common view with this probability, else choose at random."""
    made = []
    for at in range(pairs):
        view = int(rng.integers(-1, 2))
        for rater in range(raters):
            own = view if rng.random() < follow else int(rng.integers(-1, 2))
            made.append(chosen(own, at=at, rater=f"p{rater}"))
    return made


def by_statistic(pairs: list[ComparedPair]) -> dict[str, AgreementRecord]:
    found = rater_agreement(pairs, Asked(dimension="overall", group=None))
    return {str(one.statistic): one for one in found}


def test_raters_who_choose_alike_agree_fully() -> None:
    found = by_statistic(study(np.random.default_rng(0), follow=1))
    assert {one.estimate for one in found.values()} == {1.0}
    assert found["leave-one-out"].interval[0] < 1
    alpha = found["alpha-nominal"]
    assert (alpha.n_raters, alpha.n_ratings, alpha.raters_are) == (4, 240, "people")


def test_raters_who_choose_at_random_agree_by_chance_alone() -> None:
    found = by_statistic(study(np.random.default_rng(1), follow=0, pairs=200))
    for name in ("alpha-nominal", "alpha-ordinal", "median-kappa"):
        assert abs(found[name].estimate) < 0.06
    assert 0.25 < found["leave-one-out"].estimate < 0.45


def test_intervals_hold_the_agreement_by_chance() -> None:
    held = 0
    for seed in range(20):
        low, high = by_statistic(study(np.random.default_rng(seed), follow=0))["alpha-nominal"].interval
        held += low < 0 < high
    assert held >= 16  # 95 % intervals: fewer than 16 of 20 have a probability of .003


def test_alpha_in_both_orders_is_one_minus_observed_over_expected_disagreement() -> None:
    # Two raters, three pairs: they agree on two of them and differ on the third. In both orders there are 12 choices,
    # 6 for each side, and 4 of the 12 are in a pair that differs: D_o = 4/12, D_e = 2 * 6 * 6 / (12 * 11) = 72/132.
    pairs = [chosen(1, at=at, rater=rater) for at in (0, 1, 2) for rater in ("ann", "bob")]
    pairs[-1] = chosen(-1, at=2, rater="bob")
    assert by_statistic(pairs)["alpha-nominal"].estimate == pytest.approx(1 - (4 / 12) / (72 / 132))


def test_which_of_two_is_called_the_first_does_not_matter() -> None:
    pairs = study(np.random.default_rng(2), follow=0.6)
    turned = [pair.ordered("b") if at % 3 else pair for at, pair in enumerate(pairs)]
    other = {"a": "z", "b": "y"}  # the ids now sort in the other order

    def named(item: str) -> str:
        return f"{item[:-1]}{other[item[-1]]}"

    renamed = [replace(pair, items=(named(pair.items[0]), named(pair.items[1]))) for pair in turned]
    for one, two in (
        (by_statistic(pairs), by_statistic(turned)),
        (by_statistic(turned), by_statistic(renamed)),
    ):
        assert {name: a.estimate for name, a in one.items()} == {
            name: pytest.approx(b.estimate) for name, b in two.items()
        }


def test_positions_have_no_kappa_of_two_persons() -> None:
    pairs = [
        replace(pair, rater=pair.rater.replace("p", "r"))
        for pair in study(np.random.default_rng(3), follow=0.8)
    ]
    found = by_statistic(pairs)
    assert found["median-kappa"].status == "skipped"
    assert "positions" in found["median-kappa"].reason
    assert found["alpha-nominal"].estimate is not None


def votes(raters: tuple[str, ...], n: int = 8, **more: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for at in range(n):
        asked = {"role": "user", "content": f"question {at}"}
        said = [
            {
                "other": f"{at}-b",
                "winner": "this" if (at + k) % 3 else "other",
                "rater": rater,
                "turn": 1,
                **more,
            }
            for k, rater in enumerate(raters)
        ]
        for side in "ab":
            reply = {"role": "assistant", "content": f"reply {side}"}
            one: dict[str, Any] = {"id": f"{at}-{side}", "agent": side, "messages": [asked, reply]}
            made.append({**one, "preferences": said} if side == "a" else one)
    return made


@pytest.mark.parametrize("level", ["pair", None])
def test_meta_without_a_metric_gives_the_agreement_of_raters_about_preferences(level: Any) -> None:
    found = turnwise.meta_evaluate(votes(("ann", "bob", "cat")), level=level)
    assert [row["statistic"] for row in found] == [
        "alpha-ordinal",
        "alpha-nominal",
        "median-kappa",
        "leave-one-out",
    ]
    assert {row["level"] for row in found} == {"pair"}
    assert all(row["estimate"] is not None for row in found)


def test_choices_that_nobody_else_made_have_no_agreement_and_the_reason() -> None:
    found = turnwise.meta_evaluate(votes(("ann",)), level="pair")
    assert {row["reason"] for row in found} == {"fewer than two pairs were compared by two raters"}
    assert found.exit_code == 3


def test_without_preferences_or_with_a_screening_of_ratings_there_is_an_error() -> None:
    plain = [{key: value for key, value in one.items() if key != "preferences"} for one in votes(("ann",))]
    with pytest.raises(DataError, match="no preferences in the data"):
        turnwise.meta_evaluate(plain, level="pair")
    with pytest.raises(UsageError, match="screen=True"):
        turnwise.meta_evaluate(votes(("ann", "bob")), level="pair", screen=True)


def test_dimensions_are_kept_apart() -> None:
    data = votes(("ann", "bob"))
    for one in data:
        one["preferences"] = [
            *one.get("preferences", ()),
            *({**vote, "dimension": "style", "winner": "tie"} for vote in one.get("preferences", ())),
        ]
    found = turnwise.meta_evaluate(data, level="pair")
    assert {row["dimension"]: row["reason"] for row in found if row["statistic"] == "alpha-nominal"} == {
        "overall": None,
        "style": "all choices are ties",
    }
