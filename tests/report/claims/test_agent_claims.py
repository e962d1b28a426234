"""What may be said of two agents: people decide, and a metric only scores."""

from typing import Any

import pytest

from tests.made_runs import made_run
from turnwise.report.claims import claims_of
from turnwise.report.runs import Run


def record(metric: str, value: float, p: float, **more: Any) -> dict[str, Any]:
    better = None if metric == "length" else "higher"
    return {
        "metric": metric, "agent_a": "one", "agent_b": "two", "group": None, "estimate": value, "p": p,
        "p_adjusted": p, "interval": [value - 0.1, value + 0.1], "n_items": 40, "n_clusters": 40, "better": better,
        "status": "ok", **more,
    }  # fmt: skip


def run(*records: dict[str, Any], command: str = "compare", sha: str = "x", **sections: Any) -> Run:
    origin = {"inputs": [{"path": "logs.jsonl", "sha256": sha}]}
    return made_run(command, *records, name=command, origin=origin, **sections)


def said(
    *records: dict[str, Any], people: tuple[dict[str, Any], ...] = (), among: tuple[Run, ...] = ()
) -> Any:
    (claim,) = claims_of(run(*records, people=list(people)), among)
    return claim


def test_a_metric_never_makes_an_agent_better():
    claim = said(record("usl-h", -0.12, 0.001))
    assert claim.kind == "scores-higher"
    assert claim.badge == "caution"
    assert claim.verdict == "two scores higher than one by usl-h"
    assert claim.evidence == "nobody rated them here; how usl-h agrees with people was not measured here"
    assert "`turnwise power`" in claim.advice
    assert "better" not in str(claim)


def test_people_decide_against_a_metric():
    """The demo said that lively-silent is better by turnwise, where people say the opposite."""
    claim = said(record("turnwise", -0.12, 0.001), people=(record("rating:overall", 0.5, 0.01),))
    assert claim.kind == "rated-higher"
    assert claim.verdict == "People rate one above two"
    assert claim.evidence == "turnwise says the opposite"
    assert claim.advice == "Between these two ask people, not turnwise."


def test_where_people_rated_and_show_no_difference_a_metric_shows_none_either():
    claim = said(record("usl-h", -0.12, 0.001), people=(record("rating:overall", 0.05, 0.4),))
    assert claim.kind == "no-difference"
    assert claim.verdict == "one and two are not told apart by people's ratings"
    assert claim.number == "one minus two is 0.05 [-0.05, 0.15] on overall"
    assert claim.evidence.startswith(
        "usl-h scores in favour of two; how usl-h agrees with people was not measured"
    )
    # The standard error is .1 / 1.96 = .051; 2.8 of it are .143, and 40 * (.143 / .05)^2 = 326.5.
    advice = (
        "Rate about 327 items of one and two together, not 40, to show 0.05 in 4 of 5 studies (power .8)."
    )
    assert claim.advice == advice


def test_ratings_and_preferences_that_were_asked_for_are_people_too():
    assert (
        said(record("rating:overall", 0.5, 0.01), record("chrf", 0.5, 0.01)).verdict
        == "People rate one above two"
    )
    assert said(record("preference:overall", -0.5, 0.01)).verdict == "People prefer two to one"
    unknown = said(record("rating:insulting", 0.5, 0.01, better=None))
    assert unknown.verdict == "People give higher ratings to one than to two"


def test_ratings_by_language_models_are_not_called_peoples():
    """The scores of MT-bench are GPT-4's, and the report said `People rate ...`."""

    def by(
        *raters: str, metric: str = "rating:overall", value: float = 0.5, p: float = 0.01, **more: Any
    ) -> Any:
        automatic = {metric: list(raters)}
        (claim,) = claims_of(run(record(metric, value, p, **more), automatic_raters=automatic), ())
        return claim

    alone = by("gpt-4")
    assert (alone.verdict, alone.badge) == ("gpt-4 rates one above two", "caution")
    assert alone.evidence == "gpt-4 is a language model or a program, not a person"
    assert by("gpt-4", "tau2").verdict == "gpt-4 and tau2 rate one above two"
    assert by("a", "b", "c").verdict == by().verdict == "Automatic raters rate one above two"
    assert by("gpt-4", metric="preference:overall").verdict == "gpt-4 prefers one to two"
    assert by("gpt-4", better=None).verdict == "gpt-4 gives higher ratings to one than to two"
    assert by("gpt-4", value=0.05, p=0.4).verdict == ("one and two are not told apart by gpt-4's ratings")
    beside = run(
        record("usl-h", -0.12, 0.001), people=[record("rating:overall", 0.5, 0.01)],
        automatic_raters={"rating:overall": ["gpt-4"]},
    )  # fmt: skip
    (claim,) = claims_of(beside, ())
    assert claim.verdict == "gpt-4 rates one above two"
    assert claim.advice == ""


