"""Random valid command lines over small odd files: an answer or a reason, in seconds and with little memory.

A fixed number of inputs of the fuzzer in benchmarks/fuzz; `python -m benchmarks.fuzz --inputs N` runs as many as one
wants. An input that failed once stands in the tests of what it found, not here.
"""

import contextlib
import os
import random
from pathlib import Path

import click
import pytest

from benchmarks.fuzz.command_lines import FUNCTIONS, OMITTED, UNSET, VALUES, Scene, commands, value_of
from benchmarks.fuzz.inputs import KINDS, steps
from benchmarks.fuzz.odd_files import ODD_TEXTS
from benchmarks.fuzz.watched import watched
from turnwise.commands import COMMANDS

SEED = 26
PARTS = 6  # of each kind, so that the parts can run side by side
INPUTS = {"commands": 25, "lines": 60, "foreign": 60}  # in a part


@pytest.fixture(autouse=True)
def functions(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metrics and agents of a user that command lines name, and an empty cache."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "fuzz_functions.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # of thousands of small files


def test_every_command_and_every_option_is_tried() -> None:
    assert {*commands(), *OMITTED} == set(COMMANDS)
    options = {parameter.name for command in commands().values() for parameter in command.params}
    assert {name.split(".")[-1] for name in (*VALUES, *UNSET)} <= options


def test_an_option_without_values_gets_one_of_its_type(tmp_path: Path) -> None:
    scene = Scene(tmp_path, random.Random(SEED))
    count = click.Option(["--new-count"], type=click.IntRange(1))
    assert all(int(value_of(scene, "score", count)) >= 1 for _ in range(20))
    share = click.Option(["--new-share"], type=click.FLOAT)
    assert len({float(value_of(scene, "score", share)) for _ in range(20)}) > 1
    assert {value_of(scene, "score", click.Option(["--new-text"])) for _ in range(200)} <= set(
        map(str, ODD_TEXTS)
    )


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_every_input_gives_an_answer_or_a_reason(kind: str, part: int, tmp_path: Path) -> None:
    for number in range(part * INPUTS[kind], (part + 1) * INPUTS[kind]):
        folder = tmp_path / str(number)
        folder.mkdir()
        rng = random.Random(f"{SEED} {kind} {number}")
        with contextlib.chdir(folder):
            for words in steps(kind, Path(), rng):
                seen = watched(words)
                assert not seen.problem, f"{kind}:{number} turnwise {words}: {seen.problem}"


def test_a_hang_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless_metric.py").write_text("def score(records):\n    while True:\n        pass\n")
    (tmp_path / "logs.jsonl").write_text('{"messages": [{"role": "assistant", "content": "a"}]}\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    seen = watched(["score", "logs.jsonl", "-m", "endless_metric:score"], seconds=0.3)
    assert seen.problem.startswith("more than 0.3 s")


def test_a_traceback_a_waste_of_memory_and_a_warning_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "import warnings\ndef score(records):\n    {}\n    return [1.0 for _ in records]\n"
    (tmp_path / "wasteful_metric.py").write_text(
        body.format("bytearray(300 * 2**20)[:] = b'x' * (300 * 2**20)")
    )
    (tmp_path / "warning_metric.py").write_text(body.format("warnings.warn('odd', RuntimeWarning)"))
    (tmp_path / "logs.jsonl").write_text('{"messages": [{"role": "assistant", "content": "a"}]}\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert (
        "MB of memory"
        in watched(["score", "logs.jsonl", "-m", "wasteful_metric:score"], memory=2**28).problem
    )
    assert "warning" in watched(["score", "logs.jsonl", "-m", "warning_metric:score"]).problem
    monkeypatch.setattr("turnwise.commands.score.Score.run", lambda _: 1 / 0)
    assert "ZeroDivisionError" in watched(["score", "logs.jsonl", "-m", "length"]).problem
