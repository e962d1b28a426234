"""Programs of the papers' pages print their help and refuse words that they do not know."""

import pytest

from papers.usage import words


def test_help_is_printed_and_nothing_else_happens(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["program", "run", "--help"])
    with pytest.raises(SystemExit) as ended:
        words("What it does.", ("run", "show"))
    assert ended.value.code == 0
    assert capsys.readouterr().out == "What it does.\n"


@pytest.mark.parametrize(("given", "said"), [(["sing"], "there is no `sing`"), ([], "say what to do")])
def test_an_unknown_word_is_an_error_that_names_the_known_ones(monkeypatch, capsys, given, said) -> None:
    monkeypatch.setattr("sys.argv", ["program", *given])
    with pytest.raises(SystemExit) as ended:
        words("What it does.", ("run", "show"))
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"{said}: run, show\n")


def test_known_words_and_free_ones_are_returned(monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["program", "run", "folder"])
    assert words("", ("run",)) == words("") == ["run", "folder"]
