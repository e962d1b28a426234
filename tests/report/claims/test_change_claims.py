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


def test_a_change_needs_the_test_and_the_interval():
    assert said(record("chrf", 0.5, 0.2)).kind == "no-change"
    assert said(record("chrf", 0.05, 0.01)).kind == "no-change"
    assert (
        said({**record("chrf", 0.5, 0.2), "estimate": None, "reason": "no pairs"}).kind == "nothing-compared"
    )
