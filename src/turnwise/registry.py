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
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, PackageNotFoundError, distributions, entry_points, version
from inspect import signature
from pathlib import Path
from types import FunctionType, ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from turnwise.errors import PluginError, TurnwiseError, UsageError
from turnwise.plugin_code import described, plugin_code
from turnwise.session_functions import known
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


class NoFunction(UsageError):
    """A module of the user that has no function of the name."""


_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_NOT_IN_A_NAME = set("[]:,=/ ")  # these have a meaning where a user writes a name


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
            waiting = f"importing {module}, for {self}, takes long" if self.owner != "turnwise" else ""
            with plugin_code(waiting):
                found = import_module(module)
                for part in attribute.split(".") if attribute else ():
                    found = getattr(found, part)
        except TurnwiseError:
            raise
        except Exception as error:  # foreign code may raise anything
            raise self.error(
                f"cannot be loaded from {self.target}: {described(error, self.target)}"
            ) from error
        return found

    def make(self, maker: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
        """The object that the plugin's class or function makes from the settings; errors about it name this offer.

        Raises `PluginError` for any exception except turnwise's own, which pass through.
        """
        try:
            with plugin_code():
                made = maker(**settings)
        except TurnwiseError:
            raise
        except Exception as error:  # foreign code may raise anything
            raise self.error(f"cannot be made: {described(error, self.target)}") from error
        remember(made, self)
        return made

    def error(self, problem: str | PluginError) -> PluginError:
        """The error (not raised) that this entry point has a problem; what one of its plugin's errors is about is
        replaced.
        """
        return PluginError(problem.words if isinstance(problem, PluginError) else problem, about=str(self))


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


# Class, or function -> the offers that made an object of it, by name.
_MADE: dict[object, dict[str, Offer]] = {}


def remember(made: object, *offers: Offer) -> None:
    """Note which offers an object was made by, so that `plugin_name` and `offers_of` know it.

    Objects of turnwise's and of Python's own classes are not noted: others are of the same class.
    """
    key = _identity(made)
    if offers and _top(str(getattr(key, "__module__", ""))) not in ("turnwise", "builtins", "functools"):
        _MADE.setdefault(key, {}).update({offer.name: offer for offer in offers})


def offers_of(plugin: object) -> tuple[Offer, ...]:
    """The entry points that a plugin object was made by; in a worker process those of its class. Often one, or none."""
    key = _identity(plugin)
    if key in _MADE:
        return tuple(_MADE[key].values())
    target = f"{getattr(key, '__module__', '')}:{getattr(key, '__qualname__', '')}"
    return tuple(offer for offer in _all_offers() if offer.target == target)


_LOOKED_UP: dict[str, Offers] = {}  # group -> what `offered` found


def used_offer(group: str, name: str) -> Offer | None:
    """The offer that this name stands for in a group, such as `metrics`; None for our own names, and if no name of
    the group was looked up yet.
    """
    return _LOOKED_UP[group].usable.get(name) if group in _LOOKED_UP else None


def package_of(plugin: object) -> str | None:
    """The package of a plugin object, from its entry point or else from another one of the same top-level module.

    None if no package offers anything from there.
    """
    found = offers_of(plugin) or [one for one in _all_offers() if _top(one.target) == _top(module_of(plugin))]
    return found[0].owner if found else None


def plugin_name(plugin: object) -> str:
    """What a message calls a plugin object: the offer and the package, if known, then the module and the class.

    For example: metric `shouting` of example: example.shouting.Shouting.
    """
    about, path = named_parts(plugin)
    return f"{about}: {path}" if about else path


def named_parts(plugin: object) -> tuple[str, str]:
    """The offer and the package of a plugin object, "" if neither is known; and its module and class."""
    kind = _identity(plugin)
    path = f"{getattr(kind, '__module__', '?')}.{getattr(kind, '__qualname__', '?')}"
    if offers := offers_of(plugin):
        names = " or ".join(f"`{one.name}`" for one in offers)
        return f"{offers[0].kind} {names} of {offers[0].owner}", path
    return package_of(plugin) or "", path


def module_of(plugin: object) -> str:
    """The name of the module that a plugin is defined in: that of its entry point, or else of its class."""
    offers = offers_of(plugin)
    found = offers[0].target if offers else getattr(_identity(plugin), "__module__", "")
    return str(found).partition(":")[0]


def package_version(package: str) -> str | None:
    """The installed version of a package; None if it is not known."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _identity(plugin: object) -> object:
    """What identifies a plugin object: its class, or a class or function itself."""
    return plugin if isinstance(plugin, type | FunctionType) else type(plugin)


def _top(target: str) -> str:
    """The top-level package of a module or of `module:attribute`."""
    return target.partition(":")[0].partition(".")[0]


@cache
def _all_offers() -> tuple[Offer, ...]:
    """What other packages offer in all groups, looked up once."""
    return tuple(
        Offer(kind, point.name, point.value, _owner(point))
        for group, kind in GROUPS.items()
        for point in _entry_points(f"turnwise.{group}")
    )


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
    _LOOKED_UP[group] = Offers(usable, problems)
    return _LOOKED_UP[group]


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
                _warn_unreadable(name)
                continue
            yield from found


@cache
def _warn_unreadable(name: str) -> None:
    """Warn on standard error, once, that the metadata of a package cannot be read."""
    say(f"warning: the entry points of {name} cannot be read; its plugins are left out", err=True)


def unreadable_packages() -> list[str]:
    """The packages whose entry points cannot be read, each with its folder; torch cannot be imported beside one."""
    found = []
    for distribution in distributions():
        try:
            distribution.entry_points  # noqa: B018  # reads the file
        except Exception:
            found.append(
                f"{_package_name(distribution)} ({getattr(distribution, '_path', 'an unknown folder')})"
            )
    return found


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
    """The user's `module:function`, imported from the current folder first, and the bytes of its file (else b""); or a
    function that this session was given (`session_functions`), and its source.

    What cannot be imported raises `UsageError`, in which `what` names its kind; a module without the function raises
    `NoFunction`. Afterwards the current folder is in `sys.path`, at the end if it was not there before.
    """
    if (function := known(name)) is not None:
        return function, function.source
    module_name, _, attribute = name.partition(":")
    module = own_module(module_name, what, name)
    found, file = getattr(module, attribute, None), getattr(module, "__file__", None)
    if not callable(found):
        raise NoFunction(f"`{module_name}` ({file or 'built in'}) has no function `{attribute}`")
    return found, Path(file).read_bytes() if file else b""


def own_module(module_name: str, what: str, name: str) -> ModuleType:
    """The user's module, imported from the current folder first; errors have `what` it is for, and the whole `name`."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    invalidate_caches()  # the file may have been written a moment ago, for example from a notebook
    try:
        with plugin_code():
            return import_module(module_name)
    except Exception as error:  # the user's file may raise anything
        if module_name.endswith(".py") and Path(module_name).is_file():
            right = name.replace(module_name, ".".join(Path(module_name).with_suffix("").parts))
            raise UsageError(
                f"the {what} `{name}` is written as a file; write its module: `{right}`"
            ) from error
        raise UsageError(f"cannot import the {what} `{name}`: {error} (looked in {here} first)") from error
    finally:
        # Moved to the end, so that a file of the user cannot replace a library that is imported later.
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)


def split_outside_brackets(text: str) -> list[str]:
    """The parts of a text between commas; a comma inside brackets, which may be nested, does not count."""
    parts, depth = [""], 0
    for letter in text:
        depth = max(0, depth + (letter == "[") - (letter == "]"))
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def settings(name: str, example: str) -> tuple[str, dict[str, Any]]:
    """`name[key=value,...]` as the name and its settings (numbers, true, false or texts); without brackets
    there are none. Anything else raises `UsageError` with `example`.
    """
    plain, bracket, rest = name.partition("[")
    if not bracket:
        return name, {}
    parts = [part.partition("=") for part in split_outside_brackets(rest.removesuffix("]"))]
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