def test_lower_is_better_for_some_metrics():
    claim = said(record("fbd", -0.5, 0.01, better="lower"))
    assert claim.verdict == "one scores lower than two by fbd"


def test_where_low_ratings_are_good_the_agent_with_the_lower_ones_is_better():
    claim = said(record("rating:overall", -0.93, 0.01, better="lower"))
    assert claim.verdict == "People find one better than two (low is good)"
    assert claim.number.startswith("one minus two is -0.93 [")


def test_metrics_that_contradict_each_other_decide_nothing():
    claim = said(record("chrf", 0.5, 0.01), record("usl-h", -0.5, 0.01))
    assert claim.kind == "metrics-disagree"
    assert claim.badge == "can't tell"
    assert claim.evidence == "chrf scores in favour of one; usl-h scores in favour of two"


def test_a_feature_is_no_verdict():
    assert said(record("length", 5.0, 0.001)).kind == "no-difference"


@pytest.mark.parametrize("value", [0.0, 0.001])
def test_a_tiny_difference_is_not_worth_more_ratings(value: float):
    claim = said(record("rating:overall", value, 0.9))
    assert claim.kind == "no-difference"
    assert (
        claim.advice
        == "Do not collect more to tell one and two apart: 20 times the 40 rated items that there are would not be "
        "enough."
    )


def test_agents_without_any_difference_are_the_same_and_need_no_more_ratings():
    claim = said(
        record("rating:overall", 0.0, 1.0, family="people", interval_adjusted=[0.0, 0.0], at_most_apart=0.0)
    )
    assert (claim.verdict, claim.badge, claim.advice) == (
        "one and two are the same by people's ratings",
        "no",
        "",
    )


def test_what_is_known_of_a_metric_comes_from_runs_on_the_same_data():
    agreed = {
        "metric": "usl-h", "statistic": "spearman", "level": "turn", "dimension": "overall", "group": None,
        "estimate": 0.4, "interval": [0.3, 0.5], "p": 0.001, "one_rater": 0.7, "status": "ok",
    }  # fmt: skip
    fraud = {"metric": "usl-h", "strategy": "x", "status": "ok"}
    gamed = run(fraud, command="attack", verdict={"gameable": True, "frauds": 3, "worst": "x"})
    here, elsewhere = run(agreed, command="meta"), run(agreed, command="meta", sha="other")
    claim = said(record("usl-h", 0.5, 0.01), among=(here, gamed))
    assert "usl-h agrees with people: 0.40 [0.30, 0.50] (one rater 0.70)" in claim.evidence
    assert "usl-h can be gamed (3 strategies)" in claim.evidence
    assert "was not measured here" in said(record("usl-h", 0.5, 0.01), among=(elsewhere,)).evidence


def test_shipped_attacks_are_known():
    assert "usr-ret is known to be gamed by" in said(record("usr-ret", 0.5, 0.01)).evidence


def test_a_known_policy_is_named_by_what_it_was_trained_against():
    assert (
        "turnwise is known to be gamed by mixed replies and a bot that was trained against it"
        in said(record("turnwise", 0.5, 0.01)).evidence
    )
    large = said(record("turnwise-large", 0.5, 0.01)).evidence
    assert "turnwise-large is known to be gamed by a bot that was trained against turnwise" in large
    assert "known to be gamed" not in said(record("turnwise-large[trained=free]", 0.5, 0.01)).evidence
