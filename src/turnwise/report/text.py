"""Numbers and tables as plain text, for a terminal or a pipe."""

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from turnwise.terminal import display_width, isolated, visible

ROUNDING = 1e-12  # what is smaller is the rounding error of a sum


def number(value: float | None, digits: int = 3) -> str:
    """A number with this many digits after the point; `-` if it is None or NaN.

    Numbers too small for these digits, except 0, are in scientific notation, and those that are rounding errors of sums
    of ordinary numbers are 0; from 1000 on there is one digit and thousands are separated by commas.
    """
    if value is None or math.isnan(value):
        return "-"
    if abs(value) < ROUNDING:
        return f"{0:.{digits}f}"
    if abs(value) < 10**-digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}" if abs(value) < 1000 else f"{value:,.1f}"


def p_value(value: float | None) -> str:
    """A p-value without the leading zero; `<.001` if it is smaller, `-` if it is unknown."""
    if value is None or math.isnan(value):
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def interval(value: tuple[float, float] | None, digits: int = 3) -> str:
    """An interval in brackets; `-` if there is none."""
    return "-" if value is None else f"[{number(value[0], digits)}, {number(value[1], digits)}]"


def cell(value: Any) -> str:
    """A value as the text of a table cell: `-` for None, three digits for a float, brackets for a pair."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, tuple) and len(value) == 2:
        return interval(value)
    return str(value)


def visible_cell(value: Any) -> str:
    """As `cell`, on one line and with control characters as escapes."""
    return visible(cell(value))


def table(
    rows: Sequence[Sequence[Any]], head: Sequence[str], *, wrap: Mapping[str, int] | None = None
) -> str:
    """A table with a rule below the head and aligned columns; columns of only numbers and None are aligned right.

    `wrap`: column -> the width at which its texts are broken between words.
    """
    wrap = wrap or {}
    cells = [
        [_lines(visible_cell(value), wrap.get(name)) for name, value in zip(head, row, strict=True)]
        for row in rows
    ]
    texts = [list(line) for row in cells for line in zip_longest(*row, fillvalue="")]
    columns = list(zip(head, *texts, strict=True))
    widths = [max(map(display_width, column)) for column in columns]
    right = [all(_numeric(row[at]) for row in rows) for at in range(len(head))]
    lines = [head, ["-" * width for width in widths], *texts]
    return "\n".join(
        "  ".join(
            _padded(text, width, right=aligned)
            for text, width, aligned in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def wrapped(text: str, width: int, *, indent: str = "") -> list[str]:
    """The text in lines of at most `width` columns, broken at single spaces, at least one line; lines after the first
    are indented. A longer word is a line of its own.
    """
    lines = [""]
    for word in text.split(" "):
        if lines[-1].strip() and display_width(lines[-1]) + 1 + display_width(word) > width:
            lines.append(indent + word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _lines(text: str, width: int | None) -> list[str]:
    """The text in lines of at most this width; one line without a width."""
    return [text] if width is None else wrapped(text, width)


def _padded(text: str, width: int, *, right: bool) -> str:
    """The text with spaces up to this width, isolated if it is written from right to left."""
    space = " " * (width - display_width(text))
    return space + isolated(text) if right else isolated(text) + space


def _numeric(value: Any) -> bool:
    """Whether a value is a number or None; booleans count as numbers."""
    return value is None or isinstance(value, (int, float))
