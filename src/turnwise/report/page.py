"""The report as one HTML file: style and pictures inside, no script, nothing to fetch.

Jinja escapes whatever it is given; only the pictures, whose texts `plot` has escaped, are passed as they are. A policy
in the page's head forbids scripts and requests, should anything slip through.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, Template, select_autoescape
from markupsafe import Markup

from turnwise.report import plot
from turnwise.report.figure import Figure
from turnwise.report.text import cell

if TYPE_CHECKING:
    from turnwise.report.report import Report

MOST_ROWS = 500  # of a table; report.json has all


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("turnwise.report", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = _cell
    environment.filters["picture"] = Markup
    environment.filters["places"] = _places
    return environment.get_template(name)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cell(tuple(value) if isinstance(value, list) else value)


def _places(rows: Any) -> list[bool]:
    """Which columns hold numbers, and are set to the right."""
    return [
        all(
            value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
            for value in column
        )
        for column in zip(*rows, strict=True)
    ]


def html(made: "Report") -> bytes:
    page = _template("report.html").render(report=made, style=Markup(plot.style()), most=MOST_ROWS)
    return page.encode()


def notebook(head: Sequence[str], rows: Sequence[Sequence[Any]], figures: Sequence[Figure]) -> str:
    """A table and figures as a piece of a page, for a notebook."""
    style = Markup(plot.style())
    return _template("notebook.html").render(
        head=head, rows=rows, figures=figures, style=style, most=MOST_ROWS
    )
