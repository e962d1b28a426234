"""Workers do what the parent asks, in order, and do not outlive it."""

import operator
import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from tests.corpus import corpus
from tests.misfortune import HUNGRY
from turnwise.cli.group import run
from turnwise.errors import UsageError
from turnwise.run.execute import Local, WorkersLost

PARENT = """
import operator, time
from turnwise.run.execute import Local

if __name__ == "__main__":
    results = Local(2).in_order(operator.pow, 2, range(8))
    print(next(results)[1], flush=True)
    time.sleep(60)
"""
# Its first task takes a worker away in the middle of an answer, or before another worker has begun; what is sent either
# way is more than a pipe holds.
KILLED = """
import os, signal, sys
from multiprocessing.connection import Connection
from pathlib import Path
from turnwise.run.execute import Local

def half(connection, data):
    os.write(connection.fileno(), bytes(data)[: len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)

def work(shared, task):
    if task == 0 and Path("once").exists():
        Path("once").unlink()
        Connection._send = half
        if sys.argv[1] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
    return bytes([task]) * 2**21

if __name__ == "__main__":
    Path("once").touch()
    for task, found in Local(2).in_order(work, bytes(2**21), range(6)):
        print(task, len(found), set(found), Path("once").exists())
"""
# Ends while its workers wait for tasks, with the stream of results still open.
UNCLOSED = """
import operator
from turnwise.run.execute import Local

if __name__ == "__main__":
    results = Local(2).in_order(operator.pow, 2, range(2))
    print(next(results)[1])
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


@pytest.mark.parametrize("when", ["before", "within"])
def test_a_worker_killed_at_a_bad_moment_holds_nobody_up_and_its_work_is_done_again(tmp_path, when):
    (tmp_path / "killed.py").write_text(KILLED)
    done = subprocess.run(
        [sys.executable, "killed.py", when], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == [f"{task} {2**21} {{{task}}} False" for task in range(6)]
    assert done.stderr.count("a worker was lost") == 1


def test_a_program_can_end_while_results_are_still_to_come(tmp_path):
    (tmp_path / "unclosed.py").write_text(UNCLOSED)
    asked = [sys.executable, "unclosed.py"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


def test_work_that_nobody_wants_any_more_is_stopped():
    results = Local(2).in_order(_sleep, None, (0, 600))
    next(results)
    begun = time.monotonic()
    results.close()
    assert time.monotonic() - begun < 60
    assert not active_children()


def _sleep(_: None, seconds: int) -> None:
    time.sleep(seconds)


def test_an_error_that_nobody_has_foreseen_says_where_it_arose():
    with pytest.raises(ZeroDivisionError) as found:
        list(Local(2).in_order(operator.truediv, 1, (1, 0)))
    assert "processes.py" in "".join(found.value.__notes__)
    with pytest.raises(RuntimeError, match="Stubborn: 3"):
        list(Local(2).in_order(_fails, None, (3,)))
    assert not active_children()


class Stubborn(Exception):
    """Is pickled, and not to be had back."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one)


def _fails(_: None, task: int) -> None:
    raise Stubborn(task, task)


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


def test_an_address_where_no_cluster_answers_is_a_users_error_and_the_run_can_be_finished_here(
    tmp_path, capsys
):
    pytest.importorskip("ray")
    data = corpus(tmp_path / "logs.jsonl", 2)
    out = tmp_path / "out"
    asked = ["score", str(data), "-m", "length", "-o", str(out), "--on", "ray", "--address", "127.0.0.1:9"]
    assert run(asked) == 2
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


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks for its size in /proc")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_worker_that_finds_no_memory_says_so_and_what_was_done_is_kept(tmp_path, monkeypatch, capsys, jobs):
    corpus(tmp_path / "logs.jsonl", 400, agents=("good",))
    (tmp_path / f"hungry{jobs}.py").write_text(HUNGRY.replace("LAST", "399"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    asked = [
        "score",
        "logs.jsonl",
        "-m",
        f"hungry{jobs}:length",
        "--draws",
        "100",
        "-q",
        "--jobs",
        jobs,
        "-o",
    ]
    assert run([*asked, "whole"]) == 0
    (tmp_path / "hungry").touch()
    assert run([*asked, "out"]) == 3
    said = capsys.readouterr().err
    assert "memory ran out" in said
    assert "resumes" in said
    assert not (tmp_path / "out" / "results.json").exists()
    (tmp_path / "hungry").unlink()
    (tmp_path / "calls").unlink()
    assert run([*asked, "out"]) == 0
    assert sum(map(int, (tmp_path / "calls").read_text().split())) == 800 - 512  # the rest, and nothing else
    for name in ("results.json", "rows.bin", "items.jsonl"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_shard_that_is_too_much_at_once_is_scored_one_by_one(tmp_path, monkeypatch, capsys):
    data = corpus(tmp_path / "logs.jsonl", 3)
    (tmp_path / "modest.py").write_text(
        "def length(records):\n"
        "    if len(records) > 1:\n"
        "        raise MemoryError\n"
        "    return [len(records[0]['response'])]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(["score", str(data), "-m", "modest:length,length", "-q"]) == 0
    assert "memory" not in capsys.readouterr().err


def test_what_ray_says_of_memory_and_of_versions_is_passed_on_in_words():
    ray = pytest.importorskip("ray")
    from turnwise.run.cluster import _check_version, _got

    class Killing:
        """Ray, where its memory monitor has killed the work once too often."""

        exceptions = ray.exceptions

        def get(self, reference):
            raise ray.exceptions.OutOfMemoryError("memory on the node was 15.9GB / 16GB")

    with pytest.raises(WorkersLost, match=r"as when memory runs out \(OutOfMemoryError\).*resumes"):
        _got(Killing(), None)
    with pytest.raises(UsageError, match=r"a worker of the cluster has 0\.0\.1"):
        _check_version("0.0.1")
