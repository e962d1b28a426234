"""Tables of results for a page or a paper: Markdown, and LaTeX with booktabs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnwise.report import text

Table = Callable[[Sequence[str], Sequence[Sequence[Any]]], str]
# Characters that LaTeX takes for commands -> how they are written.
SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
)  # fmt: skip


def _is_number(value: Any) -> bool:
    """Whether a cell is a number, an interval, or empty, which stand on the right."""
    return value is None or (isinstance(value, int | float | tuple) and not isinstance(value, bool))


def markdown(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table in Markdown; numbers are aligned right."""
    columns = list(zip(*rows, strict=True)) or [()] * len(head)
    rule = ["---:" if column and all(map(_is_number, column)) else "---" for column in columns]
    lines = [head, rule, *([text.visible_cell(value).replace("|", r"\|") for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    r"""A `tabular` with the rules of booktabs (`\usepackage{booktabs}`); numbers are aligned right."""
    columns = list(zip(*rows, strict=True)) or [()] * len(head)
    kinds = "".join("r" if column and all(map(_is_number, column)) else "l" for column in columns)
    body = [" & ".join(_latex_cell(value) for value in row) + r" \\" for row in rows]
    top = " & ".join(name.translate(SPECIAL) for name in head) + r" \\"
    return "\n".join([rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", top, r"\midrule", *body, r"\bottomrule",
                      r"\end{tabular}"])  # fmt: skip


def _latex_cell(value: Any) -> str:
    """A cell, a negative number with a minus sign, and brackets where they are no argument of the line before."""
    written = text.visible_cell(value).translate(SPECIAL)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"${written}$" if written.startswith("-") and written != "-" else written
    return f"{{{written}}}" if written.startswith("[") else written


FORMS: Mapping[str, Table] = {"markdown": markdown, "latex": latex}
