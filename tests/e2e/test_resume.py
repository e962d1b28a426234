"""A run that is killed at any moment resumes and writes the same bytes as an uninterrupted one."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.corpus import corpus

pytestmark = pytest.mark.slow

FILES = ("results.json", "items.jsonl", "dialogues.jsonl", "rows.json", "rows.bin")
SLOW = """
import time
def length(records):
    time.sleep(0.0006 * len(records))
    return [len(record["response"]) for record in records]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus(tmp_path / "logs.jsonl", 500)
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


def start(folder: Path, out: str, *options: str) -> subprocess.Popen[bytes]:
    command = "-m turnwise score logs.jsonl -m bleu-2,distinct-1,slow:length --draws 100 -o"
    arguments = [sys.executable, *command.split(), out, *options]
    # No git is found, so none says which commit this is: on a busy machine it might do so in time, or not.
    pinned = {**os.environ, "PATH": str(folder)}
    return subprocess.Popen(arguments, cwd=folder, env=pinned, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def contents(folder: Path, names: tuple[str, ...] = FILES) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


def test_a_run_killed_at_ten_random_moments_writes_the_same_bytes(folder: Path):
    begun = time.perf_counter()
    output, _ = start(folder, "whole").communicate()
    lasted = time.perf_counter() - begun
    moments = random.Random(7)
    killed = attempts = 0
    while killed < 10:
        attempts += 1
        assert attempts < 40, "the kills came too late to test anything"
        out = f"killed{attempts}"
        process = start(folder, out)
        time.sleep(moments.uniform(0.3, 0.95) * lasted)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
        else:  # other work on this machine has ended, and runs are shorter now
            lasted *= 0.8
        resumed, _ = start(folder, out).communicate()
        assert resumed == output
        assert contents(folder / out) == contents(folder / "whole")


def test_the_number_of_processes_does_not_change_the_result(folder: Path):
    one, _ = start(folder, "one").communicate()
    two, _ = start(folder, "two", "--jobs", "2").communicate()
    assert one == two
    assert contents(folder / "one") == contents(folder / "two")


def test_another_metric_reuses_the_rows_of_the_first(folder: Path):
    start(folder, "out").communicate()
    before = (folder / "out" / "rows.bin").read_bytes()
    process = start(folder, "out", "-m", "rouge-l")
    process.communicate()
    assert process.returncode == 0
    after = (folder / "out" / "rows.bin").read_bytes()
    assert after.startswith(before)
    assert len(after) > len(before)
