"""Latency and cost, from timestamps of a log and from what `play` measured."""

import json
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest

import turnwise as tw
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.types import Item, Turn


def reply(*turns: Turn, dialogue: str = "d") -> Item:
    return Item(f"{dialogue}#{len(turns) - 1}", dialogue, "a", turns, len(turns) - 1, dialogue, dialogue)


def stamped(role, text: str, value: object, key: str = "timestamp") -> Turn:
    return Turn(role, text, extra={key: value})


@pytest.mark.parametrize(
    ("asked", "answered", "key"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:07.500000+00:00", "timestamp"),
        (1_700_000_000, 1_700_000_002.5, "created_at"),
        (1_700_000_000_000, 1_700_000_002_500, "ts"),
        ("1700000000", "1700000002.5", "time"),
    ],
)
def test_the_latency_of_a_reply_is_the_time_since_the_users_message(asked, answered, key):
    item = reply(
        stamped("user", "Hi", asked, key), Turn("assistant", None, extra={"tool_calls": [{"id": "c"}]}),
        Turn("tool", "x"), stamped("assistant", "Hello", answered, key),
    )  # fmt: skip
    assert resolve("latency-p50").rows([item]).tolist() == [[2.5]]


def test_what_has_no_time_or_one_that_runs_backwards_is_not_scored():
    backwards = reply(stamped("user", "Hi", 20), stamped("assistant", "Hello", 10))
    without = reply(Turn("user", "Hi"), Turn("assistant", "Hello"))
    first = reply(stamped("assistant", "Welcome", 10))
    wrong = reply(stamped("user", "Hi", "yesterday"), stamped("assistant", "Hello", 10))
    assert np.isnan(resolve("latency-p95").rows([backwards, without, first, wrong])).all()


def test_the_number_is_the_quantile_of_the_replies_that_have_a_time():
    rows = np.array([[1.0], [2.0], [3.0], [nan], [10.0]])
    assert resolve("latency-p50").reduce(rows) == 2.5
    assert resolve("latency-p95").reduce(rows) == pytest.approx(np.quantile([1, 2, 3, 10], 0.95))
    assert isnan(resolve("latency-p50").reduce(rows[3:4]))


def test_times_and_costs_that_play_measured_are_read_from_its_file(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("latency_bot.py").write_text("def reply(messages):\n    return {'content': 'Yes.', 'cost': 0.25}\n")
    tw.play([{"id": "a", "turns": ["Hi", "So?"]}], agents="bot=latency_bot:reply", output="runs.jsonl")
    measured = json.loads(Path("runs.measured.jsonl").read_text())
    file = "measured=runs.measured.jsonl"
    latency, cost = tw.score("runs.jsonl", metrics=[f"latency-p50[{file}]", f"logged-cost[{file}]"]).records()
    assert latency["estimate"] == pytest.approx(sum(measured["latency"]) / 2)
    assert latency["n_items"] == 2
    assert cost["estimate"] == 0.5


def test_a_file_without_measured_times_is_a_usage_error(tmp_path: Path):
    (tmp_path / "other.jsonl").write_text('{"name": 1}\n')
    for name in ("latency-p95", "logged-cost"):
        with pytest.raises(UsageError, match="is no file of measured times"):
            resolve(f"{name}[measured={tmp_path / 'other.jsonl'}]")
