"""Agreement of metrics with preferences."""

from pathlib import Path

import numpy as np
import pytest

import turnwise
from tests.compared_pairs import chosen
from tests.wild_corpora import WILD, needs_wild
from turnwise.errors import DataError, UsageError
from turnwise.meta.pair_accuracy import (
    PairScores,
    accuracy_differences,
    correct,
    one_rater,
    pair_accuracy,
    tie_calibration,
)


def scores(differences: list[float], outcomes: list[int], **more: object) -> PairScores:
    pairs = tuple(chosen(outcome, at=at) for at, outcome in enumerate(outcomes))
    return PairScores("m", "m|v:1", pairs, np.array(differences), {}, "higher")


def test_accuracy_is_the_share_of_choices_that_the_metric_predicts() -> None:
    finding = pair_accuracy(scores([1, 2, -1, 3], [1, 1, -1, -1]), dimension="overall", group="")
    assert finding.estimate == 0.75
    assert finding.floor == 0.5
    assert finding.epsilon == 0


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
    assert finding.n_tied == 90


def test_ties_are_calibrated_by_trying_every_epsilon() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        outcomes = rng.integers(-1, 2, 25).astype(float)
        differences = outcomes * 0.5 + rng.normal(0, 0.7, 25)

        def accuracy(epsilon: float, d: np.ndarray = differences, o: np.ndarray = outcomes) -> float:
            return float(np.mean(np.where(np.abs(d) <= epsilon, 0, np.sign(d)) == o))

        best = max(accuracy(epsilon) for epsilon in [0.0, *np.abs(differences)])
        assert accuracy(tie_calibration(differences, outcomes)) == pytest.approx(best)


def test_one_rater_is_compared_with_the_majority_of_the_others() -> None:
    pairs = [chosen(1, rater="ann"), chosen(1, rater="bob"), chosen(-1, rater="cat")]
    # ann and bob face one vote each way among the others (a tie); cat faces two for the first.
    assert one_rater(pairs) == 0
    assert one_rater([*pairs[:2]]) == 1
    assert np.isnan(one_rater(pairs[:1]))


def test_a_metric_that_is_always_right_has_an_exact_p_and_the_interval_that_agrees_with_it() -> None:
    finding = pair_accuracy(scores([1.0] * 30, [1] * 30), dimension="overall", group="")
    assert finding.estimate == 1
    # Clopper and Pearson 1934: at an accuracy of this end, 30 right of 30 have probability .025.
    assert finding.interval == pytest.approx((0.025 ** (1 / 30), 1.0))
    assert finding.p == pytest.approx(2 * 0.5**30)
    assert finding.method == "sign test by cluster"


def test_a_metric_that_is_always_wrong_has_an_interval_too() -> None:
    finding = pair_accuracy(scores([-1.0] * 30, [1] * 30), dimension="overall", group="")
    assert finding.interval == pytest.approx((0.0, 1 - 0.025 ** (1 / 30)))
    assert finding.p == pytest.approx(2 * 0.5**30)


def test_an_accuracy_near_one_has_the_interval_of_wilson_and_not_one_that_is_cut_at_one() -> None:
    finding = pair_accuracy(scores([1.0] * 39 + [-1.0], [1] * 40), dimension="overall", group="")
    low, high = finding.interval
    # Wilson's interval of 39 of 40 is .871 to .996; ours has the tail of t and the variance with n - 1.
    assert (low, high) == (pytest.approx(0.871, abs=0.01), pytest.approx(0.996, abs=0.003))
    assert finding.p < 0.001


def test_an_interval_excludes_the_floor_just_where_p_is_below_a_twentieth() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        right = rng.random(25) < 0.7
        made = scores(np.where(right, 1.0, -1.0).tolist(), [1] * 25)
        finding = pair_accuracy(made, dimension="overall", group="")
        assert (not finding.interval[0] <= 0.5 <= finding.interval[1]) == (finding.p < 0.05)


@pytest.mark.parametrize("accuracy", [0.9, 0.95, 0.975])
def test_intervals_of_high_accuracies_cover_the_truth(accuracy: float) -> None:
    # The t interval that was cut at 1 covers .91 to .94 with 150 pairs.
    rng, n, covered = np.random.default_rng(int(1000 * accuracy)), 150, 0
    for _ in range(400):
        right = rng.random(n) < accuracy
        made = scores(np.where(right, 1.0, -1.0).tolist(), [1] * n)
        low, high = pair_accuracy(made, dimension="overall", group="").interval
        covered += low <= accuracy <= high
    assert 0.93 <= covered / 400 <= 0.98


def test_choices_that_are_all_ties_are_refused() -> None:
    finding = pair_accuracy(scores([1.0, 2.0, -3.0], [0, 0, 0]), dimension="overall", group="")
    assert (finding.status, finding.estimate) == ("refused", None)
    assert "all 3 preferences are ties" in finding.reason


def test_a_metric_that_is_always_right_is_tested_against_one_that_never_decides() -> None:
    right, never = scores([1.0] * 30, [1] * 30), scores([0.0] * 30, [1] * 30)
    never = PairScores("other", "o|v:1", right.pairs, never.differences, {}, "higher")
    (row,) = accuracy_differences([right, never], dimension="overall", group="")
    assert row.difference == 0.5
    assert row.p == pytest.approx(2 * 0.5**30)
    assert "sign test" in row.method


def test_metrics_that_make_the_same_choices_are_not_shown_to_differ() -> None:
    one = scores([1.0, -1.0, 2.0, 1.0], [1, 1, 1, -1])
    same = PairScores("other", "o|v:1", one.pairs, 2 * one.differences, {}, "higher")
    (row,) = accuracy_differences([one, same], dimension="overall", group="")
    assert (row.difference, row.p) == (0, 1)


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
    assert any(claim.startswith("question-rate was not shown to agree with people") for claim in made.claims)


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
    with pytest.raises(DataError, match="no preferences in the data"):
        turnwise.meta_evaluate([{**one, "preferences": []} for one in rated()], level="pair")
    with pytest.raises(UsageError, match="no preference has the dimension `overal`"):
        turnwise.meta_evaluate(votes(), metrics="length", level="pair", dimension="overal")


def test_statistics_of_ratings_are_refused_at_level_pair() -> None:
    with pytest.raises(UsageError, match=r"`kendall` is for ratings; .* leave out"):
        turnwise.meta_evaluate(votes(), metrics="length", level="pair", statistics="kendall")


def rated() -> list[dict[str, object]]:
    return [
        {**one, "ratings": [{"dimension": "overall", "value": 1, "rater": "ann", "turn": 1}]}
        for one in votes(4)
    ]


@needs_wild
def test_the_150_pairs_of_hh_rlhf_are_read_and_neither_metric_predicts_them() -> None:
    pytest.importorskip("torch")
    found = turnwise.meta_evaluate(
        WILD / "hh_rlhf_pairs.jsonl",
        reader="preferences",
        metrics="length,turnwise,question-rate",
        level="pair",
    )
    length, own, questions = found
    assert length["n_items"] == 150
    assert own["n_items"] == 140  # a reply is empty, and others are unlike small talk
    assert length["estimate"] == pytest.approx(0.470, abs=0.001)
    assert own["estimate"] == pytest.approx(0.368, abs=0.03)
    assert questions["estimate"] == pytest.approx((32 + 90 / 2) / 150)
    assert (questions["n_tied"], length["n_tied"]) == (90, 5)
    assert questions["p"] > 0.05
