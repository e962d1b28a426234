"""What is said of mean ratings from scores and some labels, and of plans."""

from itertools import combinations
from typing import Any

from tests.made_runs import made_run
from turnwise.report.claims import claims_of


def said(means: dict[str, float], shown: set[str]) -> Any:
    """The claim on these means, of which the pairs in `shown`, such as `ab`, were shown to differ."""
    common = {"metric": "chrf", "rating": "overall", "status": "ok", "n_labels": 30, "n_items": 90}
    one = [
        {**common, "agent": name, "estimate": mean, "interval": [mean - 0.3, mean + 0.3]}
        for name, mean in means.items()
    ]
    two = [
        {
            **common,
            "agent": a,
            "minus": b,
            "estimate": means[a] - means[b],
            "p_adjusted": 0.01 if a + b in shown else 0.4,
        }
        for a, b in combinations(means, 2)
    ]
    (claim,) = claims_of(made_run("calibrate", *one, *two))
    return claim


MEANS = {"a": 4.0, "b": 3.9, "c": 2.0}


def test_calibrated_means_name_the_agents_that_lead_and_count_nothing():
    claim = said(MEANS, {"ac", "bc"})
    assert (claim.badge, claim.figure) == ("yes", "calibration")
    assert claim.verdict == "Any of a and b may be rated highest by people; c is not"
    assert claim.number.endswith("c 2.00 [1.70, 2.30] on overall, verdicts adjusted for 3 comparisons")
    assert claim.evidence == "from 90 ratings of 270 items and the scores of chrf on all of them"
    assert [(fact.subject, fact.object, fact.direction) for fact in claim.facts] == [
        ("a", "b", 0), ("a", "c", 1), ("b", "c", 1),
    ]  # fmt: skip


def test_one_calibrated_agent_leads_only_if_it_is_above_the_others():
    assert said(MEANS, {"ab", "ac"}).verdict == "People would rate a highest of 3 agents"
    assert said(MEANS, set()).badge == "can't tell"


def test_a_single_agent_has_a_mean_with_caution():
    claim = said({"a": 4.0}, set())
    assert (claim.badge, claim.verdict) == ("caution", "People would rate a 4.00 [3.70, 4.30] on overall")


def test_a_count_of_scored_agents_is_no_claim():
    records = [{"metric": "chrf", "agent": name, "estimate": 1.0, "status": "ok"} for name in "ab"]
    assert claims_of(made_run("score", *records)) == []


def passes(value: float, p: float, k: int, **more: Any) -> dict[str, Any]:
    half = 0.1 if p < 0.05 else 0.4
    leads = "old" if value > 0 else "new"
    return {
        "metric": f"rating:reward pass^{k}", "agent_a": "old", "agent_b": "new", "estimate": value, "p": p,
        "p_adjusted": p, "interval": [value - half, value + half], "interval_adjusted": [value - half, value + half],
        "family": "people", "family_size": 1, "better": "higher", "leader": leads, "n_items": 20, "points": 1.0,
        "at_most_apart": abs(value) + half, "status": "ok", **more,
    }  # fmt: skip


def test_of_two_agents_that_tried_the_same_tasks_the_one_that_passes_more_is_named() -> None:
    record = {
        "metric": "rating:reward",
        "agent": "new",
        "statistic": "pass^k",
        "k": 4,
        "estimate": 0.6,
        "status": "ok",
    }
    shown = [passes(-0.2, 0.3, 1), passes(-0.3, 0.01, 4)]
    _, claim = claims_of(made_run("reliability", record, differences=shown))
    assert (claim.question, claim.kind, claim.badge) == ("agents", "passes-more", "yes")
    assert claim.verdict == "new passes all of 4 trials on more tasks than old"
    assert claim.number == "new minus old is 0.30 [0.20, 0.40] on reward pass^4, p .010"
    assert claim.evidence == "rating:reward, 20 tasks of both"
    assert [(fact.subject, fact.object, fact.direction) for fact in claim.facts] == [("old", "new", -1)]
    _, claim = claims_of(made_run("reliability", record, differences=[passes(-0.1, 0.6, 4)]))
    assert (claim.kind, claim.badge) == ("no-difference", "can't tell")
    assert claim.verdict.startswith(
        "new and old are at most 0.50 apart by the share of tasks that pass all of 4 trials"
    )
