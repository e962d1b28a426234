"""Cards of judges: agreement and attacks are remembered, and `score` reminds of what is missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import corpus
from tests.judge_server import by_length, serving
from turnwise.cli.common.group import run
from turnwise.run.scoring.judge_cards import card_of, cards


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    corpus(tmp_path / "logs.jsonl", 12)
    return tmp_path


def test_a_judge_that_was_never_checked_is_said_to_be_and_its_card_is_filled(logs: Path, capsys: Any) -> None:
    with serving(by_length) as server:
        judge = f"judge[address={server.address},model=m]"
        assert run(["score", "logs.jsonl", "-m", judge, "-o", "out"]) == 0
        assert (
            "was never compared with people (turnwise meta) nor attacked (turnwise attack)"
            in capsys.readouterr().err
        )
        assert list(cards()) == []
        assert run(["meta", "logs.jsonl", "-m", judge, "-q", "--draws", "100"]) == 0
        assert run(["score", "logs.jsonl", "-m", judge]) == 0
        said = capsys.readouterr().err
    assert "was never attacked (turnwise attack)" in said
    assert "compared with people" not in said
    signature = json.loads((logs / "out" / "results.json").read_text())["results"][0]["signature"]
    (agreed,) = [one for one in card_of(signature).agreement if one.level == "turn"]
    assert (agreed.data, agreed.dimension, agreed.statistic) == (("logs.jsonl",), "overall", "spearman")
    assert run(["ls", "judges", "--format", "json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["name"] == signature
    assert listed["agreement"][0].startswith("spearman ")


def test_a_metric_that_is_no_judge_needs_no_card(logs: Path, capsys: Any) -> None:
    assert run(["score", "logs.jsonl", "-m", "length"]) == 0
    assert "never" not in capsys.readouterr().err
    assert run(["meta", "logs.jsonl", "-m", "length", "-q", "--draws", "100"]) == 0
    assert list(cards()) == []


def write_partly_rated(logs: Path) -> None:
    """Write partly.jsonl: the logs without the ratings of every third dialogue."""
    lines = [json.loads(line) for line in (logs / "logs.jsonl").read_text().splitlines()]
    for at, line in enumerate(lines):
        if at % 3 == 0:
            del line["ratings"]
    (logs / "partly.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_scores_are_calibrated_to_the_ratings_of_some_dialogues(logs: Path, capsys: Any) -> None:
    write_partly_rated(logs)
    with serving(by_length) as server:
        judge = f"judge[address={server.address},model=m]"
        arguments = ["partly.jsonl", "-m", judge, "-q", "--format", "json", "--items", "all"]
        assert run(["score", *arguments]) == 0
        capsys.readouterr()
        asked = len(server.requests)
        assert run(["calibrate", *arguments, "--labels", "random"]) == 0
        assert len(server.requests) == asked  # the verdicts of the first run are used
    calibrated = json.loads(capsys.readouterr().out)["results"]
    assert any(one["estimate"] is not None for one in calibrated)


def test_ratings_are_looked_for_before_a_judge_is_asked(logs: Path, capsys: Any) -> None:
    lines = [json.loads(line) for line in (logs / "logs.jsonl").read_text().splitlines()]
    (logs / "unrated.jsonl").write_text(
        "".join(json.dumps({key: line[key] for key in line if key != "ratings"}) + "\n" for line in lines)
    )
    with serving(by_length) as server:
        command = ["calibrate", "unrated.jsonl", "-m", f"judge[address={server.address},model=m]"]
        assert run([*command, "--labels", "random"]) == 2
    assert server.requests == []


def test_how_ratings_were_drawn_must_be_said(logs: Path, capsys: Any) -> None:
    assert run(["calibrate", "logs.jsonl", "-m", "length", "--labels", "somehow"]) == 2
    assert "expected how the rated items were drawn" in capsys.readouterr().err
