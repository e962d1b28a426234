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
    assert claim.verdict == "People would rate a and b highest of 3 agents; which of them is better is open"
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
