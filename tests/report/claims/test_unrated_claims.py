"""What may be said of agents that nobody has rated, and of attacks."""

from typing import Any

from tests.made_runs import made_run
from turnwise.report.claims import claims_of

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
    # A half-width of (8 - 1) / 8 = .875 with a standard deviation of 1: (1.96 / .875)^2 = 5.02.
    assert claim.advice == (
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
