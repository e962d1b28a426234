"""Logs whose single replies are rated: `respond` fills in what a new agent would say, and `ope` uses it."""

from importlib.resources import files
from pathlib import Path

import pytest

import turnwise as tw

AGENT = """
def reply(messages):
    return "I see: " + " ".join(messages[-1]["content"].split()[:4])
"""


@pytest.fixture
def answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "newbot.py").write_text(AGENT)
    logs = tmp_path / "logs.jsonl"
    logs.write_bytes((files("turnwise") / "data" / "demo.jsonl").read_bytes())
    out = tmp_path / "with-new.jsonl"
    tw.respond(logs, agent="newbot:reply", name="new", output=out)
    return out


def test_what_respond_filled_in_is_found_beside_replies_to_the_same_context(answered: Path) -> None:
    found = tw.ope(answered, targets="new", rating="overall", calibrate=False, model="hashing", figures=False)
    robust = next(one for one in found if one["estimator"] == "robust")
    assert (robust["target"], robust["n_items"]) == ("new", 94)
    assert 1 <= robust["estimate"] <= 5


def test_calibration_uses_the_contexts_that_every_agent_answered(answered: Path) -> None:
    found = tw.ope(
        answered, targets="new", rating="overall", model="hashing", pair="meta.topic", figures=False
    )
    robust = next(one for one in found if one["estimator"] == "robust")
    assert robust["n_items"] == 80
    assert robust["refused"] == (robust["estimate"] is None)
