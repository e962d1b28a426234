"""The report as one HTML file, with style, pictures and one script inside, without external resources.

Jinja escapes all values except the pictures, whose texts `plot` has escaped. A content security policy in the head of
the page forbids requests, and all scripts but report.js, whose hash it has.
"""

import base64
import re
from collections.abc import Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, Template, select_autoescape
from markupsafe import Markup, escape

from turnwise.report import plot
from turnwise.report.figure import Figure
from turnwise.report.text import cell

if TYPE_CHECKING:
    from turnwise.report.report import Report

MAX_NAME = 28  # characters of a name that is kept on one line
MAX_ROWS = 500  # maximum rows of a table; report.json has all


@cache
def _template(name: str) -> Template:
    """The Jinja template of this name, compiled once, which escapes all values."""
    environment = Environment(
        loader=PackageLoader("turnwise.report", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = _cell
    environment.filters["picture"] = Markup
    environment.filters["numeric_columns"] = _numeric_columns
    environment.filters["named"] = _named
    return environment.get_template(name)


def _cell(value: Any) -> str:
    """A table cell as text: yes and no for booleans, an interval for two numbers, `-` for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cell(tuple(value) if isinstance(value, list) else value)


def _named(words: str, names: Sequence[str]) -> Markup:
    """The text, escaped, with the names of agents and metrics in it marked (short ones are kept on one line) and what
    stands between backticks as code.
    """
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    known = [rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])"] if longest_first else []
    pattern = re.compile("|".join([r"`(?P<code>[^`]+)`", *known]))
    parts, end = [], 0
    for match in pattern.finditer(words):
        code, long = match["code"], len(match[0]) > MAX_NAME
        tag = "<code>{}</code>" if code else '<span class="name">{}</span>'
        tag = '<span class="long name">{}</span>' if long and not code else tag
        parts += [escape(words[end : match.start()]), Markup(tag).format(code or match[0])]
        end = match.end()
    return Markup("").join([*parts, escape(words[end:])])


def _numeric_columns(rows: Any) -> list[bool]:
    """For each column, whether it has only numbers and None, so that it is aligned right; empty without rows."""
    return [
        all(
            value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
            for value in column
        )
        for column in zip(*rows, strict=True)
    ]


def html(made: "Report", folder: Path) -> bytes:
    """The report as an HTML page in a folder, encoded; tables have at most 500 rows."""
    script = (files("turnwise.report") / "report.js").read_text(encoding="utf-8")
    page = _template("report.html").render(
        report=made,
        style=Markup(plot.style()),
        script=Markup(script),
        script_hash=base64.b64encode(sha256(script.encode()).digest()).decode(),
        most=MAX_ROWS,
        link=partial(made.pages.link, start=folder),
    )
    return page.encode()


def notebook(head: Sequence[str], rows: Sequence[Sequence[Any]], figures: Sequence[Figure]) -> str:
    """A table of at most 500 rows and the figures as an HTML fragment for a notebook."""
    style = Markup(plot.style())
    return _template("notebook.html").render(
        head=head, rows=rows, figures=figures, style=style, most=MAX_ROWS
    )
