"""Runs with a judge: what is kept of its answers, what they would cost, and what is sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.judge_server import Exchange, serving
from turnwise.cli.common.group import run

TURNS = [
    {"role": "user", "content": "Where is order 12?"},
    {"role": "assistant", "content": None,
     "tool_calls": [{"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"order": 12}'}}]},
    {"role": "tool", "tool_call_id": "c", "content": '{"status": "sent"}'},
    {"role": "assistant", "content": "It was sent."},
]  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    replies = [{"role": "assistant", "content": f"It was sent {at}."} for at in range(4)]
    records = [
        {"id": f"d{at}", "agent": "bot", "messages": [*TURNS[:3], reply]} for at, reply in enumerate(replies)
    ]
    (tmp_path / "logs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return tmp_path


def fair(exchange: Exchange) -> None:
    tools = [one for one in exchange.quoted() if one["role"] == "tool"]
    exchange.say(f"It agrees with {len(tools)} result.\nVERDICT {exchange.code}: 4")


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]


def test_reasons_are_kept_with_the_scores_and_come_back_from_the_cache(logs: Path, capsys: Any) -> None:
    with serving(fair) as server:
        judge = f"judge[address={server.address},model=m]"
        assert run(["score", "logs.jsonl", "-m", judge, "-o", "out", "-q"]) == 0
        first = (logs / "out" / "items.jsonl").read_bytes()
        assert run(["score", "logs.jsonl", "-m", judge, "-o", "out", "-q"]) == 0
        assert run(["score", "logs.jsonl", "-m", judge, "-o", "other", "-q"]) == 0
    assert len(server.requests) == 4
    assert (
        (logs / "out" / "items.jsonl").read_bytes() == first == (logs / "other" / "items.jsonl").read_bytes()
    )
    for line in lines(logs / "out"):
        said = line["explanations"][judge]
        assert said["reason"] == "It agrees with 1 result."
        assert said["score"] == line["scores"][judge] == 4.0
        assert {"model", "prompt", "seconds", "requests"} <= set(said)


def test_a_dry_run_sends_nothing_and_says_what_it_would_cost(logs: Path, capsys: Any) -> None:
    with serving(fair) as server:
        judge = f"judge[address={server.address},model=m,price=1/2]"
        assert run(["score", "logs.jsonl", "-m", judge, "-o", "out", "--dry-run"]) == 0
        assert run(["score", "logs.jsonl", "-m", judge, "--dry-run", "--format", "json"]) == 0
    assert server.requests == []
    assert not (logs / "out" / "results.json").exists()
    text, document = capsys.readouterr().out.split("\n", 1)
    assert ": 4 requests, about " in text
    (cost,) = json.loads(document)["forecast"]
    assert cost["requests"] == 4
    assert cost["money"] > 0


def test_the_prompt_of_an_item_can_be_read(logs: Path, capsys: Any) -> None:
    assert run(["score", "logs.jsonl", "-m", "judge[model=m]", "--show-prompt", "d2#3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("judge[model=m], d2#3, prompt ")
    assert '{"role": "tool", "name": "find", "content": "{\\"status\\": \\"sent\\"}"}' in shown
    assert "It was sent 2." in shown
    assert run(["score", "logs.jsonl", "-m", "judge[model=m]", "--show-prompt", "d9#3"]) == 2
    assert "there is no item `d9#3`" in capsys.readouterr().err
    assert run(["score", "logs.jsonl", "-m", "length", "--show-prompt"]) == 2


def test_a_cap_below_the_price_of_the_questions_is_refused_before_the_first_one(
    logs: Path, capsys: Any
) -> None:
    with serving(fair) as server:
        judge = f"judge[address={server.address},model=m,price=1000000/0]"
        assert run(["score", "logs.jsonl", "-m", judge, "-q", "--max-cost", "0.5"]) == 2
    assert server.requests == []
    assert "its questions alone cost about" in capsys.readouterr().err


def test_a_judge_of_whole_dialogues_has_one_score_for_each(logs: Path, capsys: Any) -> None:
    def done(exchange: Exchange) -> None:
        criteria = "".join(f"CRITERION {number} {exchange.code}: yes\n" for number in (1, 2, 3))
        exchange.say(f"Done.\n{criteria}VERDICT {exchange.code}: 5")

    with serving(done) as server:
        judge = f"judge[address={server.address},model=m,rubric=task-done]"
        assert run(["score", "logs.jsonl", "-m", f"{judge},length", "-o", "out", "-q"]) == 0
    (line, *_) = [one for one in lines(logs / "out") if one["turn"] is None]
    assert line["explanations"][judge]["criteria"] == {"complete": "yes", "right": "yes", "honest": "yes"}
    assert len(server.requests) == 4
