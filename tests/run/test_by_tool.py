"""The table of calls by tool of `score` and `compare`."""

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise
from turnwise.report.report import report
from turnwise.run.scoring.by_tool import has_failed
from turnwise.types import Rating


def exchange(
    number: int, tool: str, arguments: dict[str, Any], result: Any, **about: Any
) -> list[dict[str, Any]]:
    """A call of a tool and its result."""
    call = {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": tool, "arguments": json.dumps(arguments)},
    }
    content = result if isinstance(result, str) else json.dumps(result)
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call],
            "timestamp": f"2026-01-01T00:00:{number:02d}",
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": content, **about},
    ]


SCHEMA = {
    "type": "function",
    "function": {
        "name": "find",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}},
    },
}


def record(identity: str, agent: str, reward: int, *exchanges: list[dict[str, Any]]) -> dict[str, Any]:
    """A dialogue of these exchanges with a reward."""
    said = [message for one in exchanges for message in one]
    messages = [{"role": "user", "content": "Where is it?"}, *said, {"role": "assistant", "content": "Here."}]
    rating = {"dimension": "reward", "value": reward, "scale": [0, 1]}
    return {"id": identity, "agent": agent, "tools": [SCHEMA], "messages": messages, "ratings": [rating]}


FAILED = exchange(1, "find", {"order": "A"}, "Error: no such order", latency=2.0)
AGAIN = exchange(2, "find", {"order": "A"}, "Error: no such order", latency=4.0)
WRONG = exchange(3, "find", {"order": 7}, {"ok": 1}, timestamp="2026-01-01T00:00:06")
SENT = exchange(4, "send", {}, {"ok": 1})
BROKEN = exchange(5, "send", {}, "Error: down")
LOGS = [
    record("1", "m1", 0, FAILED, AGAIN, SENT),
    record("2", "m1", 0, WRONG, BROKEN),
    record("3", "m1", 1, SENT, FAILED),
    record("4", "m2", 0, SENT),
    record("5", "m2", 1, SENT),
]


def test_each_tool_has_its_calls_failures_repetitions_seconds_and_first_failures() -> None:
    pytest.importorskip("jsonschema")
    tools = {(one["agent"], one["tool"]): one for one in turnwise.score(LOGS, metrics="tool-errors").tools}
    find = tools["m1", "find"]
    assert (find["calls"], find["dialogues"], find["errors"], find["invalid"], find["repeated"]) == (
        4,
        3,
        3,
        1,
        1,
    )
    assert find["latency"] == (2.0 + 4.0 + 3.0 + 2.0) / 4
    # Dialogues 1 and 2 failed, and `find` was the first to fail in both.
    assert (find["failed_first"], find["failed_first_share"]) == (2, 1.0)
    send = tools["m1", "send"]
    assert (send["calls"], send["errors"], send["failed_first"]) == (3, 1, 0)
    # A tool that has no schema is not one of those that the agent could call.
    assert send["invalid"] == 3
    assert tools["m2", "send"]["failed_first_share"] == 1.0


def test_without_a_metric_of_tools_there_is_no_table() -> None:
    assert turnwise.score(LOGS, metrics="length").tools == []


def test_compare_has_the_tools_of_its_two_agents_alone() -> None:
    found = turnwise.compare(
        [*LOGS, record("6", "m3", 1, SENT)], metrics="tool-errors", agents="m1,m2", pair="none"
    )
    assert {one["agent"] for one in found.tools} == {"m1", "m2"}


def test_the_report_has_the_table(tmp_path: Path) -> None:
    turnwise.score(LOGS, metrics="tool-errors", output=tmp_path / "run")
    (figure,) = [one for one in report([str(tmp_path / "run")], title="t").figures if one.kind == "tools"]
    assert [row[:3] for row in figure.rows] == [("m1", "find", 4), ("m1", "send", 3), ("m2", "send", 2)]


def test_a_dialogue_failed_by_its_rating_and_without_one_by_its_calls() -> None:
    low = Rating("1", "reward", 0.0, scale=(0.0, 1.0))
    assert has_failed((low,), has_fault=False)
    assert not has_failed((Rating("1", "reward", 1.0, scale=(0.0, 1.0)),), has_fault=True)
    assert has_failed((Rating("1", "overall", 1.0, scale=(1.0, 5.0)),), has_fault=True)


def test_compare_says_which_dialogues_are_left_out_because_no_reply_is_rated() -> None:
    reply = {"role": "assistant", "content": "Yes."}
    rating = {"dimension": "good", "value": 1, "turn": 1}
    logs = [
        {"id": str(n), "agent": f"m{n % 2}", "messages": [{"role": "user", "content": f"{n // 2}?"}, reply],
         "ratings": [rating] if n < 8 else []}
        for n in range(12)
    ]  # fmt: skip
    for result in (turnwise.score(logs, metrics="length"), turnwise.compare(logs, metrics="length")):
        assert any("4 dialogues without a rated reply not scored" in note for note in result.notes())
