"""An `ope` that was killed goes on from where it was, and leaves the bytes of one that was not."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.failing_runs import SELF_KILLING_COMMAND, interrupt_after
from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.errors import UsageError
from turnwise.logs import native
from turnwise.run import spec as run_spec
from turnwise.run.ope import command as ope_module
from turnwise.run.ope import estimators as rankers
from turnwise.run.ope import logged_data
from turnwise.run.ope import stream as passes
from turnwise.run.resume.partial_results import FOLDER, PartialResults
from turnwise.run.workers.execute import Local

WHOLE = "ope logs.jsonl --all --model hashing --estimator fqe,mean-relabelled -q -o"
STREAM = "ope part0.jsonl part1.jsonl part2.jsonl --all --model hashing --stream --estimator lstdq -q -o"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("unfinished")
    talks = held(agents=6, dialogues=15)
    native.write(talks, str(place / "logs.jsonl"))
    for number in range(3):  # a file is a shard, or more
        native.write(talks[number::3], str(place / f"part{number}.jsonl"))
    return place


def written(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def counted(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[object]:
    """The tasks that a function is called with from now on."""
    seen: list[object] = []
    true = getattr(module, name)

    def noted(shared: object, task: object) -> object:
        seen.append(task)
        return true(shared, task)

    monkeypatch.setattr(module, name, noted)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "after", "todo"),
    [
        (WHOLE, 4, {"estimate_target": 2}),  # of six targets
        (STREAM, 1, {"_first": 2, "_second": 6}),  # three shards; four targets at once, then two
        (STREAM, 4, {"_first": 0, "_second": 5}),
        (STREAM, 7, {"_first": 0, "_second": 3}),
    ],
)
def test_a_killed_run_resumes_from_its_last_part_and_writes_the_same_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, after: int, todo: dict[str, int]
) -> None:
    monkeypatch.chdir(folder)
    kind = "stream" if command is STREAM else "whole"
    if not (folder / kind).exists():
        assert run([*command.split(), kind]) == 0
    broken = f"{kind}-{after}"
    process = subprocess.run(
        [sys.executable, "-c", SELF_KILLING_COMMAND, str(after), *command.split(), broken], check=False
    )
    assert process.returncode == -signal.SIGKILL
    assert not (folder / broken / "results.json").exists()
    calls = {name: counted(monkeypatch, passes if name[0] == "_" else ope_module, name) for name in todo}
    assert run([*command.split(), broken]) == 0
    assert {name: len(seen) for name, seen in calls.items()} == todo
    assert written(folder / broken) == written(folder / kind)


def test_other_settings_start_from_the_beginning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    interrupt_after(monkeypatch, 3)
    with suppress(KeyboardInterrupt):
        run([*WHOLE.split(), "other"])
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert len(os.listdir(folder / "other" / FOLDER)) == 4  # three parts and the lock
    seen = counted(monkeypatch, ope_module, "estimate_target")
    assert run([*WHOLE.split(), "other", "--no-calibrate"]) == 0
    assert len(seen) == 6
    assert not (folder / "other" / FOLDER).exists()


@pytest.mark.parametrize(
    ("module", "name", "more"),
    [(logged_data, "computed", "--rating metric:length"), (rankers, "scored", "--estimator metric:length")],
)
def test_partial_results_of_a_changed_metric_are_not_reused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: object, name: str, more: str
) -> None:
    """As when its weights or the tables of --db are others now: no setting shows it."""
    command = ["ope", "logs.jsonl", "--all", "--model", "hashing", "-q", *more.split()]
    command += ["--estimator", "fqe"] if name == "computed" else []
    monkeypatch.chdir(folder)
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        interrupt_after(patch, 3)
        run([*command, "-o", f"{name}-broken"])
    true = getattr(module, name)

    def moved(*about: object) -> dict[str, float]:
        return {key: value**2 for key, value in true(*about).items()}

    monkeypatch.setattr(module, name, moved)
    seen = counted(monkeypatch, ope_module, "estimate_target")
    run([*command, "-o", f"{name}-broken"])
    assert len(seen) == 6
    run([*command, "-o", f"{name}-new"])
    assert written(folder / f"{name}-broken") == written(folder / f"{name}-new")


def test_partial_results_do_not_depend_on_the_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git may not answer in time, or be asked after a commit of nothing but words."""
    monkeypatch.chdir(folder)
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(run_spec, "_commit", lambda: None)
        interrupt_after(patch, 4)
        run([*WHOLE.split(), "committed"])
    monkeypatch.setattr(run_spec, "_commit", lambda: "f00d")
    seen = counted(monkeypatch, ope_module, "estimate_target")
    assert run([*WHOLE.split(), "committed"]) == 0
    assert len(seen) == 2
    assert b'"commit": "f00d"' in (folder / "committed" / "results.json").read_bytes()


def half(by: float, task: int) -> np.ndarray:
    return np.asfortranarray(np.full((2, 3), task / by))


def test_arrays_are_read_bit_for_bit_and_in_their_memory_order(tmp_path: Path) -> None:
    about = {"about": "halves", "kind": np.ndarray}
    with suppress(KeyboardInterrupt), PartialResults(tmp_path, "k") as done:
        fresh = dict(done.map_tasks(Local(), half, 3.0, [1, 2], **about))
        raise KeyboardInterrupt
    with PartialResults(tmp_path, "k") as done:
        kept = dict(done.map_tasks(Local(), None, 3.0, [1, 2], **about))  # nobody is asked again
    assert all(np.array_equal(kept[task], fresh[task]) for task in (1, 2))
    assert kept[1].flags.f_contiguous
    assert not kept[1].flags.c_contiguous


def kept(folder: Path, key: str) -> list[float] | None:
    """What a run finds that is stopped in its turn."""
    found: list[list[float] | None] = []
    with suppress(KeyboardInterrupt), PartialResults(folder, key) as done:
        found.append(done.get("a", list[float]))
        raise KeyboardInterrupt
    return found[0]


def test_a_part_that_is_damaged_or_of_another_run_or_type_is_not_found(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), PartialResults(tmp_path, "k") as done:
        done.put("a", [1.5])
        done.put("b", "text")
        assert done.get("b", list[float]) is None
        done.delete("b")
        raise KeyboardInterrupt
    assert kept(tmp_path, "k") == [1.5]
    assert kept(tmp_path, "other") is None
    (part,) = (path for path in (tmp_path / FOLDER).iterdir() if path.name != "lock")
    part.write_bytes(part.read_bytes()[:-1])
    assert kept(tmp_path, "k") is None


def test_two_runs_cannot_share_a_folder_and_the_folder_is_created_at_the_first_part(tmp_path: Path) -> None:
    with PartialResults(tmp_path, "k") as one, PartialResults(tmp_path, "k") as two:
        assert os.listdir(tmp_path) == []
        one.put("a", 1)
        with pytest.raises(UsageError, match="in use by another run"):
            two.put("a", 1)
        with pytest.raises(UsageError, match="in use by another run"):
            PartialResults(tmp_path, "k")
    assert os.listdir(tmp_path) == []


def test_no_flipped_bit_of_a_part_is_used(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), PartialResults(tmp_path, "k") as done:
        done.put("a", [1.5])
        raise KeyboardInterrupt
    (part,) = (path for path in (tmp_path / FOLDER).iterdir() if path.name != "lock")
    content = part.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            part.write_bytes(flipped)
            assert kept(tmp_path, "k") is None
