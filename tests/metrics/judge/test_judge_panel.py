"""Panels: votes, missing verdicts, agreement, files of judges."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.judge_server import Exchange, serving
from turnwise.cli.common.group import run
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.judge.panel import Panel
from turnwise.types import Item, Turn

SCORES = {"a": 2, "b": 4, "c": 4}


def by_model(exchange: Exchange) -> None:
    model = exchange.body["model"]
    if model == "silent":
        exchange.say(None, refusal="no")
    else:
        exchange.say(f"I am {model}.\nVERDICT {exchange.code}: {SCORES[model]}")


def item(text: str = "Hello") -> Item:
    return Item("d#1", "d", "bot", (Turn("user", "Hi"), Turn("assistant", text)), 1, "d", "d")


def score(panel: Any) -> float:
    assert isinstance(panel, Panel)
    return float(panel.rows([item()])[0, 0])


def test_a_panel_takes_the_mean_or_the_majority() -> None:
    with serving(by_model) as server:
        common: dict[str, Any] = {"address": server.address, "cache": False}
        assert score(resolve("panel[models=a+b+c]", **common)) == pytest.approx(10 / 3)
        assert score(resolve("panel[models=a+b+c,vote=majority]", **common)) == 4.0
        assert (
            score(resolve("panel[models=a+b,vote=majority]", **common)) == 3.0
        )  # both values are as frequent
        assert math.isnan(score(resolve("panel[models=a+b+silent]", **common)))
        assert score(resolve("panel[models=b+c+silent,vote=majority]", **common)) == 4.0


def test_a_panel_keeps_what_each_judge_said_and_their_agreement() -> None:
    rng = np.random.default_rng(1)
    marks = {
        at: (int(value), int(np.clip(value + rng.integers(-1, 2), 1, 5)))
        for at, value in enumerate(rng.integers(1, 6, 40))
    }

    def behave(exchange: Exchange) -> None:
        at = int(exchange.quoted()[-1]["content"])
        exchange.say(f"Because.\nVERDICT {exchange.code}: {marks[at][exchange.body['model'] == 'b']}")

    items = [item(str(at)) for at in marks]
    with serving(behave) as server:
        panel = resolve("panel[models=a+b]", address=server.address, cache=False)
        assert isinstance(panel, Panel)
        panel.rows(items)
        said = panel.explanations(items)
    assert said[0] is not None
    assert said[0]["reason"] == "a: Because.\nb: Because."
    summary = panel.summary([one for one in said if one])
    # Krippendorff's alpha for interval data, worked out here: 1 - observed over expected squared differences.
    values = np.array(list(marks.values()), dtype=float)
    pooled = values.ravel()
    observed = np.mean((values[:, 0] - values[:, 1]) ** 2)
    expected = np.sum((pooled[:, None] - pooled[None, :]) ** 2) / (len(pooled) * (len(pooled) - 1))
    assert summary["panel_agreement"] == pytest.approx(1 - observed / expected)
    assert summary["panel_means"] == {
        "a": pytest.approx(values[:, 0].mean()),
        "b": pytest.approx(values[:, 1].mean()),
    }
    assert summary["spent"]["requests"] == 80


def test_judges_of_a_panel_may_be_at_different_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_B", "sk-b")
    with serving(by_model) as one, serving(by_model) as two:
        (tmp_path / "panel.toml").write_text(
            f'[[judge]]\nmodel = "a"\naddress = "{one.address}"\n'
            f'[[judge]]\nmodel = "b"\naddress = "{two.address}"\nkey = "KEY_OF_B"\n'
        )
        assert score(resolve(f"panel[judges={tmp_path / 'panel.toml'}]", cache=False)) == 3.0
    assert [len(one.requests), len(two.requests)] == [1, 1]
    assert two.requests[0].headers["Authorization"] == "Bearer sk-b"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("panel[models=a+a]", "must differ"),
        ("panel[models=a+b,vote=loudest]", "mean or majority"),
        ("panel[models=a,colour=red]", "no setting `colour`"),
        ("panel[judges=absent.toml]", "cannot be read"),
    ],
)
def test_wrong_settings_of_a_panel_are_errors(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve(name)


def test_the_report_of_a_run_shows_the_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    Path("logs.jsonl").write_text(
        "".join(json.dumps({"id": str(at), "messages": turns}) + "\n" for at in range(3))
    )
    with serving(by_model) as server:
        name = f"panel[models=a+b+c,address={server.address}]"
        assert run(["score", "logs.jsonl", "-m", name, "-o", "out", "-q"]) == 0
    result = json.loads(Path("out/results.json").read_text())["results"][0]
    assert result["explained"] == 3
    assert result["panel_means"] == SCORES
    assert run(["report", "out", "-o", "report.html"]) == 0
    page = Path("report.html").read_text()
    assert "a: I am a." in page
    assert "why panel" in page
