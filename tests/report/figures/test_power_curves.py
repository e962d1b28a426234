"""Figures of power."""

from typing import Any

from tests.made_runs import made_run
from turnwise.report.claims import claims_of
from turnwise.report.report import figures


def planned(dialogues: int | None, **how: Any) -> dict[str, Any]:
    return {"metric": "rating:overall", "design": "unpaired", "turns": 1, "raters": 1, "difference": 10.0,
            "estimate": dialogues, "dialogues": dialogues, "target_power": 0.8, "status": "ok", **how}  # fmt: skip


def curve(**how: Any) -> dict[str, Any]:
    return {"metric": "rating:overall", "design": "unpaired", "turns": 1, "raters": 1, "difference": 10.0,
            "dialogues": [10, 60, 120], "power": [0.2, 0.8, 0.95], **how}  # fmt: skip


def test_the_first_figure_is_of_the_design_that_the_claim_names():
    curves = [curve(), curve(scores="turnwise"), curve(turns=3)]
    records = [planned(59), planned(57, scores="turnwise"), planned(None, turns=3)]
    run = made_run("power", *records, curves=curves)
    (claim,) = claims_of(run)
    assert claim.verdict.startswith("57 dialogues of each agent")
    assert claim.evidence.startswith("unpaired, 1 rater, with the scores of turnwise")
    assert [one.title for one in figures(run) if one.kind == "power"] == [
        "rating:overall, unpaired with scores of turnwise",
        "rating:overall, unpaired",
        "rating:overall, unpaired, turns in a dialogue: 3",
    ]
