"""The report as Markdown: sentences, links to SVG pictures, and tables."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwise.report.figure import Figure
from turnwise.report.text import cell
from turnwise.terminal import visible

if TYPE_CHECKING:
    from turnwise.report.report import Report

MAX_ROWS = 60  # maximum rows of a table; report.json has all
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_CODE = re.compile(r"`([^`]+)`")
_WORDS = re.compile(r"[^a-z0-9]+")


def escape(words: Any) -> str:
    """The text on one line, with control characters as escapes and the special characters of Markdown and HTML
    escaped.
    """
    return _SPECIAL.sub(r"\\\1", visible(" ".join(str(words).split())))


def sentence(words: str) -> str:
    """As `escape`, with what stands between backticks as code."""
    parts = _CODE.split(words)
    return "".join(f"`{part}`" if at % 2 else escape_inside(part) for at, part in enumerate(parts))


def escape_inside(words: str) -> str:
    """As `escape`, with the spaces at the ends kept."""
    inner = escape(words)
    return (
        f"{' ' * words[:1].isspace()}{inner}{' ' * (len(words) > 1 and words[-1:].isspace())}"
        if inner
        else words
    )


def picture_files(figures: Sequence[Figure]) -> dict[str, Figure]:
    """File name -> figure for the figures with a picture; the number of the figure makes the name unique."""
    return {
        f"{number:02d}-{_WORDS.sub('-', figure.title.lower()).strip('-')[:60]}.svg": figure
        for number, figure in enumerate(figures, start=1)
        if figure.svg
    }


def text(made: "Report", folder: str) -> str:
    """The report as Markdown, with links to its pictures in `folder` and at most 60 rows a table."""
    names = {id(figure): name for name, figure in picture_files(made.figures).items()}
    parts = [
        f"# {escape(made.title)}",
        "\n".join(f"* {claim.badge}: {sentence(str(claim))}" for claim in made.claims),
    ]
    for section in made.sections:
        parts += [f"## {escape(section.title)}", escape(section.about)]
        parts += (
            ["\n".join(f"* not answered: {escape(note)}" for note in section.notes)] if section.notes else []
        )
        for figure in section.figures:
            parts.append(f"### {escape(figure.title)}")
            if id(figure) in names:
                parts.append(f"![{escape(figure.title)}]({folder}/{names[id(figure)]})")
            parts += [escape(figure.meaning), escape("; ".join(figure.notes)), _table(figure)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(figure: Figure) -> str:
    """The table of a figure as Markdown, cut to 60 rows with a note on the rest."""
    lines = [figure.head, ["---"] * len(figure.head), *(map(cell, row) for row in figure.rows[:MAX_ROWS])]
    rest = len(figure.rows) - MAX_ROWS
    shown = [
        f"| {' | '.join(part if number == 1 else escape(part) for part in line)} |"
        for number, line in enumerate(lines)
    ]
    return "\n".join([*shown, *([f"\n{rest} more rows are in the JSON report."] if rest > 0 else [])])
