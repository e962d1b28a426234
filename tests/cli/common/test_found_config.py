"""`turnwise.toml` is found by itself: where, what it says, and when it is left alone."""

import os
from pathlib import Path

import pytest

from tests.corpus import corpus
from turnwise.cli.common.group import IN_DEMO, _how_to_continue, run

LENGTH = "[score]\nmetric = 'length'\nlimit = 2\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a folder of logs, which is the working directory."""
    logs = tmp_path / "project" / "logs"
    logs.mkdir(parents=True)
    (logs.parent / ".git").mkdir()
    corpus(logs / "logs.jsonl", 4)
    monkeypatch.chdir(logs)
    return logs.parent


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(list(words)) == code
    return capsys.readouterr().err


def test_it_is_read_and_named_with_what_it_sets(project: Path, capsys: pytest.CaptureFixture[str]):
    Path("turnwise.toml").write_text(LENGTH)
    first, *_ = said(capsys, "score", "logs.jsonl").splitlines()
    assert first == "turnwise.toml: --metric, --limit (--no-config leaves it out)"


def test_it_is_found_in_a_folder_above(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "turnwise.toml").write_text(LENGTH)
    assert said(capsys, "score", "logs.jsonl").startswith("../turnwise.toml: --metric, --limit")


def test_the_nearest_counts(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "turnwise.toml").write_text("[score]\nseed = 4\n")
    Path("turnwise.toml").write_text(LENGTH)
    assert said(capsys, "score", "logs.jsonl").startswith("turnwise.toml: --metric, --limit ")


def test_data_may_be_in_it(project: Path, capsys: pytest.CaptureFixture[str]):
    Path("turnwise.toml").write_text(f"data = 'logs.jsonl'\n{LENGTH}")
    assert said(capsys, "score").startswith("turnwise.toml: DATA, --metric, --limit ")


def test_above_the_repository_nothing_is_looked_for(project: Path, capsys: pytest.CaptureFixture[str]):
    (project.parent / "turnwise.toml").write_text(LENGTH)
    assert "Missing option" in said(capsys, "score", "logs.jsonl", code=2)


def test_above_home_nothing_is_looked_for(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (project / "turnwise.toml").write_text(LENGTH)
    monkeypatch.setenv("HOME", str(Path.cwd()))
    assert "Missing option" in said(capsys, "score", "logs.jsonl", code=2)


def test_a_folder_above_that_everybody_may_write_to_is_passed_over(
    project: Path, capsys: pytest.CaptureFixture[str]
):
    (project / "turnwise.toml").write_text(LENGTH)
    project.chmod(0o777)
    assert "Missing option" in said(capsys, "score", "logs.jsonl", code=2)


def test_a_folder_that_is_gone_has_none(project: Path, capsys: pytest.CaptureFixture[str]):
    logs = Path.cwd()
    gone = project / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        assert said(capsys, "score", str(logs / "logs.jsonl"), "-m", "length", "-q") == ""
    finally:
        os.chdir(logs)


def test_the_command_line_counts_more(project: Path, capsys: pytest.CaptureFixture[str]):
    Path("turnwise.toml").write_text(LENGTH)
    assert run(["score", "logs.jsonl", "-m", "distinct-1"]) == 0
    captured = capsys.readouterr()
    assert "distinct-1" in captured.out
    assert captured.err.startswith("turnwise.toml: --limit (--no-config")


def test_it_is_named_where_its_value_is_wrong(project: Path, capsys: pytest.CaptureFixture[str]):
    Path("turnwise.toml").write_text("[score]\nmetric = 'length'\nlimit = 'two'\n")
    assert said(capsys, "score", "logs.jsonl", code=2).startswith("turnwise.toml: --metric, --limit ")


def test_no_config_and_another_file_leave_it_out(project: Path, capsys: pytest.CaptureFixture[str]):
    Path("turnwise.toml").write_text("[score]\nsede = 1\n")
    assert "has no option `sede`" in said(capsys, "score", "logs.jsonl", "-m", "length", code=2)
    assert said(capsys, "score", "logs.jsonl", "-m", "length", "--no-config", "-q") == ""
    Path("other.toml").write_text(LENGTH)
    assert "turnwise.toml" not in said(capsys, "score", "logs.jsonl", "--config", "other.toml")


def test_nothing_is_said_if_it_sets_nothing(project: Path, capsys: pytest.CaptureFixture[str]):
    Path("turnwise.toml").write_text("[meta]\ndimension = 'overall'\n")
    assert said(capsys, "score", "logs.jsonl", "-m", "length", "-q") == ""


def test_the_steps_of_the_demo_do_not_read_it(project: Path, capsys: pytest.CaptureFixture[str]):
    Path("turnwise.toml").write_text(LENGTH)
    token = IN_DEMO.set(True)
    try:
        assert said(capsys, "score", "logs.jsonl", "-m", "length", "-q") == ""
    finally:
        IN_DEMO.reset(token)


def test_a_function_does_not_read_it(project: Path):
    import turnwise as tw

    before = tw.score("logs.jsonl", metrics="length").records()
    Path("turnwise.toml").write_text("[score]\nlimit = 1\n")
    assert tw.score("logs.jsonl", metrics="length").records() == before


def test_an_interrupted_run_resumes_with_the_folder_of_the_file(project: Path):
    assert "nothing was kept" in _how_to_continue(["compare", "logs.jsonl"])
    Path("turnwise.toml").write_text("output = 'out'\n")
    assert "resumes" in _how_to_continue(["compare", "logs.jsonl"])
    assert "nothing was kept" in _how_to_continue(["compare", "logs.jsonl", "--no-config"])
