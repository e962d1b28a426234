"""An unexpected exception is exit code 70 and a report without the user's text."""

import re
from pathlib import Path

import pytest

from tests.corpus import corpus
from turnwise import __version__
from turnwise.cli import CRASHED, main, overview
from turnwise.cli.common.group import run

SECRET = "words of a user"


def broken(*_: object, **__: object) -> None:
    raise ValueError(SECRET)


@pytest.fixture
def crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("turnwise.commands.score.Score.run", broken)
    return ["score", str(corpus(tmp_path / "private.jsonl", 3)), "-m", "length"]


def test_an_unexpected_exception_is_70_and_never_the_code_of_a_failed_gate(crash, capsys):
    assert run([*crash, "--gate", "length >= 1"]) == CRASHED == 70
    with pytest.raises(SystemExit) as ended:
        main(crash)
    assert ended.value.code == CRASHED


def test_the_report_names_command_versions_and_traceback_and_no_text_of_the_user(crash, capsys):
    run(crash)
    out, err = capsys.readouterr()
    assert out == ""
    assert "unexpected ValueError in `turnwise score`" in err
    assert f"turnwise {__version__}, Python 3." in err
    assert SECRET not in err
    assert "private.jsonl" not in err
    assert len(err.splitlines()) == 4
    saved = Path(re.search(r"traceback: (.*)", err)[1]).read_text()
    assert "ValueError: words of a user" in saved
    assert "in broken" in saved


def test_a_traceback_that_cannot_be_saved_is_still_70(crash, capsys, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    assert run(crash) == CRASHED
    assert "could not be saved: No such file or directory" in capsys.readouterr().err


def test_the_overview_names_the_code():
    assert "70 a defect" in overview()
