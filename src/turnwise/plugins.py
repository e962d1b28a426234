"""What is asked for by name: `name[key=value,...]`, and names that other packages add.

A package adds a metric, an estimator, a reader or a world through an entry point of the group `turnwise.metrics`,
`turnwise.estimators`, `turnwise.readers` or `turnwise.worlds`. A name has one owner, and a second is refused.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from turnwise.errors import UsageError

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True, slots=True)
class Offer:
    """A name that another package adds."""

    target: str  # module:attribute
    owner: str  # the package

    def load(self, what: str) -> Any:
        module, _, attribute = self.target.partition(":")
        try:
            found = import_module(module)
            return getattr(found, attribute) if attribute else found
        except (ImportError, AttributeError) as error:
            raise UsageError(f"{what} of {self.owner} cannot be loaded: {error}") from error


def own_function(name: str, what: str) -> tuple[Callable[..., Any], bytes]:
    """The user's `module:function`, looked for here first, and what its file holds (nothing where it has none)."""
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    invalidate_caches()  # the file may have been written a moment ago, from a notebook say
    try:
        module = import_module(module_name)
    except Exception as error:  # the user's file may raise anything
        raise UsageError(f"cannot import the {what} `{name}`: {error} (looked in {here} first)") from error
    finally:
        # From now on last, so that a file of the user's cannot stand in for a library that we import later.
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)
    function, file = getattr(module, attribute, None), getattr(module, "__file__", None)
    if not callable(function):
        raise UsageError(f"`{module_name}` ({file or 'built in'}) has no function `{attribute}`")
    return function, Path(file).read_bytes() if file else b""


def offered(group: str, own: Mapping[str, object] | tuple[str, ...]) -> dict[str, Offer]:
    """Name -> what other packages offer under it, in the group `turnwise.GROUP`."""
    found: dict[str, Offer] = {}
    for point in entry_points(group=f"turnwise.{group}"):
        owner = point.dist.name if point.dist else point.value
        if point.name in own or point.name in found:
            first = found[point.name].owner if point.name in found else "turnwise"
            raise UsageError(
                f"two packages offer `{point.name}` among the {group}: {first} and {owner}; uninstall one"
            )
        found[point.name] = Offer(point.value, owner)
    return found


def settings(name: str, example: str) -> tuple[str, dict[str, Any]]:
    """`name[key=value,...]` taken apart; a value is a number, true, false or a text."""
    plain, bracket, rest = name.partition("[")
    if not bracket:
        return name, {}
    parts = [part.partition("=") for part in rest.removesuffix("]").split(",")]
    if not rest.endswith("]") or not all(key.strip() and sign for key, sign, _ in parts):
        raise UsageError(f"`{name}` is no name with settings; write for example {example}")
    return plain, {key.strip(): _value(value.strip()) for key, _, value in parts}


def check(values: Mapping[str, Any], maker: Callable[..., Any], what: str) -> None:
    """Raises where a value that was written in brackets is not what its maker's annotation wants."""
    wanted = get_type_hints(maker)
    for key, value in values.items():
        kinds = _kinds(wanted.get(key, Any))
        if not any(_fits(value, kind) for kind in kinds):
            words = " or ".join(_words(kind) for kind in kinds if kind is not NoneType)
            told = str(value).lower() if isinstance(value, bool) else value
            raise UsageError(f"{what}: `{key}` is {words}, not `{told}`")


def _kinds(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _fits(value: object, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    return kind is not NoneType and (kind not in _WORDS or type(value) is kind)


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    return _WORDS.get(kind, "something else")


def _value(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
