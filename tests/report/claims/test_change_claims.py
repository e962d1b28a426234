"""What is said of two runs of one agent."""

from typing import Any

from tests.made_runs import made_run
from turnwise.report.claims import claims_of


def record(metric: str, value: float, p: float, **more: Any) -> dict[str, Any]:
    return {"metric": metric, "agent": "bot", "estimate": value, "interval": [value - 0.1, value + 0.1],
            "p_adjusted": p, "better": "higher", "status": "ok", **more}  # fmt: skip


def said(*records: dict[str, Any]) -> Any:
    (claim,) = claims_of(made_run("diff", *records))
    return claim


def test_metrics_that_changed_are_named_by_direction():
    claim = said(
        record("chrf", 0.5, 0.01), record("ppl", 0.4, 0.01, better="lower"), record("length", 1.0, 0.4)
    )
    assert claim.kind == "changed"
    assert claim.verdict == "The scores of bot changed: chrf and ppl rose"
    assert claim.evidence == "to the bad end by ppl"


def test_a_change_that_the_test_does_not_show_is_none():
    assert said(record("chrf", 0.5, 0.2)).kind == "no-change"
    assert (
        said({**record("chrf", 0.5, 0.2), "estimate": None, "reason": "no pairs"}).kind == "nothing-compared"
    )


def test_without_a_change_the_largest_one_that_is_possible_comes_first():
    claim = said(record("rating:overall", 0.1, 0.4, at_most_apart=0.43, points=4.0), record("chrf", 0.5, 0.4))
    assert claim.badge == "can't tell"
    assert claim.verdict == (
        "bot changed by at most 0.43 of 4 points by rating:overall; no change was shown (nor by chrf)"
    )
    same = said(record("chrf", 0.01, 0.4, equivalent=True, margin=0.2))
    assert (same.kind, same.badge) == ("equivalent", "no")
    assert same.verdict == "bot is equal within 0.200 in both runs by chrf"
