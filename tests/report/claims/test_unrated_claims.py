"""What may be said of agents that nobody has rated, and of attacks."""

from typing import Any

from tests.made_runs import made_run
from turnwise.report.claims import claims_of
from turnwise.report.tiles import tiles

MEANS = {str(at): float(at) for at in range(1, 9)}


def estimated(
    low: float, high: float, estimator: str = "mean", truth: float | None = None, **sections: Any
) -> Any:
    record = {"target": "new", "rating": "overall", "estimate": (low + high) / 2, "interval": [low, high],
              "logged": None, "truth": truth, "status": "ok", "estimator": estimator}  # fmt: skip
    known = [{"rating": "overall", "means": MEANS, "spread": 1.0, "scale": [1, 8]}]
    (claim,) = claims_of(made_run("ope", record, **{"known": known, **sections}))
    return claim


def test_an_interval_that_holds_all_agents_ranks_nobody():
    claim = estimated(0.5, 8.5)
    assert (claim.kind, claim.badge, claim.facts) == ("unrated-useless", "can't tell", ())
    assert claim.verdict == "The estimate for new is too uncertain to rank it"
    assert "contains the means of 8 of 8 rated agents" in claim.number


def test_an_interval_that_holds_most_agents_names_those_outside():
    claim = estimated(2.5, 8.5, truth=7.25)
    assert (claim.kind, claim.badge) == ("unrated-partly", "caution")
    assert (
        claim.verdict
        == "new would be rated above 1 and 2; whether it is better than the other 6 of 8 agents is open"
    )
    assert claim.number == "new would get 5.5 [2.5, 8.5] on overall"
    assert claim.evidence.endswith("; the truth, known here, is 7.25")
    assert {(fact.object, fact.direction) for fact in claim.facts} == {("1", 1), ("2", 1)}
    both = estimated(1.5, 7.5)
    assert both.verdict.startswith("new would be rated above 1 and below 8; whether")
    assert not claim.advice  # its truth is known
    # A half-width of (8 - 1) / 8 = .875 with a standard deviation of 1: (1.96 / .875)^2 = 5.02.
    assert both.advice == (
        "Rate about 6 dialogues of new for an interval of ±0.88, an eighth of the range of the other agents' means."
    )


def test_a_narrow_interval_ranks():
    claim = estimated(3.5, 5.5)
    assert claim.kind == "unrated-ranked"
    assert claim.verdict == "new would be rated above 3 and below 3 of 8 agents"
    assert [fact.object for fact in claim.facts if fact.direction == 1] == ["1", "2", "3"]
    assert [fact.object for fact in claim.facts if fact.direction == -1] == ["6", "7", "8"]


def test_the_return_of_a_task_reward_is_not_called_a_rating():
    known = [{"rating": "overall", "means": MEANS, "spread": 1.0, "scale": [0, 100], "of": "return"}]
    claim = estimated(3.5, 5.5, known=known)
    assert claim.verdict == "new would return more than 3 and less than 3 of 8 agents"
    assert claim.number.endswith("(discounted overall)")
    assert claim.evidence == "it held none of these dialogues"
    wide = estimated(0.5, 8.5, known=known)
    assert "contains the returns of 8 of 8 logged agents" in wide.number
    assert wide.advice.startswith("Log about 6 dialogues of new")


def test_a_critic_that_a_control_fools_ranks_nobody():
    critics = {"critic overall": {"fooled": True, "fooled_by": ["generic"], "worst_system": "new"}}
    claim = estimated(3.5, 5.5, critics=critics, estimator="critic")
    assert (claim.kind, claim.verdict) == ("critic-fooled", "Do not rank systems by critic")
    assert estimated(3.5, 5.5, critics=critics, estimator="mean").kind == "unrated-ranked"


def test_a_run_that_does_not_know_the_agents_only_estimates():
    assert estimated(3.5, 5.5, known=[]).kind == "unrated-estimate"


def test_no_fraud_found_is_not_called_safe():
    record = {"metric": "m", "status": "ok"}
    (claim,) = claims_of(made_run("attack", record, verdict={"gameable": False, "judged": 40}))
    assert claim.kind == "no-fraud-shown"
    assert claim.badge == "can't tell"
    assert "may still find one" in claim.advice
    assert "known to be gamed" not in claim.evidence


def test_an_attack_that_finds_nothing_says_what_others_found():
    for metric, known in (("turnwise", True), ("turnwise[trained=mine]", False), ("length", False)):
        record = {"metric": metric, "status": "ok"}
        (claim,) = claims_of(made_run("attack", record, verdict={"gameable": False, "judged": 40}))
        assert ("; on other contexts it is known to be gamed by " in claim.evidence) is known


