"""Renders the HTML templates (Jinja, with every value escaped) and serves static files."""

from importlib.resources import files
from math import isnan
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from turnwise.web.pages.characters import pieces, visible
from turnwise.web.pages.markdown import markdown
from turnwise.web.pages.tool_calls import called, indented

# Static file -> its media type.
STATIC = {
    "style.css": "text/css",
    "keys.js": "text/javascript",
    "chat.js": "text/javascript",
    "admin.js": "text/javascript",
    "view.css": "text/css",
    "view.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

_environment = Environment(
    loader=PackageLoader("turnwise.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)


def render(name: str, status: int = 200, **values: Any) -> Response:
    """The response with the rendered template `name`.html; a value that is missing raises an error."""
    return HTMLResponse(_environment.get_template(f"{name}.html").render(values), status)


def part(name: str, *values: Any) -> Markup:
    """The HTML of a macro of the template `parts`."""
    return Markup(getattr(_environment.get_template("parts.html").module, name)(*values))


def static_file(name: str) -> Response | None:
    """The response with a static file of `STATIC`, or None for any other name."""
    if name not in STATIC:
        return None
    return Response(static_bytes(name), media_type=STATIC[name])


def static_bytes(name: str) -> bytes:
    """The content of a static file of `STATIC`."""
    return (files("turnwise.web") / "static" / name).read_bytes()


def _figure(value: float | None, digits: int = 2) -> str:
    """A number with `digits` decimals; an en dash if it is None or NaN."""
    return "–" if value is None or isnan(value) else f"{value:.{digits}f}"


def _short(value: float | None) -> str:
    """A number with three significant digits, from 1,000 on without decimals; an en dash if it is None or NaN."""
    if value is None or isnan(value):
        return "–"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


_environment.filters |= {
    "figure": _figure,
    "markdown": markdown,
    "called": called,
    "indented": indented,
    "g": lambda value: f"{value:g}",
    "short": _short,
    "visible": visible,
    "pieces": pieces,
}
