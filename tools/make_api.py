"""`python -m tools.make_api`: docs/api.md, the public names of the package with the first paragraph of each docstring.

A test holds the page equal to what this writes.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
ROOMS = {  # in the order of the work; each is a module, or a folder whose modules are listed
    "turnwise.library": "The commands as functions, all of them also at `import turnwise as tw`",
    "turnwise.types": "The nouns: what goes in and comes out everywhere",
    "turnwise.errors": "What can go wrong, with the exit codes",
    "turnwise.logs.native": "Reading and writing conversations",
    "turnwise.logs.items.items": "From conversations to what is judged",
    "turnwise.metrics": "Metrics by name",
    "turnwise.encode": "Sentence vectors and language models",
    "turnwise.encode.episodes": "Dialogues as arrays, for estimators",
    "turnwise.estimators": "Estimators by name",
    "turnwise.estimators.calibration": "From estimates to ratings",
    "turnwise.agents": "Agents by name or address",
    "turnwise.worlds.play": "Worlds",
    "turnwise.stats.clusters": "Sums by cluster",
    "turnwise.stats.interval": "Intervals",
    "turnwise.stats.correlation": "Correlations",
    "turnwise.stats.permutation": "Tests",
    "turnwise.ratings.agreement": "Agreement of raters",
    "turnwise.meta.correlate": "Metrics against people",
    "turnwise.attacks.attack": "Attacks on a metric",
    "turnwise.report.report": "Reports",
    "turnwise.plugins": "Names, settings and other packages",
}
HEAD = """# The library

Public names, from the docstrings of the code (`python -m tools.make_api` writes this page). Everything is typed, and
the types are checked in strict mode; what begins with `_` may change without notice.
"""


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    names = getattr(module, "__all__", None)
    for name, value in vars(module).items():
        if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if name in names if names is not None else value.__module__ == module.__name__:
            yield name, value


def paragraph(value: Any) -> str:
    """The first of the docstring, unless a dataclass wrote that itself."""
    text = value.__doc__ or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):
        return ""
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split())


def signature(value: Any) -> str:
    if inspect.isclass(value) and (issubclass(value, BaseException) or getattr(value, "_is_protocol", False)):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    shown = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    # Defaults that are objects show an address, which differs from run to run.
    return re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "...", shown)


def lines() -> Iterator[str]:
    yield HEAD
    for room, about in ROOMS.items():
        module = importlib.import_module(room)
        yield f"## {room}\n\n{about}. {paragraph(module)}\n"
        for name, value in public(module):
            says = paragraph(value)
            yield f"* `{name}{signature(value)}`" + (f": {says}" if says else "")
        yield ""


def page() -> str:
    return "\n".join(lines()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
