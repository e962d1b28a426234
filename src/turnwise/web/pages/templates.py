"""Pages from templates; every value is escaped."""

from collections.abc import Mapping
from importlib.resources import files
from math import isnan
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

STATIC = {"style.css": "text/css", "keys.js": "text/javascript", "icon.svg": "image/svg+xml"}

_environment = Environment(
    loader=PackageLoader("turnwise.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)


def page(name: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(_environment.get_template(f"{name}.html").render(values), status)


def static(name: str) -> Response | None:
    """A file of the app's own; there is no way to any other."""
    if name not in STATIC:
        return None
    content = (files("turnwise.web") / "static" / name).read_bytes()
    return Response(content, media_type=STATIC[name])


def _figure(value: float | None, digits: int = 2) -> str:
    """A number for people; a dash where there is none."""
    return "–" if value is None or isnan(value) else f"{value:.{digits}f}"


def _plain(value: Any) -> str:
    """A goal's value in words."""
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    return str(value)


_environment.filters |= {"figure": _figure, "plain": _plain, "g": lambda value: f"{value:g}"}
