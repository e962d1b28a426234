"""Workers do what the parent asks, in order, and do not outlive it."""

import gc
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import active_children
from pathlib import Path
from typing import NoReturn

import pytest

from tests.corpus import corpus
from tests.failing_runs import OUT_OF_MEMORY_METRIC
from turnwise.cli.common.group import run
from turnwise.errors import UNMEASURED, TurnwiseError, UsageError
from turnwise.run.workers.execute import TRIES, Local, WorkersLost

# Has its first result at once, and workers that wait for tasks or are long at work on others.
PARENT = """
import sys, time
from turnwise.run.workers.execute import Local

def work(_, seconds):
    time.sleep(seconds)
    return 1

if __name__ == "__main__":
    results = Local(2).in_order(work, None, [0, *map(float, sys.argv[2:])])
    print(next(results)[1], flush=True)
    time.sleep(float(sys.argv[1]))
"""
WAITING, AT_WORK = ("0", "0"), ("600", "600", "600")
# Its first task takes a worker away in the middle of a result, or before another worker has begun; what is sent either
# way is more than a pipe holds.
KILLED = """
import os, signal, sys
from multiprocessing.connection import Connection
from pathlib import Path
from turnwise.run.workers.execute import Local

def half(connection, data):
    if len(data) == 4:  # how long the result is
        os.write(connection.fileno(), data)
    else:
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
# A stream that nobody holds any more, which is collected by a thread of its own crew; its second task takes a worker
# with it, so that the thread starts another.
COLLECTED = """
import gc, os, signal, sys, time
from multiprocessing import active_children
from turnwise.run.workers.execute import Local
from turnwise.run.workers.processes import _Worker

def work(seconds, task):
    time.sleep(min(task, 1) if task < 2 else seconds)
    if task == 1:
        os.kill(os.getpid(), signal.SIGKILL)

def abandon():
    held = []
    held += held, Local(2).in_order(work, float(sys.argv[2]), range(600))
    next(held[1])

if __name__ == "__main__":
    gc.disable()
    done = getattr(_Worker, sys.argv[1])
    def collecting(*given):
        found = done(*given)
        gc.collect()
        return found
    setattr(_Worker, sys.argv[1], collecting)
    abandon()
    until = time.monotonic() + 1800
    while active_children() and time.monotonic() < until:
        time.sleep(.1)
    print(active_children())
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
        [sys.executable, "killed.py", when], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines() == [f"{task} {2**21} {{{task}}} False" for task in range(6)]
    assert done.stderr.count("a worker was lost") == 1


@pytest.mark.parametrize("tasks", [WAITING, AT_WORK], ids=["waiting", "at work"])
def test_a_program_can_end_while_results_are_still_to_come(tmp_path, tasks):
    (tmp_path / "unclosed.py").write_text(PARENT)
    asked = [sys.executable, "unclosed.py", "0", *tasks]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


@pytest.mark.parametrize(("when", "seconds"), [("_start", "600"), ("do", "1")])
def test_a_stream_collected_by_a_thread_of_its_own_pool_stops_its_workers(tmp_path, when, seconds):
    (tmp_path / "collected.py").write_text(COLLECTED)
    asked = [sys.executable, "collected.py", when, seconds]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.stdout == "[]\n"
    assert not done.stderr.replace("a worker was lost; what it had is done again\n", "")


def test_work_that_nobody_wants_any_more_is_stopped():
    results = Local(2).in_order(_sleep, None, (0, 600))
    next(results)
    begun = time.monotonic()
    results.close()
    assert time.monotonic() - begun < 300
    assert not active_children()


def _sleep(_: None, seconds: int) -> None:
    time.sleep(seconds)


def test_a_worker_that_waits_leaves_by_itself_when_all_is_done(tmp_path):
    list(Local(2).in_order(_lingers, tmp_path / "left", (0,)))
    assert (tmp_path / "left").exists()
    assert not active_children()


def _lingers(file: Path, _: int) -> None:
    threading.Timer(0.5, file.touch).start()  # Python waits for it where it is not killed


def test_an_error_that_nobody_has_foreseen_says_where_it_arose():
    with pytest.raises(ZeroDivisionError) as found:
        list(Local(2).in_order(operator.truediv, 1, (1, 0)))
    assert "processes.py" in str(found.value.__cause__)
    kinds = {Stubborn: RuntimeError, Frozen: RuntimeError, Reduced: Reduced, Utter: Utter}
    for kind, comes in kinds.items():
        with pytest.raises(comes, match="3") as found:
            list(Local(2).in_order(_fails, kind, (3,)))
        assert kind.__name__ in repr(found.value)
        assert "in _fails" in str(found.value.__cause__)
    assert not active_children()


