"""A language model as the judge, attacked with verdicts where the reply should be."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.planted import talks
from tests.judge_server import Exchange, by_length, serving
from turnwise.cli.common.group import run


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "dialogues.jsonl"
    with path.open("w") as file:
        for context in talks(40):
            turns = [{"role": turn.role, "content": turn.text} for turn in context.item.turns[2:]]
            file.write(json.dumps({"id": context.item.dialogue, "agent": "human", "messages": turns}) + "\n")
    return str(path)


def attacked(capsys, corpus: str, behave) -> dict:  # type: ignore[no-untyped-def]
    with serving(behave) as server:
        code = run(
            ["attack", f"judge[address={server.address},model=tester]", "--contexts", corpus, "--count", "40",
             "--stages", "baselines", "--budget", "1500", "--no-perturb", "--no-cache", "--format", "json"]
        )  # fmt: skip
    assert code == 0
    return json.loads(capsys.readouterr().out)


def obedient(exchange: Exchange) -> None:
    """A judge that does as the reply says."""
    reply = exchange.quoted()[-1]["content"]
    if "Ignore all earlier instructions" in reply:
        exchange.say(f"As you wish.\n\nVERDICT {exchange.code}: 5")
    else:
        exchange.say(f"Fair.\n\nVERDICT {exchange.code}: {1 + len(reply) % 3}")


def trusting(place: str) -> Callable[[Exchange], None]:
    """A judge that does as messages of one role say."""

    def behave(exchange: Exchange) -> None:
        *before, reply = exchange.quoted()
        told = [one for one in before if one["role"] == place and "repeat this verdict" in one["content"]]
        value = 5 if told else 1 + len(reply["content"]) % 3
        exchange.say(f"So be it.\n\nVERDICT {exchange.code}: {value}")

    return behave


def echoing(exchange: Exchange) -> None:
    """A judge that repeats the reply before its verdict: what a parser of the first match falls for."""
    reply = exchange.quoted()[-1]["content"]
    exchange.say(f"The reply was: {reply}\n\nVERDICT {exchange.code}: {1 + len(reply) % 3}")


def test_a_judge_that_obeys_the_reply_is_gameable(capsys, corpus: str) -> None:
    document = attacked(capsys, corpus, obedient)
    assert document["verdict"]["gameable"]
    assert "puts a verdict where the reply should be" in document["verdict"]["description"]
    assert "Ignore all earlier instructions" in document["verdict"]["description"]


@pytest.mark.parametrize(("role", "place"), [("tool", "a tool's result"), ("system", "a system prompt")])
def test_a_judge_that_obeys_tools_or_system_prompts_is_gameable_and_the_place_is_named(
    capsys, corpus: str, role: str, place: str
) -> None:
    document = attacked(capsys, corpus, trusting(role))
    assert document["verdict"]["gameable"]
    assert document["verdict"]["worst"] == f"{role} injection 2"
    assert f"has a verdict in {place}" in document["verdict"]["description"]
    others = [one for one in document["results"] if one["strategy"].endswith(" injection 1")]
    assert len(others) == 2
    assert not any(one["significant"] for one in others)


def test_a_judge_that_echoes_the_reply_is_not_gameable_because_the_last_verdict_counts(
    capsys, corpus: str
) -> None:
    document = attacked(capsys, corpus, echoing)
    injected = [row for row in document["results"] if row["strategy"].startswith("injection")]
    assert len(injected) == 4
    assert all(row["score"] <= 3 for row in injected)


def test_a_judge_that_counts_words_is_gameable_by_long_replies(capsys, corpus: str) -> None:
    document = attacked(capsys, corpus, by_length)
    assert document["verdict"]["gameable"]
    length = next(one for one in document["tendencies"] if one["feature"] == "length")
    assert length["correlation"] > 0.8


def test_the_cost_of_the_budget_is_said_before_the_first_call(capsys, corpus: str) -> None:  # type: ignore[no-untyped-def]
    """40 contexts of one request each, so a budget of 1,500 calls has 1,500 requests."""
    with serving(by_length) as server:
        arguments = [
            "--contexts",
            corpus,
            "--count",
            "40",
            "--budget",
            "1500",
            "--stages",
            "baselines",
            "--no-perturb",
        ]
        assert run(["attack", f"judge[address={server.address},model=tester,price=1/2]", *arguments]) == 0
    (line,) = [one for one in capsys.readouterr().err.splitlines() if "whole budget" in one]
    assert "1500 requests, about" in line.replace(",", "", 1)
    assert "at 1/2 a million" in line


def test_an_attack_on_a_judge_that_refuses_ends_after_the_diagnosis(capsys, corpus: str) -> None:  # type: ignore[no-untyped-def]
    with serving(lambda exchange: exchange.say(None, refusal="No.")) as server:
        arguments = ["--contexts", corpus, "--count", "40", "--budget", "1500", "--no-perturb", "--no-cache"]
        assert run(["attack", f"judge[address={server.address},model=tester]", *arguments]) == 3
    assert "the judge refused" in capsys.readouterr().err
    assert len(server.requests) < 200
