"""`turnwise respond` as a user runs it: exit codes, notes, being killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.corpus import corpus
from tests.judge_server import serving

BOT = """
import time
from pathlib import Path
def reply(messages, rng):
    time.sleep(0.2 if Path("slowly").exists() else 0)  # so that a run can be killed in its middle
    return f"{len(messages)} {rng.integers(10**6)}"
def broken(messages):
    raise ValueError("I am broken")
def odd(messages):
    return 7 if "5" in messages[0]["content"] else "fine"
def hangs(messages):
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus(tmp_path / "logs.jsonl", 120)
    (tmp_path / "bot.py").write_text(BOT)
    return tmp_path


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "turnwise", "respond", "logs.jsonl", *words]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_killed_run_resumes_and_writes_the_same_bytes(folder: Path):
    words = ("--agent", "bot:reply", "--name", "new", "--samples", "2", "-o")
    assert run(folder, *words, "whole.jsonl").returncode == 0
    partial = folder / ".killed.jsonl.partial"
    (folder / "slowly").touch()
    process = subprocess.Popen(command(*words, "killed.jsonl"), cwd=folder, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (partial.exists() and partial.read_bytes().count(b"\n") > 2):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (folder / "slowly").unlink()
    assert not (folder / "killed.jsonl").exists()
    done = run(folder, *words, "killed.jsonl")
    assert done.returncode == 0
    assert (folder / "killed.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    assert not partial.exists()


def test_replies_can_be_scored(folder: Path):
    done = run(folder, "--agent", "bot:reply", "--name", "new", "--limit", "5", "-o", "out.jsonl")
    assert "out.jsonl: 5 dialogues written, new replies at" in done.stderr
    score = [
        sys.executable,
        "-m",
        "turnwise",
        "score",
        "out.jsonl",
        "-m",
        "length",
        "--as",
        "new",
        "--format",
        "json",
    ]
    out = subprocess.run(score, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert [(one["agent"], one["estimate"]) for one in json.loads(out)["results"]] == [("new", 2.0)]


@pytest.mark.parametrize(
    ("agent", "code", "said"),
    [
        ("bot:broken", 3, "raised ValueError: I am broken"),
        ("bot:nothing", 2, "has no function `nothing`"),
        ("nowhere:reply", 2, "cannot import the agent `nowhere:reply`"),
        ("http://127.0.0.1:1/v1", 2, "--set model=NAME"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(folder: Path, agent: str, code: int, said: str):
    done = run(folder, "--agent", agent, "--name", "new", "--limit", "2", "-o", "out.jsonl")
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out.jsonl").exists()


def test_a_hanging_agent_times_out_and_the_program_ends(folder: Path):
    begun = time.monotonic()
    done = run(
        folder, "--agent", "bot:hangs", "--name", "x", "--limit", "1", "--timeout", ".2", "-o", "out.jsonl"
    )
    assert done.returncode == 3
    assert "did not reply within 0.2 s" in done.stderr
    assert time.monotonic() - begun < 45


def test_an_agent_at_an_address_uses_the_same_command(folder: Path):
    with serving(lambda exchange: exchange.say("served")) as server:
        done = run(
            folder, "--agent", server.address, "--set", "model=m", "--name", "s", "--limit", "3",
            "--concurrency", "2", "-o", "out.jsonl",
        )  # fmt: skip
        assert server.most_at_once <= 2
    assert done.returncode == 0, done.stderr
    assert (folder / "out.jsonl").read_text().count('"s":"served"') == len(server.requests)


def test_an_agent_can_talk_to_itself(folder: Path):
    words = ("--agent", "bot:reply", "--name", "new", "--self-play", "3", "--limit", "2")
    assert run(folder, *words, "-o", "played.jsonl").returncode == 0
    played = [json.loads(line) for line in (folder / "played.jsonl").read_text().splitlines()]
    roles = [message["role"] for message in played[0]["messages"]]
    assert roles[-5:] == ["assistant", "user", "assistant", "user", "assistant"]
    assert [record["agent"] for record in played] == ["new", "new"]
    done = run(folder, "--agent", "bot:reply", "--name", "new", "--user", "bot:reply", "-o", "x.jsonl")
    assert done.returncode == 2
    assert "--user plays the user in --self-play" in done.stderr


@pytest.mark.parametrize(("more", "said"), [((), b'"n":"'), (("--self-play", "1"), b'"agent":"n"')])
def test_dialogues_can_be_read_from_a_pipe(folder: Path, more: tuple[str, ...], said: bytes):
    words = [
        sys.executable,
        "-m",
        "turnwise",
        "respond",
        "-",
        "--agent",
        "bot:reply",
        "--name",
        "n",
        "-o",
        "-",
        "-q",
        *more,
    ]
    logs = (folder / "logs.jsonl").read_bytes().splitlines(keepends=True)[0]
    done = subprocess.run(words, cwd=folder, input=logs, capture_output=True, check=True, env=os.environ)
    assert said in done.stdout
    assert done.stderr == b""
