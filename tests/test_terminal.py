"""What reaches a terminal: control characters are shown as escapes, and nothing but `turnwise.terminal` prints."""

import ast
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise import terminal
from turnwise.terminal import display_width, isolated, printable, say, say_lines, visible

SOURCES = Path(terminal.__file__).parent
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066\u2067\ud800-\udfff]")
FIRST, LAST = "\u2068", "\u2069"


@contextmanager
def screen(*, columns: int = 80) -> Iterator[tuple[int, TextIO]]:
    """A terminal of this width: the file descriptor of what it shows, and the stream that is printed to."""
    pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")
    import fcntl
    import struct
    import termios

    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as stream:
            yield mine, stream
    finally:
        os.close(mine)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bot\x1b[2J", r"bot\x1b[2J"),
        ("a\rb\x07\x9b31m\x7f", r"a\rb\x07\x9b31m\x7f"),
        ("gnp\u202egpj.exe\u200f", r"gnp\u202egpj.exe\u200f"),
        ("half \ud800", r"half \ud800"),
        ("two\nlines\tand a tab", r"two\nlines\tand a tab"),
        (f"{FIRST}a", r"\u2068a"),
        ("Größe, 東京 and 👩‍👧", "Größe, 東京 and 👩‍👧"),
        (r"C:\x1b", r"C:\x1b"),
    ],
)
def test_a_character_that_a_terminal_obeys_is_shown_as_an_escape(text: str, shown: str):
    assert visible(text) == shown


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\x1b\r\x9b\u202e\u2068\u2069אب \n"))))
def test_no_text_makes_a_terminal_do_anything(text: str):
    for shown in (visible(text), printable(text), printable(visible(text))):
        assert not OBEYED.search(shown)
    for line in printable(text).split(
        "\n"
    ):  # every isolate is closed on its line, and none is inside another
        assert re.fullmatch(f"[^{FIRST}{LAST}]*({FIRST}[^{FIRST}{LAST}]*{LAST}[^{FIRST}{LAST}]*)*", line)
    assert visible(visible(text)) == visible(text)


def test_words_from_right_to_left_do_not_move_what_stands_beside_them():
    assert printable("note: `שלום עולם`: 3 items") == f"note: `{FIRST}שלום עולם{LAST}`: 3 items"
    assert printable("bot-שלום 12") == f"{FIRST}bot-שלום{LAST} 12"
    assert printable(f"{isolated('bot שלום')}  12") == f"{FIRST}bot שלום{LAST}  12"
    assert isolated("bot") == "bot"


def test_an_isolate_of_the_data_passes_only_with_its_end():
    assert printable(f"{FIRST}a{LAST} {FIRST}b") == f"{FIRST}a{LAST} \\u2068b"
    assert printable(f"{FIRST}a\x1b{LAST}") == "\\u2068a\\x1b\\u2069"


def test_lines_are_kept_unless_each_text_is_one_line(capsys: pytest.CaptureFixture[str]):
    say("one\ntwo\x1b")
    say_lines("three\nfour", err=True)
    assert capsys.readouterr() == ("one\ntwo\\x1b\n", "three\\nfour\n")


def test_a_document_is_unchanged_in_a_pipe_and_safe_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch
):
    text = '{"agent": "a\x9b31m\u202e"}\n'
    terminal.say_document(text, escape=terminal.json_escape)
    assert capfd.readouterr().out == text
    with screen() as (shown, stream):
        monkeypatch.setattr(sys, "stdout", stream)
        terminal.say_document(text, escape=terminal.json_escape)
        assert os.read(shown, 1000).decode() == '{"agent": "a\\u009b31m\\u202e"}\r\n'


def test_wide_letters_take_two_columns_and_marks_none():
    assert [display_width(text) for text in ("abc", "東京", "e\u0301", "שלום")] == [3, 4, 1, 4]


@pytest.mark.parametrize(("given", "columns"), [("120", 120), ("", 80), ("wide", 80), ("0", 80), ("-5", 80)])
def test_the_columns_are_those_that_are_given_else_80_where_there_is_no_terminal(
    given: str, columns: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", given)
    assert terminal.columns() == columns


def test_the_columns_of_a_terminal_are_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    with screen(columns=132) as (_, stream):
        monkeypatch.setattr(sys, "stdout", stream)
        assert terminal.columns() == 132


def test_a_log_record_has_no_control_characters():
    record = logging.LogRecord("turnwise", logging.WARNING, "", 0, "agent %s", ("a\x1b[2J",), None)
    assert terminal.LogFormatter().format(record) == r"agent a\x1b[2J"


def _prints(path: Path) -> list[str]:
    """The calls in a module that print: print, click.echo and writing to a standard stream."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "click.echo", "click.secho") or re.fullmatch(
                r"sys\.std(out|err)\.write", called
            ):
                found.append(f"{path.relative_to(SOURCES)}:{node.lineno}: {ast.unparse(node)}")
    return found


def test_nothing_else_prints():
    """The overview of the commands is printed before anything is imported, and has no text of the data."""
    found = [one for path in SOURCES.rglob("*.py") if path.name != "terminal.py" for one in _prints(path)]
    assert [one for one in found if not one.startswith("cli/__init__.py")] == []
    assert [one.partition(": ")[2] for one in found] == [
        "print(overview(), flush=True)",
        "print('turnwise: interrupted', file=sys.stderr)",
    ]