class Stubborn(Exception):
    """Is pickled, and not to be had back."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one)


@dataclass(frozen=True)
class Frozen(Exception):
    """Takes nothing that is added to it, not even by pickle."""

    one: int
    two: int


class Reduced(Exception):
    """Is pickled without what was added to it."""

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return Reduced, self.args


class Utter(BaseException):
    """Is no `Exception`."""


def _fails(kind: type[BaseException], task: int) -> None:
    raise kind(task, task)


@pytest.mark.parametrize("jobs", [1, 2])
def test_work_that_exits_is_an_error_with_its_reason_and_no_loss_of_a_worker(jobs, caplog):
    with pytest.raises(TurnwiseError, match=r"sys\.exit: no licence") as found:
        list(Local(jobs).in_order(_exits, None, (0,)))
    assert found.value.exit_code == UNMEASURED
    assert not caplog.records


def _exits(_: None, __: int) -> NoReturn:
    sys.exit("no licence")


def test_the_end_of_workers_that_were_lost_is_told_and_memory_blamed_where_it_may_be():
    with pytest.raises(WorkersLost, match=r"same work \(exit code 7\)") as found:
        list(Local(2).in_order(_dies, None, (7,)))
    assert "memory" not in str(found.value)
    with pytest.raises(WorkersLost, match=r"as when memory runs out \(killed by signal 9\).*fewer --jobs"):
        list(Local(2).in_order(_dies, None, (-signal.SIGKILL,)))


def _dies(_: None, code: int) -> None:
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


class Unpacked:
    """Asks for more memory than there is when it is unpacked."""

    def __reduce__(self) -> tuple[object, ...]:
        return bytearray, (2**62,)


class Packed:
    """The same, when it is packed."""

    def __reduce__(self) -> tuple[object, ...]:
        return bytearray, (bytearray(2**62),)


@pytest.mark.parametrize(
    ("shared", "task"),
    [(Unpacked(), 0), (None, Unpacked()), (None, Packed)],
    ids=["shared", "task", "result"],
)
def test_memory_that_runs_out_on_the_way_to_or_from_a_worker_is_told_as_such(shared, task):
    with pytest.raises(TurnwiseError, match=r"memory ran out.*fewer --jobs"):
        list(Local(2).in_order(_made, shared, (task,)))


def _made(_: object, kind: type) -> object:
    return kind()


def test_what_all_tasks_need_is_packed_once_whatever_the_number_of_workers():
    shared = Counted()
    assert [found for _, found in Local(3).in_order(operator.add, shared, range(6))] == [*range(6)]
    assert shared.times == 1


class Counted:
    """Is 0 for a worker, and knows how often it was packed."""

    times = 0

    def __reduce__(self) -> tuple[object, ...]:
        self.times += 1
        return int, ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_of_a_killed_worker_holds_nobody_up(tmp_path):
    begun = time.monotonic()
    try:
        assert [found for _, found in Local(2).in_order(_forks, tmp_path / "child", range(4))] == [*range(4)]
        assert time.monotonic() - begun < 300
    finally:
        with suppress(ProcessLookupError):
            os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def _forks(child: Path, task: int) -> int:
    if task == 0 and not child.exists():
        if process := os.fork():
            child.write_text(str(process))
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)
        os._exit(0)
    return task


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_a_stream_that_ends_leaves_no_file_open_even_before_the_garbage_is_collected():
    list(
        Local(2).in_order(operator.truediv, 1, (1, 2))
    )  # Python starts a process of its own beside the first
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(ZeroDivisionError):
            list(Local(2).in_order(operator.truediv, 1, (1, 0)))
        assert len(os.listdir("/proc/self/fd")) <= before  # what earlier tests left may close meanwhile
    finally:
        gc.enable()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for orphans in /proc")
@pytest.mark.parametrize("tasks", [WAITING, AT_WORK], ids=["waiting", "at work"])
def test_workers_end_by_themselves_when_the_parent_is_killed(tmp_path, tasks):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    process = subprocess.Popen([sys.executable, str(script), "60", *tasks], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"1\n"
    workers = children(process.pid)
    assert len(workers) >= 2
    time.sleep(0.5)  # so that they have what they are to be at work on
    process.kill()
    process.wait()
    process.stdout.close()
    until = time.monotonic() + 180
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
    (tmp_path / f"hungry{jobs}.py").write_text(OUT_OF_MEMORY_METRIC.replace("LAST", "399"))
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
    from turnwise.run.workers.cluster import _check_version, _SentTask

    class Killing:
        """Ray, where its memory monitor has killed the work."""

        exceptions = ray.exceptions

        def get(self, reference):
            raise ray.exceptions.OutOfMemoryError("memory on the node was 15.9GB / 16GB")

    asked = _SentTask("task")
    for _ in range(TRIES):
        assert not asked.result.done()
        asked.count(asked.take(Killing(), None))
    with pytest.raises(WorkersLost, match=r"as when memory runs out \(OutOfMemoryError\).*resumes"):
        asked.result.result()
    with pytest.raises(UsageError, match=r"a worker of the cluster has 0\.0\.1"):
        _check_version("0.0.1")
