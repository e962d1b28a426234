"""When a metric may be called trustworthy, and when not."""

from typing import Any

import pytest

from tests.made_runs import made_run
from turnwise.report.claims import claims_of


def record(metric: str, value: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    """A result of `meta` on one agent's replies."""
    return {
        "metric": metric, "statistic": "spearman", "level": "turn", "dimension": "overall", "group": None,
        "estimate": value, "interval": [low, high], "p": 0.001 if low > 0 or high < 0 else 0.4, "status": "ok",
        "one_rater": 0.7, "n_items": 300, "n_clusters": 100, "clusters_needed": 900, "better": "higher", **more,
    }  # fmt: skip


def inside(
    metric: str, value: float, low: float, high: float, pooled: float = 0.5, **more: Any
) -> dict[str, Any]:
    """A result of `meta` on several agents, with this agreement inside agents."""
    within = {"within_agents": value, "within_agents_interval": [low, high], "one_rater_within_agents": 0.6}
    return record(metric, pooled, pooled - 0.1, pooled + 0.1, **{**within, **more})


def difference(a: str, b: str, value: float, p: float, suffix: str = "") -> dict[str, Any]:
    about = {"dimension": "overall", "level": "turn", "statistic": "spearman", "group": None}
    return {"metric_a": a, "metric_b": b, f"difference{suffix}": value, f"p_adjusted{suffix}": p, **about}


def made(*records: dict[str, Any], differences: tuple[dict[str, Any], ...] = (), **more: Any) -> list[Any]:
    return claims_of(made_run("meta", *records, differences=differences, **more))


def test_a_metric_near_one_rater_and_shown_above_the_others_is_trusted():
    best, other = record("judge", 0.62, 0.5, 0.7), record("length", 0.2, 0.1, 0.3)
    (claim,) = made(best, other, differences=(difference("judge", "length", 0.42, 0.01),))
    assert claim.kind == "trust"
    assert str(claim) == (
        "Trust judge most: judge, the highest, has 0.62 [0.50, 0.70] (spearman on overall, turn level); "
        "one rater has 0.70 with the others."
    )


@pytest.mark.parametrize("p", [0.2, None])
def test_metrics_whose_difference_was_not_shown_cannot_be_told_apart(p: float | None):
    best, other = record("judge", 0.62, 0.5, 0.7), record("length", 0.615, 0.5, 0.7)
    (claim,) = made(best, other, differences=(difference("length", "judge", -0.005, p),))
    assert claim.kind == "best-tied"
    assert claim.verdict == (
        "judge agrees with people almost as one rater does, but was not shown to agree more than length"
    )


def test_a_difference_the_other_way_round_does_not_count():
    """On the items that both scored, the metric with the higher agreement on all its items was lower."""
    best, other = record("judge", 0.62, 0.5, 0.7), record("length", 0.5, 0.4, 0.6)
    (claim,) = made(best, other, differences=(difference("judge", "length", -0.1, 0.01),))
    assert claim.kind == "best-tied"


def test_a_metric_far_below_one_rater_is_not_trusted():
    """The report on FED said `trust length most: .243` where one rater reaches .72."""
    records = (
        record("length", 0.243, 0.1, 0.35, one_rater=0.72),
        record("chrf", 0.1, 0.0, 0.2, one_rater=0.72),
    )
    (claim,) = made(*records, differences=(difference("length", "chrf", 0.14, 0.01),))
    assert claim.kind == "far-from-person"
    assert claim.verdict == "None of these 2 metrics comes near a person"
    assert "0.24" in claim.number
    assert "0.72" in claim.evidence
    (alone,) = made(records[0])
    assert alone.verdict == "length does not come near a person"


def test_a_metric_whose_upper_bound_is_near_one_rater_is_not_said_to_be_far():
    records = (
        record("usr-ret", 0.307, 0.13, 0.448, one_rater=0.5),
        record("chrf", 0.1, 0.0, 0.2, one_rater=0.5),
    )
    (claim,) = made(*records)
    assert (claim.kind, claim.badge) == ("near-not-shown", "can't tell")
    assert claim.verdict == "None of these 2 metrics was shown to come near a person"
    (alone,) = made(records[0])
    assert alone.verdict == "usr-ret was not shown to come near a person"


def test_without_an_agreement_above_chance_no_metric_is_named_best():
    (claim,) = made(record("chrf", 0.1, -0.1, 0.3))
    assert claim.kind == "none-agrees"
    assert str(claim).startswith("chrf was not shown to agree with people: ")
    assert claim.advice == (
        "Rate 1,600 clusters instead of 100 to know the agreement of chrf to ±.05 (a cluster is a dialogue, or all "
        "replies to one context)."
    )


def test_the_advised_number_belongs_to_the_interval_that_is_quoted():
    """chrf on USR's PersonaChat: 250 clusters suit its interval over all items, 516 the quoted one inside agents."""
    (claim, _) = made(inside("chrf", 0.119, -0.030, 0.263, pooled=0.42, n_clusters=60, clusters_needed=250))
    assert "0.12 [-0.03, 0.26]" in claim.number
    assert claim.advice.startswith("Rate 516 clusters instead of 60 to know the agreement of chrf to ±.05")


def test_no_more_ratings_are_advised_where_the_interval_is_narrow_or_unknown():
    assert made(record("chrf", 0.01, -0.02, 0.04))[0].advice == ""
    assert made(record("chrf", 0.01, 0, 0, interval=None, p=0.4))[0].advice == ""


def test_where_raters_are_alone_nobody_is_trusted():
    (claim,) = made(record("judge", 0.62, 0.5, 0.7, one_rater=None))
    assert claim.kind == "agrees-best"
    assert "unknown" in claim.evidence
    assert "Trust" not in str(claim)


def test_the_agreement_inside_agents_decides():
    """MT-bench: rouge-l had .498 over all replies, and nothing inside the two bots."""
    rouge, other = (
        inside("rouge-l", 0.02, -0.2, 0.2, pooled=0.498),
        inside("chrf", 0.01, -0.2, 0.2, pooled=0.3),
    )
    main, warning = made(rouge, other)
    assert main.kind == "none-agrees"
    assert warning.kind == "between-agents-only"
    assert (
        warning.verdict
        == "rouge-l agrees with people because agents differ; inside agents that was not shown"
    )
    assert "0.50 [0.40, 0.60] (spearman on overall, turn level)" in warning.number


def test_a_pooled_correlation_that_is_reversed_is_no_reason_against_a_metric():
    """MT-bench: length had -.401 over all replies, and +.248 and -.465 inside the two bots."""
    assert {claim.kind for claim in made(inside("length", -0.12, -0.4, 0.2, pooled=-0.401))} == {
        "none-agrees"
    }
    main, against = made(
        inside("length", -0.3, -0.4, -0.2, pooled=0.4), inside("x", -0.1, -0.2, 0.1, pooled=0.0)
    )[:2]
    assert main.kind == "none-agrees"
    assert against.kind == "reversed"
    assert against.verdict == "Do not use length: it ranks against people"


def test_the_difference_inside_agents_decides_too():
    best, other = inside("judge", 0.55, 0.45, 0.65), inside("length", 0.2, 0.1, 0.3)
    over_all = difference("judge", "length", 0.2, 0.001)
    assert made(best, other, differences=(over_all,))[0].kind == "best-tied"
    within = {**over_all, **difference("judge", "length", 0.35, 0.001, "_within_agents")}
    assert made(best, other, differences=(within,))[0].kind == "trust"


def test_metrics_that_learned_from_the_items_are_left_out():
    (claim,) = made(
        record("turnwise", 0.9, 0.8, 0.95, in_training="3 of 60"),
        record("length", 0.2, 0.1, 0.3, one_rater=0.25),
    )
    assert {fact.subject for fact in claim.facts} == {"length"}
    assert str(claim).endswith("turnwise is left out, as it learned from 3 of 60 items.")


def test_a_run_of_metrics_that_learned_from_the_items_says_why_none_is_named():
    (claim,) = made(record("turnwise", 0.9, 0.8, 0.95, in_training="3 of 60"))
    assert (claim.kind, claim.badge) == ("learned-from-items", "can't tell")
    assert str(claim) == (
        "These items cannot show whether turnwise agrees with people: turnwise learned from 3 of 60 items. "
        "Test on ratings that the metric has not seen."
    )


def test_metrics_that_learned_from_the_items_are_left_out_at_system_level_too():
    (claim,) = made(
        record("turnwise", 0.9, 0.8, 0.95, level="system", n_systems=8, in_training="3 of 60"),
        record("fbd", 0.9, 0.6, 0.98, level="system", n_systems=8),
    )
    assert claim.subject == "fbd"
    assert claim.evidence == "turnwise is left out, as it learned from 3 of 60 items"


@pytest.mark.parametrize(
    ("value", "bounds", "p", "kind"),
    [
        (0.9, None, 0.001, "ranks-agents"),
        (0.9, [0.6, 0.98], 0.001, "ranks-agents"),
        (0.9, [0.6, 0.98], 0.2, "ranking-useless"),
        (0.4, [-0.6, 0.8], 0.04, "ranking-useless"),
        (-0.9, None, 0.001, "ranking-useless"),
    ],
)
def test_an_agreement_over_agents_needs_a_test_and_a_narrow_interval(value, bounds, p, kind):
    (claim,) = made(record("fbd", value, 0, 0, level="system", n_systems=8, interval=bounds, p=p))
    assert claim.kind == kind
    if kind == "ranking-useless":
        assert claim.verdict == "fbd was not shown to rank agents as people do"


def test_groups_are_never_ranked_against_each_other():
    claims = made(
        record("chrf", 0.6, 0.5, 0.7, group="a"), record("judge", 0.3, 0.1, 0.5, group="b", one_rater=0.35)
    )
    assert [{fact.group for fact in claim.facts} for claim in claims] == [{"a"}, {"b"}]
    assert [claim.subject for claim in claims] == ["chrf", "judge"]


def test_agreement_with_a_language_model_is_not_called_agreement_with_people():
    automatic = {"rating:overall": ["gpt-4"]}
    (best,) = made(record("judge", 0.62, 0.5, 0.7), automatic_raters=automatic)
    assert (best.kind, best.badge, best.verdict) == ("agrees-best", "caution", "judge agrees with gpt-4")
    assert best.evidence.endswith("gpt-4 is a language model or a program, not a person")
    (none,) = made(record("chrf", 0.1, -0.1, 0.3), automatic_raters=automatic)
    assert none.verdict == "chrf was not shown to agree with gpt-4"
    (far,) = made(record("chrf", 0.1, 0.05, 0.15), automatic_raters=automatic)
    assert far.verdict == "chrf does not come near one rater"
    system = record("fbd", 0.9, 0.6, 0.98, level="system", n_systems=8)
    assert made(system, automatic_raters=automatic)[0].verdict == "fbd ranks agents as gpt-4 does"
    other = made(record("judge", 0.62, 0.5, 0.7), automatic_raters={"rating:rude": ["gpt-4"]})[0]
    assert other.verdict == "judge agrees with people almost as one rater does"
