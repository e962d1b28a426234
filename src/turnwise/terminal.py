"""Prints text to a terminal, with control characters as visible escapes.

Ids, agents, metrics and texts come from files that anybody may have written, and a terminal obeys some characters: it
clears the screen, overwrites the line, or shows a name in another order. `say` is the only place that prints text of
the data, and it never sends such a character. `visible` does the same for one line, such as a cell of a table.
"""

import logging
import os
import re
import sys
from collections.abc import Callable
from typing import TextIO

COLUMNS = 80  # columns of a line where the width of the terminal is not known

# Control characters (C0, DEL, C1), directional marks and overrides, line and paragraph separators, lone surrogates.
_UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_FIRST, _LAST = "\u2068", "\u2069"  # first strong isolate, pop directional isolate
# The blocks that Unicode reserves for scripts that are written from right to left.
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"

_ONE_LINE = re.compile(f"[{_UNSAFE}]")
_ISOLATED = f"{_FIRST}[^{_UNSAFE}]*{_LAST}"  # within a line, and with its end
_LINES = re.compile(f"({_ISOLATED})|(?![\n\t])[{_UNSAFE}]")
_IN_DOCUMENT = re.compile(f"(?![\n\t])[{_UNSAFE}]")
_DIRECTED = re.compile(f"[{_RIGHT_TO_LEFT}]")
# A right-to-left word with the right-to-left words that follow it, without punctuation at its ends; or what is isolated
# already.
_WORD = rf"(?=\S*[{_RIGHT_TO_LEFT}])\w\S*(?<=\w)"
_WORDS = re.compile(rf"(?P<isolated>{_ISOLATED})|(?<!\S)(?P<before>[^\w\s]*+)(?P<words>{_WORD}(?: {_WORD})*)")


def visible(text: str) -> str:
    """The text on one line: every control character, line break, directional mark and lone surrogate is an escape such
    as `\\x1b`, `\\n` or `\\u202e`.
    """
    return _ONE_LINE.sub(lambda found: _escape(found[0]), text)


def isolated(text: str) -> str:
    """The text between isolating characters if it has letters that are written from right to left, so that what stands
    beside it keeps its place; else unchanged.
    """
    return f"{_FIRST}{text}{_LAST}" if _DIRECTED.search(text) else text


def printable(text: str) -> str:
    """The text of one or more lines as `say` prints it: line breaks and tabs are kept, other characters that `visible`
    escapes are escaped, and words that are written from right to left are isolated.
    """
    safe = _LINES.sub(lambda found: found[1] or _escape(found[0]), text)
    if not _DIRECTED.search(safe):
        return safe
    return _WORDS.sub(lambda found: found["isolated"] or found["before"] + isolated(found["words"]), safe)


def say(text: str = "", *, err: bool = False) -> None:
    """Print a text of one or more lines on standard output, or with `err` on standard error."""
    _write(f"{printable(text)}\n", sys.stderr if err else sys.stdout)


def say_lines(*lines: str, err: bool = False) -> None:
    """Print texts of one line each; a line break inside one of them is an escape."""
    for line in lines:
        say(visible(line), err=err)


def say_document(text: str, *, escape: Callable[[str], str]) -> None:
    """Print the text of a file, such as JSON, on standard output: unchanged to a pipe or a file. On a terminal `escape`
    replaces each control character by a text that means the same in this format.
    """
    shown = _IN_DOCUMENT.sub(lambda found: escape(found[0]), text) if sys.stdout.isatty() else text
    _write(shown, sys.stdout)


def _write(text: str, stream: TextIO) -> None:
    """Write the text at once, so that results come before notes where both streams are one file."""
    stream.write(text)
    stream.flush()


def json_escape(character: str) -> str:
    """A character as an escape of JSON: `\\u009b`."""
    return f"\\u{ord(character):04x}"


def display_width(text: str) -> int:
    """The columns that a text of one line takes on a terminal: two for wide letters, none for combining marks."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def columns() -> int:
    """The columns of a line on standard output: those of COLUMNS, else those of the terminal, else 80."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or COLUMNS
    except (AttributeError, ValueError, OSError):  # a pipe, a file, or a stream without a file
        return COLUMNS


class LogFormatter(logging.Formatter):
    """Formats log records for a terminal: the message as `say` prints it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text without control characters."""
        return printable(super().format(record))


def _escape(character: str) -> str:
    """A character as Python writes it in ASCII: `\\x1b`, `\\r`, `\\u202e`."""
    return character.encode("unicode_escape").decode("ascii")
