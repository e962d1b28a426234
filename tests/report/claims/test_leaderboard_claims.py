"""What is said of several agents: who leads, and who does not."""

from itertools import combinations
from typing import Any

from tests.made_runs import made_run
from turnwise.report.claims import claims_of


def board(
    means: dict[str, float], shown: set[str], metric: str = "rating:overall", **more: Any
) -> dict[str, Any]:
    """A comparison of these agents in which the pairs in `shown`, such as `ab`, were shown to differ."""
    pairs = [
        {
            "metric": metric, "agent_a": a, "agent_b": b, "estimate": means[a] - means[b], "n_items": 80, "p": 0.001,
            "interval": [means[a] - means[b] - 2, means[a] - means[b] + 2], "family_size": 3, "better": "higher",
            "p_adjusted": 0.01 if a + b in shown else 0.4, "leader": a if means[a] >= means[b] else b, "status": "ok",
        }
        for a, b in combinations(means, 2)
    ]  # fmt: skip
    ranked = [
        {
            "metric": metric, "agent": agent, "estimate": mean, "interval": [mean - 1.5, mean + 1.5], "rank": rank,
            "better": "higher", "n_agents": len(means), "status": "ok",
            "n_above": sum(pair[1] == agent for pair in shown), "n_below": sum(pair[0] == agent for pair in shown),
        }
        for rank, (agent, mean) in enumerate(means.items(), start=1)
    ]  # fmt: skip
    return {"records": pairs, "leaderboard": ranked, **more}


def said(made: dict[str, Any]) -> Any:
    records = made.pop("records")
    (claim,) = claims_of(made_run("compare", *records, **made))
    return claim


MEANS = {"a": 50.0, "b": 48.0, "c": 30.0}


def test_an_agent_that_is_above_all_others_is_the_best():
    claim = said(board(MEANS, {"ab", "ac", "bc"}))
    assert (claim.verdict, claim.badge) == ("a is the best of 3 agents by people's ratings", "yes")
    assert claim.number == (
        "a 50.0 [48.5, 51.5]; b 48.0 [46.5, 49.5]; c 30.0 [28.5, 31.5] on overall "
        "(verdicts adjusted for 3 comparisons)"
    )
    assert claim.evidence == "c is below all others"
    assert claim.advice == ""
    assert [fact.direction for fact in claim.facts] == [1, 1, 1]


def test_agents_that_nobody_is_above_may_be_the_best():
    claim = said(board(MEANS, {"ac", "bc"}))
    assert claim.verdict == "Any of a and b may be the best by people's ratings; c is not"
    assert claim.evidence == "c is below all others"
    # A half-width of 2 is 1.96 standard errors; 80 * (2.8 * 1.02 / 2)^2 = 163.
    assert (
        claim.advice
        == "Rate about 163 items of a and b together, not 80, to show 2.0 in 4 of 5 studies (power .8)."
    )


def test_many_leading_agents_are_counted_and_those_that_are_not_the_best_named():
    means = {name: 60.0 - place for place, name in enumerate("abcdef")}
    claim = said(board(means, {"af", "bf"}))
    assert claim.verdict == "Any of 5 of 6 agents may be the best by people's ratings; f is not"
    assert claim.evidence == ""


def test_agents_that_are_not_told_apart_have_no_best():
    claim = said(board(MEANS, set()))
    assert claim.badge == "can't tell"
    assert claim.verdict == "The 3 agents are not told apart by people's ratings"


def test_agents_without_any_difference_are_the_same():
    made = board(dict.fromkeys("abc", 3.0), set())
    for record in made["records"]:
        record |= {"family": "people", "interval_adjusted": [0.0, 0.0]}
    claim = said(made)
    assert (claim.badge, claim.verdict) == ("no", "The 3 agents are the same by people's ratings")
    assert claim.advice == ""


def test_where_nobody_rated_a_metric_makes_no_agent_the_best():
    claim = said(board(MEANS, {"ab", "ac"}, metric="chrf"))
    assert claim.badge == "caution"
    assert claim.verdict == "a is the highest of 3 agents by chrf"
    assert "nobody rated them here" in claim.evidence
    assert "rate some dialogues of each agent" in claim.advice


def test_a_metric_that_says_the_opposite_of_people_is_named():
    made = board(MEANS, {"ab", "ac", "bc"})
    made["records"] += board({"a": 0.1, "b": 0.9, "c": 0.2}, {"ab"}, metric="chrf")["records"]
    claim = said(made)
    assert claim.evidence == "c is below all others; chrf ranks some of them the other way round"


def test_a_language_model_that_rated_makes_a_best_agent_with_caution():
    claim = said(board(MEANS, {"ab", "ac", "bc"}, automatic_raters={"rating:overall": ["gpt-4"]}))
    assert (claim.verdict, claim.badge) == ("a is the best of 3 agents by gpt-4's ratings", "caution")
    assert "gpt-4 is a language model or a program" in claim.evidence


def test_ratings_of_which_no_end_is_known_to_be_good_make_no_agent_the_best():
    made = board(MEANS, {"ab", "ac", "bc"}, metric="rating:insulting")
    for ranked in made["leaderboard"]:
        ranked["better"] = None
    assert said(made).verdict == "a is the highest of 3 agents by people's ratings"


def test_a_single_comparison_is_not_adjusted():
    made = board({"a": 50.0, "b": 48.0}, {"ab"})
    made["records"][0]["family_size"] = 1
    assert said(made).number == "a 50.0 [48.5, 51.5]; b 48.0 [46.5, 49.5] on overall"


def test_numbers_that_stand_beside_each_other_have_the_same_digits():
    made = board(MEANS, {"ab", "ac", "bc"})
    made["leaderboard"][1]["interval"] = [47.96, 48.04]
    assert said(made).number.startswith("a 50.0 [48.5, 51.5]; b 48.0 [48.0, 48.0]; c 30.0 [28.5, 31.5]")
