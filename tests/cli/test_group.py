"""What the command line says after an interruption."""

import pytest

from turnwise.cli import group


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("convert", "the same command resumes where it stopped"),
        ("score", "the same command with the same -o resumes where it stopped"),
        ("simulate", "the same command starts again from the beginning"),
    ],
)
def test_an_interrupted_command_says_what_continues_it(
    command: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(group.cli, "main", interrupted)
    assert group.run([command, "a.jsonl"]) == group.INTERRUPTED
    assert capsys.readouterr().err.strip() == f"turnwise: interrupted; {said}"