def two(low: float, high: float) -> Any:
    """The claims of a run on two targets, whose difference has this interval."""
    records = [
        {"target": name, "rating": "overall", "estimate": value, "interval": [value - 2, value + 2],
         "status": "ok", "estimator": "dialogues", "own_dialogues": 40}
        for name, value in (("worse", 2.5), ("better", 6.5))
    ]  # fmt: skip
    known = [{"rating": "overall", "means": MEANS, "spread": 1.0, "scale": [1, 8]}]
    differences = [
        {"rating": "overall", "estimator": "dialogues", "agent": "worse", "minus": "better", "rated": False,
         "estimate": -4.0, "interval": [-high, -low], "p_above": 0.02, "regret": 0.01}
    ]  # fmt: skip
    return claims_of(made_run("ope", *records, known=known, differences=differences))


def test_the_better_of_two_targets_is_the_first_claim():
    claim, worse, _ = two(1.0, 7.0)
    assert (claim.kind, claim.badge, claim.verdict) == (
        "unrated-better",
        "yes",
        "better would be rated above worse",
    )
    assert claim.number == "worse is lower by 4.0 [1.0, 7.0] on overall"
    assert "0.980" in claim.evidence
    assert [(fact.subject, fact.object, fact.direction) for fact in claim.facts] == [("better", "worse", 1)]
    # .5 to 4.5 holds four of eight: too many to rank it, and none is below.
    assert worse.verdict.startswith("worse would be rated below 5, 6, 7 and 8; whether")
    (tile, *_) = tiles([[claim, worse]])
    assert tile.verdict == claim.verdict


def test_two_targets_that_may_be_alike_are_not_ranked():
    claim = two(-1.0, 9.0)[0]
    assert (claim.badge, claim.facts) == ("can't tell", ())
    assert claim.verdict == "better has the highest estimate; whether it would be rated above worse is open"


def test_an_agent_below_all_in_its_interval_is_not_called_above_0():
    assert estimated(-1.0, 2.5).verdict == "new would be rated below 6 of 8 agents"
    assert estimated(6.5, 9.0).verdict == "new would be rated above 6 of 8 agents"


def test_no_more_ratings_are_advised_than_there_are_dialogues():
    record = {"target": "new", "rating": "overall", "estimate": 4.5, "interval": [0.5, 8.5], "status": "ok",
              "estimator": "dialogues", "own_dialogues": 4}  # fmt: skip
    known = [{"rating": "overall", "means": MEANS, "spread": 1.0, "scale": [1, 8]}]
    (claim,) = claims_of(made_run("ope", record, known=known))
    # 1.96 / sqrt(4)
    assert claim.advice == "Rate all 4 dialogues of new, for an interval of ±0.98."
    assert claim.evidence == "from its 4 dialogues, without any rating of them"


def left_out(answered: int, half_width: float) -> Any:
    """The claim of a run in which each of six agents was left out."""
    check = {"rating": "overall", "estimator": "dialogues", "n_agents": answered, "refused": 6 - answered,
             "mae": 0.4, "coverage": 1.0, "half_width": half_width,
             "pearson": 0.95 if answered > 3 else None, "spearman": 0.5 if answered > 3 else None}  # fmt: skip
    refused = {
        "target": "1",
        "rating": "overall",
        "estimator": "dialogues",
        "status": "refused",
        "reason": "why",
    }
    known = [{"rating": "overall", "means": MEANS, "spread": 1.0, "scale": [1, 8]}]
    (claim,) = claims_of(made_run("ope", refused, known=known, validation=[check]))
    return claim


def test_leaving_agents_out_is_a_plain_yes_only_with_narrow_intervals_and_most_answered():
    claim = left_out(5, 1.0)
    assert (claim.kind, claim.badge) == ("ope-accuracy", "yes")
    assert claim.verdict == "dialogues predicted overall of 5 of 6 agents left out; 1 refused"
    assert claim.number.startswith(
        "correlation 0.95 (of ranks 0.50), mean error 0.400; 100% of intervals hold"
    )
    wide = left_out(5, 2.0)  # 4 of a range of 7
    assert wide.badge == "caution"
    assert wide.number.endswith("intervals are 4.000 wide, and the means span 7.000")
    few = left_out(2, 1.0)
    assert (few.badge, few.verdict) == (
        "can't tell",
        "2 of 6 agents left out in turn were answered, too few to say how right",
    )
    assert left_out(0, 1.0).verdict == "Agents left out in turn could not be predicted"
