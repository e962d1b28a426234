"""A judge of pairs: both orders, ties, position bias measured and removed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.judge_server import Exchange, serving
from turnwise.cli.common.group import run

N = 60


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replies of two agents to the same contexts; each says its quality, and A is better in three of four."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    lines = []
    for at in range(N):
        for agent, quality in (("a", 7 if at % 4 else 3), ("b", 5)):
            turns = [
                {"role": "user", "content": f"Question {at}?"},
                {"role": "assistant", "content": f"quality {quality}"},
            ]
            lines.append({"id": f"{agent}{at}", "agent": agent, "messages": turns})
    (tmp_path / "logs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    return tmp_path


def shown(exchange: Exchange) -> tuple[int, int]:
    first, second = (int(one["content"].split()[-1]) for one in exchange.quoted()[-2:])
    return first, second


def fair(exchange: Exchange) -> None:
    first, second = shown(exchange)
    winner = "A" if first > second else "B" if second > first else "TIE"
    exchange.say(f"It is better.\nVERDICT {exchange.code}: {winner}")


def biased(share: float) -> Any:
    """A judge that takes the first one in this share of its answers, whatever it says."""
    rng = np.random.default_rng(0)

    def behave(exchange: Exchange) -> None:
        if rng.random() < share:
            exchange.say(f"The first.\nVERDICT {exchange.code}: A")
        else:
            fair(exchange)

    return behave


def compared(capsys: Any, behave: Any, *options: str) -> dict[str, Any]:
    with serving(behave) as server:
        name = f"judge-pair[address={server.address},model=m,concurrency=1]"
        code = run(
            ["compare", "logs.jsonl", "-m", name, "--agents", "a,b", "--format", "json", "-q", *options]
        )
    assert code == 0
    assert len(server.requests) == 2 * N
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["results"][0]
    return found


def test_a_fair_judge_finds_the_share_of_wins_and_no_position_bias(logs: Path, capsys: Any) -> None:
    found = compared(capsys, fair, "-o", "out")
    assert found["estimate"] == pytest.approx(0.75 - 0.25)
    assert (found["a"], found["b"], found["ties"]) == (0.75, 0.25, 0.0)
    assert found["position_bias"] == 0.0
    assert found["consistent"] == 1.0
    assert found["n_items"] == N
    assert found["signature"].startswith("judge|model:m|")
    lines = [json.loads(line) for line in (logs / "out" / "pairs.jsonl").read_text().splitlines()]
    assert len(lines) == N
    assert lines[1]["share_a"] == 1.0
    assert lines[1]["a_first"]["reason"] == lines[1]["b_first"]["reason"] == "It is better."
    assert found["flips"][0]["reason"] == "It is better."


def test_a_preference_for_the_first_place_is_measured_and_cancels(logs: Path, capsys: Any) -> None:
    found = compared(capsys, biased(0.6))
    # A judge that takes the first one in 60 % of answers is right in the others: its bias is 0.6 / 2 = 0.3, and the
    # difference of the shares of wins shrinks to 0.4 of the true 0.5, without favouring either agent.
    assert found["position_bias"] == pytest.approx(0.3, abs=0.07)
    low, high = found["position_bias_interval"]
    assert low < 0.3 < high
    assert low > 0.1
    assert found["estimate"] == pytest.approx(0.4 * 0.5, abs=0.12)
    assert found["consistent"] < 0.7


def test_a_judge_that_only_looks_at_the_place_finds_no_difference(logs: Path, capsys: Any) -> None:
    found = compared(capsys, biased(1.0))
    assert found["position_bias"] == 0.5
    assert found["estimate"] == 0.0
    assert found["consistent"] == 0.0


def test_ties_count_half(logs: Path, capsys: Any) -> None:
    found = compared(capsys, lambda exchange: exchange.say(f"Alike.\nVERDICT {exchange.code}: TIE"))
    assert (found["ties"], found["win_rate"], found["consistent"]) == (1.0, 0.5, 1.0)


def test_pairs_without_a_verdict_are_counted_and_failures_end_the_run(logs: Path, capsys: Any) -> None:
    def shy(exchange: Exchange) -> None:
        if "Question 7?" in exchange.body["messages"][1]["content"]:
            exchange.say(None, refusal="no")
        else:
            fair(exchange)

    with serving(shy) as server:
        name = f"judge-pair[address={server.address},model=m]"
        assert run(["compare", "logs.jsonl", "-m", name, "--format", "json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)["results"][0]
    assert found["unscored"] == {"no verdict in one of the two orders": 1}
    assert found["n_items"] == N - 1
    with serving(lambda exchange: exchange.send(403, "no")) as server:
        name = f"judge-pair[address={server.address},model=other]"
        assert run(["compare", "logs.jsonl", "-m", name, "-q"]) == 3
    assert "failed on 60 pairs" in capsys.readouterr().err


def test_the_verbose_table_has_pairs_of_both_winners(logs: Path, capsys: Any) -> None:
    with serving(fair) as server:
        name = f"judge-pair[address={server.address},model=m]"
        assert run(["compare", "logs.jsonl", "-m", name, "--agents", "a,b", "-v"]) == 0
    shown_pairs = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("a")]
    differences = [float(line[-1]) for line in shown_pairs if line[1].startswith("b")]
    assert sorted(set(differences)) == [-1.0, 1.0]


def test_the_prompt_and_the_cost_of_pairs_are_shown_before_anything_is_sent(logs: Path, capsys: Any) -> None:
    with serving(fair) as server:
        name = f"judge-pair[address={server.address},model=m,price=1/2]"
        command = ["compare", "logs.jsonl", "-m", name, "--agents", "a,b"]
        assert run([*command, "--show-prompt", "b3#1"]) == 0
        shown = capsys.readouterr().out
        assert run([*command, "--dry-run"]) == 0
        assert f"{2 * N} requests, about" in capsys.readouterr().out
        assert run([*command, "--show-prompt", "c3#1"]) == 2
        assert "no pair has the item `c3#1`" in capsys.readouterr().err
        assert run(["compare", "logs.jsonl", "-m", "length", "--agents", "a,b", "--dry-run"]) == 2
        assert "are for judge-pair" in capsys.readouterr().err
    assert server.requests == []
    assert [line.split(", ")[-2] for line in shown.splitlines() if ", prompt " in line] == [
        "a3#1 and b3#1",
        "b3#1 and a3#1",
    ]
    assert "Compare two replies to one conversation" in shown


def test_score_says_that_pairs_are_for_compare(logs: Path, capsys: Any) -> None:
    assert run(["score", "logs.jsonl", "-m", "judge-pair[model=m]", "-q"]) == 2
    assert "`turnwise compare` takes it" in capsys.readouterr().err
