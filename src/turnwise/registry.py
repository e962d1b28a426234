"""Names and settings: `name[key=value,...]`, the user's `module:function`, and the entry points of other packages.

A package adds plugins through entry points of the groups in `GROUPS`. A plugin that cannot be used is described in one
line (`PluginError`) and left out; all others stay usable. Where a plugin has the name of one of turnwise's own, ours is
used. A name that two packages offer belongs to neither of them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, distributions, entry_points
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from turnwise.errors import PluginError, TurnwiseError, UsageError
from turnwise.terminal import say

GROUPS = {
    "metrics": "metric",
    "estimators": "estimator",
    "readers": "reader",
    "agents": "agent",
    "worlds": "world",
    "trainers": "trainer",
}
"""Entry point groups, without the prefix `turnwise.`, and what one entry of each is called."""

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_NOT_IN_A_NAME = set("[]:,=/ ")  # these have a meaning where a user writes a name
_LONGEST = 300  # characters of a foreign exception's message that are shown


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry point of another package."""

    kind: str  # metric, estimator, ...
    name: str
    target: str  # module:attribute
    owner: str  # the package

    def __str__(self) -> str:
        return f"{self.kind} `{self.name}` of {self.owner}"

    def load(self) -> Any:
        """Import the object; raises `PluginError` for any exception except turnwise's own, which pass through."""
        module, _, attribute = self.target.partition(":")
        try:
            found = import_module(module)
            for part in attribute.split(".") if attribute else ():
                found = getattr(found, part)
        except TurnwiseError:
            raise
        except (Exception, SystemExit) as error:  # foreign code may raise anything
            raise self.error(f"cannot be loaded from {self.target}: {described(error)}") from error
        return found

    def error(self, problem: object) -> PluginError:
        """The error (not raised) that this entry point has a problem."""
        return PluginError(f"{self}: {problem}")


@dataclass(frozen=True, slots=True)
class Offers:
    """What other packages offer in one group."""

    usable: Mapping[str, Offer] = field(default_factory=dict)  # by name
    problems: Mapping[str, PluginError] = field(default_factory=dict)  # by name: why it cannot be used

    def find(self, name: str) -> Offer | None:
        """The offer of this name, None if nobody offers it; raises `PluginError` if the name is offered and
        cannot be used.
        """
        if name in self.usable:
            return self.usable[name]
        if name in self.problems:
            raise self.problems[name]
        return None


def described(error: BaseException) -> str:
    """The type and the message of an exception in one line, the message cut to 300 characters."""
    text = " ".join(str(error).split())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 3]}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def offered(group: str, own: Mapping[str, object] | tuple[str, ...]) -> Offers:
    """What other packages offer in the group `turnwise.GROUP`; `own` are the names that turnwise has itself.

    Names that are ours, malformed, or offered by two packages are problems.
    """
    kind = GROUPS[group]
    usable: dict[str, Offer] = {}
    problems: dict[str, PluginError] = {}
    for point in _entry_points(f"turnwise.{group}"):
        offer = Offer(kind, point.name, point.value, _owner(point))
        if point.name in own:
            problems[f"{point.name} of {offer.owner}"] = offer.error(
                f"turnwise itself has a {kind} of this name, which is used; the package must choose another name"
            )
        elif set(point.name) & _NOT_IN_A_NAME or not point.name:
            problems[point.name] = offer.error("a name has none of the characters [ ] : , = / and no space")
        elif point.name in usable or point.name in problems:
            first = usable.pop(point.name, None)
            owners = (
                f"{first.owner} and {offer.owner}" if first else f"several packages, such as {offer.owner},"
            )
            problems[point.name] = PluginError(
                f"{kind} `{point.name}`: {owners} offer this name, and neither is used; uninstall one of them"
            )
        else:
            usable[point.name] = offer
    return Offers(usable, problems)


