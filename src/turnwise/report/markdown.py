"""The report as Markdown: sentences, pictures beside it as SVG files, and every table."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwise.report.figure import Figure
from turnwise.report.text import cell

if TYPE_CHECKING:
    from turnwise.report.report import Report

MOST_ROWS = 60  # of a table; report.json has all
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_WORDS = re.compile(r"[^a-z0-9]+")


def plain(words: Any) -> str:
    """Words that mean only themselves, on one line: neither HTML nor Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(words).split()))


def pictures(figures: Sequence[Figure]) -> dict[str, Figure]:
    """File name -> figure, for those with a picture; names are numbered, so that none is taken twice."""
    return {
        f"{number:02d}-{_WORDS.sub('-', figure.title.lower()).strip('-')[:60]}.svg": figure
        for number, figure in enumerate(figures, start=1)
        if figure.svg
    }


def text(made: "Report", folder: str) -> str:
    names = {id(figure): name for name, figure in pictures(made.figures).items()}
    parts = [f"# {plain(made.title)}", "\n".join(f"* {plain(line)}" for line in made.headlines)]
    for section in made.sections:
        parts += [f"## {plain(section.title)}", plain(section.about)]
        parts += (
            ["\n".join(f"* not answered: {plain(note)}" for note in section.notes)] if section.notes else []
        )
        for figure in section.figures:
            parts.append(f"### {plain(figure.title)}")
            if id(figure) in names:
                parts.append(f"![{plain(figure.title)}]({folder}/{names[id(figure)]})")
            parts += [plain(figure.meaning), plain("; ".join(figure.notes)), _table(figure)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(figure: Figure) -> str:
    lines = [figure.head, ["---"] * len(figure.head), *(map(cell, row) for row in figure.rows[:MOST_ROWS])]
    rest = len(figure.rows) - MOST_ROWS
    shown = [
        f"| {' | '.join(part if number == 1 else plain(part) for part in line)} |"
        for number, line in enumerate(lines)
    ]
    return "\n".join([*shown, *([f"\n{rest} more rows stand in the JSON report."] if rest > 0 else [])])
