"""Agreement of metrics with preferences."""

from pathlib import Path

import numpy as np
import pytest

import turnwise
from tests.wild_corpora import WILD, needs_wild
from turnwise.errors import DataError, UsageError
from turnwise.meta.pair_accuracy import PairScores, correct, one_rater_ceiling, pair_accuracy, tie_calibration
from turnwise.meta.preferences import ComparedPair


def chosen(outcome: int, *, at: int = 0, rater: str | None = "ann") -> ComparedPair:
    return ComparedPair(
        agents=("a", "b"),
        items=(f"{at}-a", f"{at}-b"),
        outcome=outcome,
        both_bad=False,
        clusters=(str(at), str(at)),
        rater=rater,
        position=0,
        lengths=(1, 1),
    )


def scores(differences: list[float], outcomes: list[int], **more: object) -> PairScores:
    pairs = tuple(chosen(outcome, at=at) for at, outcome in enumerate(outcomes))
    return PairScores("m", "m|v:1", pairs, np.array(differences), {}, "higher")


def test_accuracy_is_the_share_of_choices_that_the_metric_predicts() -> None:
    finding = pair_accuracy(scores([1, 2, -1, 3], [1, 1, -1, -1]), dimension="overall", group="")
    assert finding.estimate == 0.75
    assert finding.details["floor"] == 0.5
    assert finding.details["epsilon"] == 0


def test_without_ties_of_people_a_tie_of_the_metric_counts_half() -> None:
    agreed, epsilon = correct(scores([0, 1, -1], [1, 1, 1]))
    assert (agreed.tolist(), epsilon) == ([0.5, 1, 0], 0)


def test_where_people_tie_a_tie_of_the_metric_is_right_on_those_pairs_alone() -> None:
    agreed, epsilon = correct(scores([0.1, 0, 1, -1, 2], [0, 1, 1, -1, 1]))
    assert (agreed.tolist(), epsilon) == ([1, 0, 1, 1, 1], 0.1)


def test_ties_do_not_make_a_metric_worse_than_chance_and_are_counted() -> None:
    # 32 right, 90 tied and 28 wrong.
    finding = pair_accuracy(
        scores([1.0] * 32 + [0.0] * 90 + [-1.0] * 28, [1] * 150), dimension="overall", group=""
    )
    assert finding.estimate == pytest.approx((32 + 45) / 150)
    assert finding.p > 0.5
    assert finding.details["n_tied"] == 90


def test_ties_are_calibrated_by_trying_every_epsilon() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        outcomes = rng.integers(-1, 2, 25).astype(float)
        differences = outcomes * 0.5 + rng.normal(0, 0.7, 25)

        def accuracy(epsilon: float, d: np.ndarray = differences, o: np.ndarray = outcomes) -> float:
            return float(np.mean(np.where(np.abs(d) <= epsilon, 0, np.sign(d)) == o))

        best = max(accuracy(epsilon) for epsilon in [0.0, *np.abs(differences)])
        assert accuracy(tie_calibration(differences, outcomes)) == pytest.approx(best)


def test_the_ceiling_is_one_rater_against_the_majority_of_the_others() -> None:
    pairs = [chosen(1, rater="ann"), chosen(1, rater="bob"), chosen(-1, rater="cat")]
    # ann and bob face one vote each way among the others (a tie); cat faces two for the first.
    assert one_rater_ceiling(pairs) == 0
    assert one_rater_ceiling([*pairs[:2]]) == 1
    assert np.isnan(one_rater_ceiling(pairs[:1]))


def votes(n: int = 30) -> list[dict[str, object]]:
    """Pairs of which people choose the longer reply, four times in five."""
    made: list[dict[str, object]] = []
    for at in range(n):
        asked = {"role": "user", "content": f"question {at}"}
        winner = "this" if at % 5 else "other"
        vote = {"other": f"{at}-b", "winner": winner, "rater": f"p{at % 3}", "turn": 1}
        for side, words in (("a", 6 + at % 4), ("b", 3)):
            reply = {"role": "assistant", "content": " ".join(f"word{k}" for k in range(words))}
            one = {"id": f"{at}-{side}", "agent": side, "messages": [asked, reply]}
            made.append({**one, "preferences": [vote]} if side == "a" else one)
    return made


def test_meta_at_level_pair_reports_accuracy_with_interval_and_tests_between_metrics() -> None:
    found = turnwise.meta_evaluate(votes(), metrics="length,distinct-1,question-rate", level="pair")
    by_metric = {record["metric"]: record for record in found}
    assert by_metric["length"]["estimate"] == pytest.approx(0.8)
    assert by_metric["length"]["interval"] is not None
    assert by_metric["question-rate"]["estimate"] == 0.5  # always equal, and people never tie
    assert (by_metric["question-rate"]["n_tied"], by_metric["length"]["n_tied"]) == (30, 0)
    assert {(row["metric_a"], row["metric_b"]) for row in found.differences} >= {("length", "question-rate")}
    assert next(r for r in found.differences if r["metric_b"] == "question-rate")["p_adjusted"] < 0.05


def test_a_report_does_not_advise_a_metric_that_is_no_better_than_a_coin(tmp_path: Path) -> None:
    turnwise.meta_evaluate(votes(), metrics="question-rate", level="pair", output=tmp_path / "out")
    made = turnwise.make_report([tmp_path / "out"], output=tmp_path / "report.html")
    assert any(claim.startswith("Trust none of these metrics yet") for claim in made.claims)


def test_a_metric_without_numbers_for_replies_is_skipped_with_the_reason() -> None:
    found = turnwise.meta_evaluate(votes(), metrics="length,bleu-4", level="pair")
    record = next(r for r in found if r["metric"] == "bleu-4")
    assert record["estimate"] is None
    assert record["unscored"] == {"no reference": 30}


def test_without_preferences_and_without_ratings_the_errors_name_what_to_do() -> None:
    plain = [{key: value for key, value in one.items() if key != "preferences"} for one in votes(4)]
    with pytest.raises(DataError, match="no preferences in the data"):
        turnwise.meta_evaluate(plain, metrics="length", level="pair")
    with pytest.raises(DataError, match="--level pair` asks for its preferences"):
        turnwise.meta_evaluate(votes(), metrics="length")
    with pytest.raises(UsageError, match="name the metrics with metrics="):
        turnwise.meta_evaluate(rated(), level="pair")
    with pytest.raises(UsageError, match="no preference has the dimension `overal`"):
        turnwise.meta_evaluate(votes(), metrics="length", level="pair", dimension="overal")


def rated() -> list[dict[str, object]]:
    return [
        {**one, "ratings": [{"dimension": "overall", "value": 1, "rater": "ann", "turn": 1}]}
        for one in votes(4)
    ]


@needs_wild
def test_the_150_pairs_of_hh_rlhf_are_read_and_neither_metric_predicts_them() -> None:
    found = turnwise.meta_evaluate(
        WILD / "hh_rlhf_pairs.jsonl",
        reader="preferences",
        metrics="length,turnwise,question-rate",
        level="pair",
    )
    length, own, questions = found
    assert length["n_items"] == 150
    assert own["n_items"] == 149  # one reply is empty
    assert length["estimate"] == pytest.approx(0.470, abs=0.001)
    assert own["estimate"] == pytest.approx(0.386, abs=0.03)
    assert questions["estimate"] == pytest.approx((32 + 90 / 2) / 150)
    assert (questions["n_tied"], length["n_tied"]) == (90, 5)
    assert questions["p"] > 0.05
