"""The tables of a report on how reliable judges are in themselves."""

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise as tw
from tests.corpus import corpus
from tests.judge_server import Exchange, serving
from turnwise.report.figure import Figure
from turnwise.report.report import figures as figures_of
from turnwise.report.runs import find_runs


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    return corpus(tmp_path / "logs.jsonl", 6)


def by_name(exchange: Exchange) -> None:
    """The model `high` gives 4 and `low` 2; the second sample of a question gets one point more; A wins all pairs."""
    points = {"high": 4, "low": 2}[exchange.body["model"]] + int(exchange.body.get("seed") == 1)
    pair = exchange.body["messages"][1]["content"].startswith("Compare two")
    exchange.say(f"So it is.\nVERDICT {exchange.code}: {'A' if pair else points}")


def figures(folder: Path, kind: str) -> list[Figure]:
    return [one for run in find_runs([str(folder)]) for one in figures_of(run) if one.kind == kind]


def test_the_agreement_of_a_panel_and_the_spread_of_samples_are_shown(logs: Path, tmp_path: Path) -> None:
    with serving(by_name) as server:
        metrics: list[Any] = [
            f"panel[address={server.address},models=high+low]",
            f"judge[address={server.address},model=high,samples=2,temperature=1]",
        ]
        tw.score(logs, metrics=metrics, output=tmp_path / "run")
    (figure,) = figures(tmp_path / "run", "agreement of judges")
    rows = {row[0]: dict(zip(figure.head, row, strict=True)) for row in figure.rows}
    assert rows[metrics[0]]["means of the judges"] == "high: 4.00, low: 2.00"
    assert rows[metrics[0]]["alpha"] < 0  # two judges who always differ agree less than by chance
    assert rows[metrics[1]]["sd of samples"] == pytest.approx(0.5**0.5)  # of 4 and 5


def test_the_position_bias_of_a_judge_of_pairs_is_shown(logs: Path, tmp_path: Path) -> None:
    with serving(by_name) as server:
        metric = f"judge-pair[address={server.address},model=high]"
        tw.compare(logs, metrics=metric, agents="good,poor", pair="meta.number", output=tmp_path / "run")
    (figure,) = figures(tmp_path / "run", "position bias")
    (row,) = [dict(zip(figure.head, row, strict=True)) for row in figure.rows]
    assert (row["position bias"], row["both orders agree"]) == (0.5, 0.0)
    kept = json.loads((tmp_path / "run" / "results.json").read_text())["results"][0]
    assert kept["estimate"] == 0.0
