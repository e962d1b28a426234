"""Workers do what the parent asks, in order, and do not outlive it."""

import operator
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.corpus import corpus
from turnwise.cli.group import run
from turnwise.run.execute import Local

PARENT = """
import operator, time
from turnwise.run.execute import Local

if __name__ == "__main__":
    results = Local(2).in_order(operator.pow, 2, range(8))
    print(next(results)[1], flush=True)
    time.sleep(60)
"""


def children(parent: int) -> set[int]:
    """Processes whose parent is `parent`."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_results_come_in_the_order_of_the_tasks_whatever_the_number_of_processes():
    expected = [(n, 2**n) for n in range(9)]
    assert list(Local(1).in_order(operator.pow, 2, range(9))) == expected
    assert list(Local(2).in_order(operator.pow, 2, range(9))) == expected


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for orphans in /proc")
def test_workers_end_by_themselves_when_the_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"1\n"
    workers = children(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.wait()
    process.stdout.close()
    until = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    orphans = [worker for worker in workers if alive(worker)]
    for worker in orphans:
        os.kill(worker, signal.SIGKILL)
    assert not orphans


def test_ray_is_loaded_only_for_those_who_ask_and_missed_in_words(tmp_path, monkeypatch, capsys):
    data = corpus(tmp_path / "logs.jsonl", 2)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["score", str(data), "-m", "length", "-q"]) == 0
    assert run(["score", str(data), "-m", "length", "-q", "--on", "ray"]) == 2
    assert "pip install 'turnwise[cluster]'" in capsys.readouterr().err


def test_an_address_where_no_cluster_answers_is_a_users_error_within_seconds(tmp_path, capsys):
    pytest.importorskip("ray")
    data = corpus(tmp_path / "logs.jsonl", 2)
    out = tmp_path / "out"
    begun = time.monotonic()
    asked = ["score", str(data), "-m", "length", "-o", str(out), "--on", "ray", "--address", "127.0.0.1:9"]
    assert run(asked) == 2
    assert time.monotonic() - begun < 60
    said = capsys.readouterr()
    assert "no Ray cluster answers at 127.0.0.1:9" in said.err
    assert said.out == ""
    assert run(asked[:-4]) == 0  # what was begun can be finished here


def test_an_address_without_on_ray_is_not_passed_over(tmp_path, capsys):
    data = corpus(tmp_path / "logs.jsonl", 2)
    assert run(["score", str(data), "-m", "length", "--address", "head:6379"]) == 2
    assert "--on ray" in capsys.readouterr().err


def test_a_bad_line_is_named_before_any_worker_starts(tmp_path, capsys):
    data = corpus(tmp_path / "logs.jsonl", 2)
    data.write_bytes(data.read_bytes() + b'{"messages": 3}\n')
    out = tmp_path / "out"
    assert run(["score", str(data), "-m", "length", "-o", str(out), "--on", "ray", "--jobs", "2"]) == 2
    assert "logs.jsonl:7: $.messages" in capsys.readouterr().err
    assert not out.exists()
