"""From a plan to an estimate: dialogues are drawn, people rate them, and their ratings are weighed by the draw."""

import json
from pathlib import Path

import pytest

import turnwise as tw
from tests.finished_runs import write_partly_rated
from turnwise.logs import native

pytest.importorskip("starlette", reason="needs the extra `web`")


def test_what_people_rate_of_a_plan_is_read_back_with_its_weights(tmp_path: Path):
    from tests.studies import PLAIN, Running, finish
    from turnwise.web.study.definition import read_study
    from turnwise.web.study.export import export_dialogues

    logs = write_partly_rated(tmp_path / "logs.jsonl", every=2)
    asked = {"metrics": "length", "to": "rating:satisfaction", "figures": False}
    before = tw.calibrate(logs, labels="random", plan=8, output=tmp_path / "next", **asked)
    plan = list(native.read(str(tmp_path / "next" / "plan.jsonl")))
    assert len(plan) == 8
    question = {"name": "satisfaction", "text": "How satisfied are you?", "scale": [1, 5]}
    study = read_study(None, mode="dialogue", per_task=1, question=[question], **PLAIN)
    running = Running(str(tmp_path / "ratings.db"), study, plan)
    try:
        assert finish(running.visitor("anna")) == 8
        running.recorder.flush()
        rated = list(export_dialogues(running.recorder.ledger, plan))
    finally:
        running.recorder.close()
    assert [one.meta["weight"] for one in rated] == [one.meta["weight"] for one in plan]
    native.write(rated, str(tmp_path / "rated.jsonl"))
    files = [tmp_path / "rated.jsonl", tmp_path / "next" / "rest.jsonl"]
    after = tw.calibrate(files, labels="weights:meta.weight", **asked)
    counts = [sum(one["n_labels"] for one in found.means()) for found in (before, after)]
    assert counts[1] == counts[0] + 8
    assert json.loads((tmp_path / "next" / "results.json").read_bytes())["plan"]["drawn"] == 8
