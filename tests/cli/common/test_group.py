"""What the command line says after an interruption."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnwise.cli.common import group


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("convert", "the same command starts again from the beginning"),  # there is no draft
        ("score", "nothing was kept; with -o DIR the same command can be resumed after an interruption"),
        ("score -o out", "the same command with the same -o resumes where it stopped"),
        ("meta -qo out", "the same command with the same -o resumes where it stopped"),
        ("meta -qo empty", "nothing is stored yet; the same command starts again"),
        ("score --output=absent", "nothing is stored yet; the same command starts again"),
        ("ope -o absent", "the same command with the same -o resumes where it stopped"),
        ("attack --config plan.toml", "the same command with the same -o resumes where it stopped"),
        ("demo", "the same command with the same -o resumes where it stopped"),  # it has a default
        ("simulate", "the same command starts again from the beginning"),
    ],
)
def test_an_interrupted_command_says_what_continues_it(
    command: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, rows in (("out", b"rows"), ("empty", b"")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.bin").write_bytes(rows)
    monkeypatch.chdir(tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(group.cli, "main", interrupted)
    assert group.run([*command.split(), "a.jsonl"]) == group.INTERRUPTED
    assert capsys.readouterr().err.strip() == f"turnwise: interrupted; {said}"


def test_an_interrupt_while_a_dataclass_is_made_has_the_same_exit_code(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import turnwise.cli.common.group\n"
        "def run(args):\n"
        "    try:\n"
        "        exec('raise KeyboardInterrupt')  # what `dataclass` does with the source of its methods\n"
        "    except KeyboardInterrupt:\n"
        "        return 130\n"
        "turnwise.cli.common.group.run = run\n"
        "turnwise.cli.main(['score'])\n"
    )
    done = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path)
    assert done.returncode == group.INTERRUPTED


def test_a_command_line_that_cannot_be_parsed_leaves_no_tracebacks_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert group.run(["score", "-v", "--draws", "many", "a.jsonl"]) == 2
    assert group.TRACEBACKS not in os.environ
