"""A real Ray cluster, started and ended here: the same numbers as local processes, whatever befalls its workers.

Starting a worker costs more than what it does here, so each command is run as few times as show the thing.
"""

import hashlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from tests.corpus import corpus
from tests.failing_runs import OUT_OF_MEMORY_METRIC, interrupt_after
from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.encode.models.catalogue import folder_of
from turnwise.errors import TurnwiseError, Unmeasured, UsageError
from turnwise.logs import native
from turnwise.logs.shards import shards
from turnwise.run.ope.stream import Pass, _first
from turnwise.run.resume import partial_results
from turnwise.run.workers.cluster import _reported_version
from turnwise.run.workers.execute import executor

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),
]  # one cluster, whatever the number of test processes

# Work that takes its worker with it, as kill -9 and the kernel do: the first time that it meets the file
# `once`, or each time that a metric comes to the last question while there is a file `deadly`. It is no less
# than a worker's: the process whose number is in `driver` is spared, and the test then fails.
OWN = """
import os, pathlib, signal
HERE = pathlib.Path(__file__).parent
def length(records):
    with (HERE / "calls").open("a") as file:
        file.write(f"{len(records)} ")
    last = any("question 199 " in record["context"][-1]["content"] for record in records)
    if taken(HERE / "once") or last and (HERE / "deadly").exists():
        die()
    return [len(record["response"]) for record in records]
def estimate_target(request, target):
    from turnwise.run.ope import estimate
    if target == "a2" and taken(HERE / "once"):
        die()
    return estimate.estimate_target(request, target)
def second(about, shard):
    from turnwise.run.ope.stream import _second
    gathered = _second(about, shard)
    if taken(HERE / "once"):
        die()
    return gathered
def die():
    assert os.getpid() != int((HERE / "driver").read_text())
    with (HERE / "died").open("a") as file:
        file.write(f"{os.getpid()} ")
    os.kill(os.getpid(), signal.SIGKILL)
def taken(path):
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
"""
# A cluster of its own, of which the node goes that has the only worker, as when it loses its power: the worker has to
# be started again on the other.
NODE = """
import time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from turnwise.run.workers.execute import executor

def where(_, task):
    time.sleep(.5)
    return ray.get_runtime_context().get_node_id()

if __name__ == "__main__":
    small = {"object_store_memory": 80 * 2**20}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small}
    )
    nodes = [cluster.add_node(num_cpus=1, **small) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    with executor(1, on="ray") as workers, Path("found").open("w") as file:
        for task, found in workers.in_order(where, None, range(6)):
            print(task, [node.node_id for node in nodes].index(found), file=file)
            if task == 0:
                lost = next(node for node in nodes if node.node_id == found)
                cluster.remove_node(lost, allow_graceful=False)
    ray.shutdown()
    cluster.shutdown()
"""
# The rows of fbd are more than a pipe holds: who is killed may be in the middle of an answer, or keep one waiting.
SLAYS = "score logs.jsonl -m own_on_ray:length,bleu-2,fbd[model=hashing] --draws 100"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the data lies, with a cluster at work whose nodes have none of this machine's weights."""
    place = tmp_path_factory.mktemp("cluster")
    corpus(place / "logs.jsonl", 200)  # three shards of items
    corpus(place / "some.jsonl", 90)  # two
    corpus(place / "rated.jsonl", 30)
    corpus(place / "more.jsonl", 20, seed=1)
    talks = held(agents=6, dialogues=30)
    native.write(talks, str(place / "ope.jsonl"))
    for number in range(2):
        native.write(talks[number::2], str(place / f"part{number}.jsonl"))
    (place / "own_on_ray.py").write_text(OWN)
    (place / "driver").write_text(str(os.getpid()))
    (place / "hungry_on_ray.py").write_text(OUT_OF_MEMORY_METRIC.replace("LAST", "29"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.syspath_prepend(str(place))
        with pytest.MonkeyPatch.context() as bare:
            bare.setenv("TURNWISE_CACHE", str(place / "empty"))
            # As many threads as here, where Ray gives a worker one: the last digit of a sum hangs on it.
            bare.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", str(os.cpu_count())))
            # A GPU in name, which Ray deals out as it would a real one.
            ray.init(address="local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False,
                     logging_level="ERROR", object_store_memory=80 * 2**20)  # fmt: skip
        try:
            yield place
        finally:
            ray.shutdown()


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, str]:
    return finished(folder, "whole", SLAYS)


def finished(folder: Path, out: str, command: str, *options: str, code: int = 0) -> dict[str, str]:
    """What a run leaves behind: the digest of each file by its name, so that a difference is short and has a place."""
    assert run([*command.split(), "-q", "-o", str(folder / out), *options]) == code
    return left(folder / out)


def left(out: Path) -> dict[str, str]:
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def on_ray(jobs: int) -> tuple[str, ...]:
    return ("--on", "ray", "--jobs", str(jobs))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ray.exceptions.ActorDiedError(ray.exceptions.RayTaskError("f", "no turnwise", None)), UsageError),
        (ray.exceptions.RayActorError(error_msg="killed; its creation task had ended"), Unmeasured),
        (ray.exceptions.WorkerCrashedError(), Unmeasured),
    ],
)
def test_a_worker_that_cannot_start_is_told_from_one_that_is_gone(
    error: Exception, expected: type[TurnwiseError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def get(_: None) -> NoReturn:
        raise error

    monkeypatch.setattr(ray, "get", get)
    with pytest.raises(expected):
        _reported_version(ray, None)


@contextmanager
def lying(path: Path) -> Iterator[None]:
    """A file that lies there for a while."""
    path.touch()
    try:
        yield
    finally:
        path.unlink()


COMMANDS = {
    "score": "score some.jsonl -m bleu-2,rouge-l,distinct-1,fbd[model=hashing] --draws 100",
    "meta": "meta rated.jsonl more.jsonl --by file -m bleu-2,length --draws 100",
    "ope": "ope ope.jsonl --all --model hashing --estimator robust,fqe,mean-relabelled",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_cluster_leaves_the_bytes_that_one_process_leaves(folder: Path, name: str) -> None:
    here = finished(folder, f"{name}-here", COMMANDS[name])
    assert "results.json" in here
    assert finished(folder, f"{name}-there", COMMANDS[name], *on_ray(2)) == here


def test_a_pass_that_was_begun_here_is_finished_there(folder: Path, monkeypatch) -> None:
    command = "ope part0.jsonl part1.jsonl --all --model hashing --stream"
    here = finished(folder, "stream-here", command)
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        finished(folder, "stream", command, code=130)
    assert (folder / "stream" / partial_results.FOLDER).exists()
    assert finished(folder, "stream", command, *on_ray(2)) == here
    assert not (folder / "stream" / partial_results.FOLDER).exists()


def test_workers_without_a_gpu_make_room_for_those_with_one_and_these_do_all_work(folder: Path) -> None:
    seen, crews = [], []
    with executor(2, on="ray") as workers:
        for model in (False, True, False):
            seen.append({who for _, who in workers.in_order(_who, None, range(4), model=model)})
            crews.append(workers._crew)
        assert list(workers.in_order(_who, None, ())) == []
    assert not seen[0] & seen[1]
    assert crews[2] is crews[1]


def test_a_model_runs_on_as_many_workers_as_there_are_gpus_and_each_has_one_to_itself(folder: Path) -> None:
    with executor(on="ray") as workers:
        found = {who for _, who in workers.in_order(_gpu, None, range(4), model=True)}
        assert len(found) == 1  # of two CPUs and one GPU
        assert {gpus for _, gpus in found} == {1.0}
        crew = workers._crew
        assert len(crew) == 2  # other work is for all of them
        list(workers.in_order(_gpu, None, range(4)))
        assert workers._crew is crew


def _gpu(_: None, __: int) -> tuple[int, float]:
    return os.getpid(), ray.get_runtime_context().get_assigned_resources().get("GPU", 0.0)


def _who(_: None, __: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("on", ["local", "ray"])
def test_the_work_of_a_killed_worker_is_done_again_and_counted_once(
    folder: Path, whole: dict[str, str], on: str
) -> None:
    _loses_a_worker(folder, f"killed-{on}", SLAYS, whole, on=on)


@pytest.mark.parametrize("on", ["local", "ray"])
def test_meta_of_a_killed_worker_is_the_same(folder: Path, on: str) -> None:
    command = "meta rated.jsonl more.jsonl --by file -m own_on_ray:length,bleu-2 --draws 100"
    here = finished(folder, f"meta-{on}-whole", command)
    _loses_a_worker(folder, f"meta-{on}-killed", command, here, on=on)


@pytest.mark.parametrize("on", ["local", "ray"])
@pytest.mark.parametrize(
    ("work", "command"),
    [
        ("turnwise.run.ope.command.estimate_target", COMMANDS["ope"]),
        ("turnwise.run.ope.stream._second", "ope part0.jsonl part1.jsonl --all --model hashing --stream"),
    ],
    ids=["by agent", "by shard"],
)
def test_ope_of_a_killed_worker_is_the_same(
    folder: Path, monkeypatch, work: str, command: str, on: str
) -> None:
    name = work.rpartition(".")[2].strip("_")
    here = finished(folder, f"{name}-{on}-whole", command)
    monkeypatch.setattr(work, getattr(importlib.import_module("own_on_ray"), name))
    _loses_a_worker(folder, f"{name}-{on}-killed", command, here, on=on)


def _loses_a_worker(folder: Path, out: str, command: str, whole: dict[str, str], *, on: str) -> None:
    (folder / "once").touch()
    again = finished(folder, out, command, "--on", on, "--jobs", "2")
    assert len((folder / "died").read_text().split()) == 1
    (folder / "died").unlink()
    assert again == whole


def test_the_work_of_a_lost_node_is_done_again_on_another(tmp_path: Path) -> None:
    (tmp_path / "node.py").write_text(NODE)
    done = subprocess.run(
        [sys.executable, "node.py"], cwd=tmp_path, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    found = [line.split() for line in (tmp_path / "found").read_text().splitlines()]
    assert [task for task, _ in found] == [*"012345"]
    assert {node for _, node in found} == {"0", "1"}
    assert "a worker was lost; what it had is done again" in done.stderr


def test_work_that_no_worker_survives_ends_the_run_and_what_was_done_is_not_done_twice(
    folder: Path, whole: dict[str, str], capsys
) -> None:
    """As for a worker for which the kernel finds no memory, which is killed each time: here, then on the cluster."""
    with lying(folder / "deadly"):
        for where in (("--jobs", "2"), on_ray(2)):
            finished(folder, "deadly-out", SLAYS, *where, code=3)
            said = capsys.readouterr()
            assert "workers in a row were lost over the same work, as when memory runs out" in said.err
            assert "resumes" in said.err
            # Ray's news of the last worker may come after the run has ended: this cluster goes on.
            assert not [line for line in said.out.splitlines() if "(raylet)" not in line]
    assert len((folder / "died").read_text().split()) >= 6  # three here and three there, or what came between
    (folder / "died").unlink()
    assert not (folder / "deadly-out" / "results.json").exists()
    (folder / "calls").unlink()
    assert finished(folder, "deadly-out", SLAYS, *on_ray(1)) == whole
    # All before the shard that no worker survives was kept, whatever else was at work when they died.
    assert sum(map(int, (folder / "calls").read_text().split())) == 1200 - 2 * 512


def test_a_worker_that_finds_no_memory_says_where_and_the_run_can_be_finished_here(
    folder: Path, capsys
) -> None:
    command = "score rated.jsonl -m hungry_on_ray:length --draws 100"
    with lying(folder / "hungry"):
        finished(folder, "hungry-out", command, *on_ray(1), code=3)
    said = capsys.readouterr().err
    assert "on worker" in said
    assert "memory ran out" in said
    assert "resumes" in said
    assert finished(folder, "hungry-out", command) == finished(folder, "sated", command)


@pytest.mark.parametrize("name", ["exits", "grows"])
def test_work_that_exits_or_finds_what_is_too_large_to_pack_is_no_loss_of_a_worker(
    folder: Path, caplog, name: str
) -> None:
    work, said = {"exits": (_exits, r"sys\.exit: no licence"), "grows": (_grows, "memory ran out")}[name]
    with executor(1, on="ray") as workers, pytest.raises(TurnwiseError, match=said):
        list(workers.in_order(work, None, range(1)))
    assert not caplog.records


def _exits(_: None, __: int) -> NoReturn:
    sys.exit("no licence")


def _grows(_: None, __: int) -> "Large":
    return Large()


class Large:
    """Asks for more memory than there is when it is packed."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return bytearray, (bytearray(2**62),)


def test_a_running_cluster_is_found_by_its_address_and_its_news_are_kept_from_the_results(
    folder: Path,
) -> None:
    command = "score rated.jsonl -m own_on_ray:length --draws 100 --format json"
    address = ray.get_runtime_context().gcs_address
    asked = [*command.split(), "-q", "-o", "by-address", *on_ray(1), "--address", address]
    (folder / "once").touch()
    done = subprocess.run(
        [sys.executable, "-m", "turnwise", *asked], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len((folder / "died").read_text().split()) == 1
    (folder / "died").unlink()
    assert json.loads(done.stdout)["results"]
    assert left(folder / "by-address") == finished(folder, "by-no-address", command)


@pytest.mark.skipif(not folder_of("wordllama").exists(), reason="needs weights that the workers lack")
def test_a_worker_without_the_weights_says_what_it_lacks(folder: Path, capsys) -> None:
    finished(folder, "bare", "score rated.jsonl -m average[model=wordllama]", *on_ray(1), code=2)
    said = capsys.readouterr().err
    assert "on worker" in said
    assert "turnwise fetch wordllama" in said


def test_a_bad_line_in_a_shard_is_named_by_the_worker_that_meets_it(folder: Path) -> None:
    """The check of all lines before the work names it first; this is for files that were changed since."""
    data = (folder / "ope.jsonl").read_bytes()
    (folder / "bad.jsonl").write_bytes(data + b'{"messages": 3}\n')
    about = Pass("reward", True, "hashing", ("a0",), (), {})
    with (
        executor(1, on="ray") as workers,
        pytest.raises(TurnwiseError, match=r"on worker .*bad\.jsonl:181: .*messages"),
    ):
        list(workers.in_order(_first, about, shards(["bad.jsonl"])))
