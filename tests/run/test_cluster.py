"""A real Ray cluster, started and ended here: the same numbers as local processes, whatever befalls its workers."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus import corpus
from tests.small_world import held
from turnwise.cli.group import run
from turnwise.encode.weights import folder_of
from turnwise.errors import TurnwiseError
from turnwise.logs import native
from turnwise.logs.shards import shards
from turnwise.run.execute import executor
from turnwise.run.passes import Pass, _first

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.xdist_group("ray")  # one cluster, whatever the number of test processes

FILES = ("results.json", "items.jsonl", "dialogues.jsonl", "rows.json", "rows.bin")
# A metric that says where it is at work, and can be told to break or to take its worker with it.
OWN = """
import os, pathlib, signal, time
HERE = pathlib.Path(__file__).parent
def length(records):
    (HERE / "at_work").write_text(str(os.getpid()))
    with (HERE / "calls").open("a") as file:
        file.write(f"{len(records)} ")
    time.sleep(0.0005 * len(records))
    last = any("question 399 " in record["context"][-1]["content"] for record in records)
    if last and (HERE / "deadly").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return [len(record["response"]) for record in records]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the data lies, with a cluster at work whose nodes have none of this machine's weights."""
    place = tmp_path_factory.mktemp("cluster")
    corpus(place / "logs.jsonl", 400)
    corpus(place / "rated.jsonl", 30)
    native.write(held(agents=6, dialogues=30), str(place / "ope.jsonl"))
    (place / "own_on_ray.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.syspath_prepend(str(place))
        with pytest.MonkeyPatch.context() as bare:
            bare.setenv("TURNWISE_CACHE", str(place / "empty"))
            ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False,
                     logging_level="ERROR", object_store_memory=80 * 2**20)  # fmt: skip
        try:
            yield place
        finally:
            ray.shutdown()
            sys.modules.pop("own_on_ray", None)


def finished(folder: Path, out: str, command: str, *options: str, code: int = 0) -> dict[str, bytes]:
    """What a run leaves behind."""
    assert run([*command.split(), "-q", "-o", str(folder / out), *options]) == code
    return {name: (folder / out / name).read_bytes() for name in FILES if (folder / out / name).exists()}


COMMANDS = {
    "score": "score logs.jsonl -m bleu-2,rouge-l,distinct-1 --draws 100",
    "fbd": "score rated.jsonl -m fbd[model=hashing],prd[model=hashing] --draws 100",
    "meta": "meta rated.jsonl -m bleu-2,length --draws 100",
    "ope": "ope ope.jsonl --all --model hashing --estimator robust,fqe,mean-relabelled",
    "stream": "ope ope.jsonl --all --model hashing --stream",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_cluster_leaves_the_bytes_that_one_process_leaves(folder: Path, name: str) -> None:
    here = finished(folder, f"{name}-here", COMMANDS[name])
    there = finished(folder, f"{name}-there", COMMANDS[name], "--on", "ray", "--jobs", "2")
    assert "results.json" in here
    assert there == here


SLOW = "score logs.jsonl -m own_on_ray:length,bleu-2 --draws 100"


def killed(folder: Path, found: list[int]) -> None:
    """Kill -9 the first worker that is at work."""
    until = time.monotonic() + 60
    while not (folder / "at_work").exists() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.05)  # into its work
    found.append(int((folder / "at_work").read_text()))
    os.kill(found[0], signal.SIGKILL)


@pytest.mark.parametrize("on", ["local", "ray"])
def test_the_work_of_a_killed_worker_is_done_again_and_counted_once(folder: Path, on: str) -> None:
    whole = finished(folder, "whole", SLOW)
    (folder / "at_work").unlink()
    victims: list[int] = []
    killer = threading.Thread(target=killed, args=(folder, victims))
    killer.start()
    there = finished(folder, f"killed-{on}", SLOW, "--on", on, "--jobs", "2")
    killer.join()
    assert victims != [os.getpid()]
    assert there == whole


def test_a_run_that_was_lost_here_is_finished_there_and_does_no_work_twice(folder: Path, capsys) -> None:
    whole = finished(folder, "whole", SLOW)
    (folder / "deadly").touch()
    try:
        finished(folder, "resumed", SLOW, "--jobs", "2", code=3)
    finally:
        (folder / "deadly").unlink()
    said = capsys.readouterr().err
    assert "workers in a row were lost over the same work" in said
    assert "resumes" in said
    assert not (folder / "resumed" / "results.json").exists()
    before = (folder / "resumed" / "rows.bin").stat().st_size
    assert before > 0
    (folder / "calls").unlink()
    assert finished(folder, "resumed", SLOW, "--on", "ray", "--jobs", "2") == whole
    assert sum(map(int, (folder / "calls").read_text().split())) < 2400


def test_work_that_no_worker_survives_ends_the_run_and_says_why(folder: Path, capsys) -> None:
    """As a worker does for which the kernel finds no memory: it is killed, each time."""
    (folder / "deadly").touch()
    try:
        finished(folder, "deadly-out", SLOW, "--on", "ray", "--jobs", "2", code=3)
    finally:
        (folder / "deadly").unlink()
    said = capsys.readouterr()
    assert "memory" in said.err
    assert said.out == ""  # Ray's own news of lost workers goes elsewhere


@pytest.mark.skipif(not folder_of("wordllama").exists(), reason="needs weights that the workers lack")
def test_a_worker_without_the_weights_says_what_it_lacks(folder: Path, capsys) -> None:
    finished(folder, "bare", "score rated.jsonl -m average[model=wordllama] --on ray --jobs 1", code=2)
    said = capsys.readouterr().err
    assert "on worker" in said
    assert "turnwise fetch wordllama" in said


def test_a_bad_line_in_a_shard_is_named_by_the_worker_that_meets_it(folder: Path) -> None:
    data = (folder / "ope.jsonl").read_bytes()
    (folder / "bad.jsonl").write_bytes(data + b'{"messages": 3}\n')
    about = Pass("reward", True, "hashing", ("a0",), 0)
    with (
        executor(1, on="ray") as workers,
        pytest.raises(TurnwiseError, match=r"on worker .*bad\.jsonl:.*messages"),
    ):
        list(workers.in_order(_first, about, shards(["bad.jsonl"])))
