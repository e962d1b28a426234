"""Numbers and tables as plain text, for a terminal or a pipe."""

import math
from collections.abc import Sequence
from typing import Any


def number(value: float | None, digits: int = 3) -> str:
    """A number with this many digits after the point; `-` if it is None or NaN.

    Numbers too small for these digits, except 0, are in scientific notation; from 1000 on there is one digit and
    thousands are separated by commas.
    """
    if value is None or math.isnan(value):
        return "-"
    if value != 0 and abs(value) < 10**-digits:
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


def table(rows: Sequence[Sequence[Any]], head: Sequence[str]) -> str:
    """A table with a rule below the head and aligned columns; columns of only numbers and None are aligned right."""
    texts = [[cell(value) for value in row] for row in rows]
    columns = list(zip(head, *texts, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(_numeric(row[at]) for row in rows) for at in range(len(head))]
    lines = [head, ["-" * width for width in widths], *texts]
    return "\n".join(
        "  ".join(
            text.rjust(width) if aligned else text.ljust(width)
            for text, width, aligned in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _numeric(value: Any) -> bool:
    """Whether a value is a number or None; booleans count as numbers."""
    return value is None or isinstance(value, (int, float))
