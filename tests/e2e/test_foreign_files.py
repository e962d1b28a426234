"""What a user does with files of other tools, and with one file a bot: convert, validate, score, compare."""

import json
from pathlib import Path

import pytest

from tests.console import run

TAU = [{"task_id": 3, "trial": 0, "reward": 1.0, "info": {"task": {"goal": "fly"}},
        "traj": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello you"}]}]  # fmt: skip


@pytest.fixture
def tau(tmp_path: Path) -> Path:
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(TAU, indent=1))
    return path


@pytest.mark.parametrize("command", ["turnwise validate runs.json", "turnwise score runs.json -m length"])
def test_a_foreign_file_is_named_with_the_command_that_reads_it(tau: Path, command: str) -> None:
    status, said = run(command, tau.parent)
    assert status == 2
    assert "is in the format tau-bench" in said
    assert "turnwise convert --from tau-bench runs.json logs.jsonl" in said
    assert said.count("\n") <= 2


def test_the_command_that_was_named_reads_it_and_says_what_it_understood(tau: Path) -> None:
    status, said = run("turnwise convert --from tau-bench --agent m1 runs.json logs.jsonl", tau.parent)
    assert status == 0, said
    assert "1 dialogue written, read as tau-bench" in said
    assert 'assistant  1 message, e.g. "hello you"' in said
    assert "agents: m1 (1 dialogue)" in said
    assert "ratings: 1 reward" in said


def test_with_from_any_command_reads_a_foreign_file_directly(tau: Path) -> None:
    status, said = run("turnwise score runs.json --from tau-bench --agent m1 -m length", tau.parent)
    assert status == 0, said
    assert "length  m1        2.000" in said


def test_strict_makes_a_drop_an_error_and_writes_nothing(tmp_path: Path) -> None:
    tracker = {
        "sender_id": "x",
        "events": [{"event": "user", "text": "hi"}, {"event": "action", "name": "utter_hi"}],
    }
    (tmp_path / "tracker.json").write_text(json.dumps(tracker))
    status, said = run("turnwise convert tracker.json logs.jsonl", tmp_path)
    assert (status, "not kept: 1 replies whose text is not in the tracker" in said) == (0, True)
    (tmp_path / "logs.jsonl").unlink()
    status, said = run("turnwise convert --strict tracker.json logs.jsonl", tmp_path)
    assert (status, "--strict is given" in said, (tmp_path / "logs.jsonl").exists()) == (2, True, False)


def test_a_mapping_is_saved_and_used_again(tmp_path: Path) -> None:
    record = {"log": [{"who": "ann", "say": "hi"}, {"who": "Bot", "say": "yo"}]}
    (tmp_path / "in.json").write_text(json.dumps([record]))
    first = (
        "turnwise convert --from json --map messages=log,role=who,content=say --roles Bot=assistant,*=user"
    )
    status, said = run(f"{first} --save-mapping team.toml in.json a.jsonl", tmp_path)
    assert status == 0, said
    status, said = run("turnwise convert --mapping team.toml in.json b.jsonl", tmp_path)
    assert status == 0, said
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def bot(path: Path, *replies: str) -> None:
    lines = (
        {
            "messages": [
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": reply},
            ]
        }
        for number, reply in enumerate(replies)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_two_plain_files_are_compared_under_their_names(tmp_path: Path) -> None:
    bot(tmp_path / "bot_a.jsonl", *("one two three"[: 3 + 4 * (number % 3)] for number in range(30)))
    bot(tmp_path / "bot_b.jsonl", *("one" for _ in range(20)))
    status, said = run("turnwise compare bot_a.jsonl bot_b.jsonl -m length", tmp_path)
    assert status == 0, said
    assert "length  bot_a    bot_b" in said
    assert "items without a partner, left out: 10 of bot_a and 0 of bot_b" in said
    assert "--pair KEY" in said
