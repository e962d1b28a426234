"""A file that is written whole or not at all, and the drafts that killed processes leave."""

import subprocess
import sys
from pathlib import Path

import pytest

from turnwise.logs.files import atomic

KILLED = """
import os, signal, sys
from pathlib import Path
from turnwise.logs.files import atomic
with atomic(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    with atomic(tmp_path / "a.json") as file:
        file.write(b"1")
        assert not (tmp_path / "a.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_an_error_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"old")

    def fail() -> None:
        with atomic(tmp_path / "a.json") as file:
            file.write(b"new")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.json": b"old"}


def test_the_draft_of_a_killed_process_is_deleted_by_the_next_one(tmp_path: Path) -> None:
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.json")], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with atomic(tmp_path / "a.json") as file:
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_other_files_and_the_drafts_of_running_processes_are_kept(tmp_path: Path) -> None:
    kept = {
        "a.json.1.tmp",
        "a.json.x.tmp",
        "a.json.99999999999999999999.tmp",
        "b.json.4000000.tmp",
        "a.json.tmp",
        "a",
    }
    for name in kept:
        (tmp_path / name).touch()
    (tmp_path / "a.json.4000000.tmp").touch()  # above the largest number of a process
    with atomic(tmp_path / "a.json") as file:
        file.write(b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", *kept}