def _entry_points(group: str) -> Iterator[EntryPoint]:
    """The entry points of a group, sorted by name and package.

    If the metadata of some package cannot be read, its plugins are left out with a warning on standard error,
    and the others are in no order.
    """
    try:
        yield from sorted(entry_points(group=group), key=lambda point: (point.name, _owner(point)))
    except Exception:  # the metadata of some package cannot be read: take the packages one by one
        seen: set[str] = set()
        for distribution in distributions():
            if (
                name := _package_name(distribution)
            ) in seen:  # the same folder is on the path twice, or an older version
                continue
            seen.add(name)
            try:
                found = distribution.entry_points.select(group=group)
            except Exception:
                say(f"warning: the entry points of {name} cannot be read; its plugins are left out", err=True)
                continue
            yield from found


def _owner(point: EntryPoint) -> str:
    """The name of the package of an entry point; the entry's target if the package is unknown."""
    return _package_name(point.dist) if point.dist is not None else point.value


def _package_name(distribution: Any) -> str:
    """The name of a package; `an unnamed package` if its metadata has none or cannot be read."""
    try:
        return str(distribution.metadata["Name"] or "an unnamed package")
    except Exception:  # a package without readable metadata
        return "an unnamed package"


def own_function(name: str, what: str) -> tuple[Callable[..., Any], bytes]:
    """The user's `module:function`, imported from the current folder first, and the bytes of its file (else b"").

    What cannot be imported or called raises `UsageError`; `what` names its kind there. Afterwards the current
    folder is in `sys.path`, at the end if it was not there before.
    """
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    invalidate_caches()  # the file may have been written a moment ago, for example from a notebook
    try:
        module = import_module(module_name)
    except Exception as error:  # the user's file may raise anything
        raise UsageError(f"cannot import the {what} `{name}`: {error} (looked in {here} first)") from error
    finally:
        # Moved to the end, so that a file of the user cannot replace a library that is imported later.
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)
    function, file = getattr(module, attribute, None), getattr(module, "__file__", None)
    if not callable(function):
        raise UsageError(f"`{module_name}` ({file or 'built in'}) has no function `{attribute}`")
    return function, Path(file).read_bytes() if file else b""


def settings(name: str, example: str) -> tuple[str, dict[str, Any]]:
    """`name[key=value,...]` as the name and its settings (numbers, true, false or texts); without brackets
    there are none. Anything else raises `UsageError` with `example`.
    """
    plain, bracket, rest = name.partition("[")
    if not bracket:
        return name, {}
    parts = [part.partition("=") for part in rest.removesuffix("]").split(",")]
    if not rest.endswith("]") or not all(key.strip() and sign for key, sign, _ in parts):
        raise UsageError(f"`{name}` is no name with settings; write for example {example}")
    return plain, {key.strip(): _parsed(value.strip()) for key, _, value in parts}


def check_required(offer: Offer, maker: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise the offer's `PluginError` if a setting without a default is not given."""
    for name, one in signature(maker).parameters.items():
        variadic = one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if one.default is one.empty and not variadic and name not in given:
            raise offer.error(f"the setting `{name}` has no default; write {offer.name}[{name}=...]")


def check(values: Mapping[str, Any], maker: Callable[..., Any], what: str) -> None:
    """Raise `UsageError` if a value written in brackets does not fit the annotation of the maker's parameter;
    parameters without a known annotation accept anything. `what` begins the message.
    """
    try:
        wanted = get_type_hints(maker)
    except Exception:  # annotations of a plugin that cannot be evaluated here say nothing
        wanted = {}
    for key, value in values.items():
        kinds = _kinds(wanted.get(key, Any))
        if not any(_fits(value, kind) for kind in kinds):
            words = " or ".join(_type_words(kind) for kind in kinds if kind is not NoneType)
            written = str(value).lower() if isinstance(value, bool) else value
            raise UsageError(f"{what}: `{key}` is {words}, not `{written}`")


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation alone."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _fits(value: object, kind: Any) -> bool:
    """Whether a value fits one kind: a member of a `Literal`, a finite number for float, or exactly the type
    for bool, int and str. None as a kind accepts nothing, and every other kind accepts anything.
    """
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    return kind is not NoneType and (kind not in _WORDS or type(value) is kind)


def _type_words(kind: Any) -> str:
    """A kind in words for an error; `something else` for kinds that are no Literal, bool, int, float or str."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    return _WORDS.get(kind, "something else")


def _parsed(text: str) -> bool | int | float | str:
    """A written setting as a bool (`true`, `false`), int, float or text, the first that fits."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
