"""A setting is a field of a command's class. Its annotation has what the command line, config files and docs need:

    seed: Annotated[int, Meta(ge=0), Option("Seed of everything random.")] = 0

Values are checked when a command is made, by `msgspec.convert` with the field's type and its `Meta`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, fields, replace
from functools import cache, reduce
from inspect import get_annotations
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import msgspec
from msgspec import Meta

from turnwise.errors import UsageError
from turnwise.session_functions import named

Names: TypeAlias = str | Sequence[str]  # one name, several by comma, or a sequence; a tuple once checked
if TYPE_CHECKING:
    # A call takes a function, and a checked setting is its name; one type must do for both.
    Function: TypeAlias = Any
else:
    Function: TypeAlias = Callable[..., Any]
NamesOrFunctions: TypeAlias = str | Function | Sequence[str | Function]  # a tuple of names once checked
NameOrFunction: TypeAlias = str | Callable[..., Any]  # a name once checked
PathLike: TypeAlias = str | Path  # a text once checked
Paths: TypeAlias = str | Path | Sequence[str | Path]  # one path or several; a tuple of texts once checked
Pairs: TypeAlias = (
    Mapping[str, str] | Sequence[tuple[str, str]]
)  # key -> value; a tuple of pairs once checked
# Types that take functions -> what is left once functions have names.
WITH_FUNCTIONS: dict[Any, Any] = {
    NamesOrFunctions: Names,
    NameOrFunction: str,
    NameOrFunction | None: str | None,
}
Count = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Money = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
_WORDS = {
    bool: "True or False",
    int: "an int",
    float: "a float",
    str: "a str",
    NoneType: "None",
    Path: "a path",
}


@dataclass(frozen=True, slots=True)
class Option:
    """How a setting is explained, written on a command line, and recorded in the origin of results."""

    help: str
    _: KW_ONLY
    # `-m --metric`, `--paired/--unpaired`, or `DATA...` for an argument. Default: made from the field's name.
    flags: str = ""
    metavar: str | None = None
    inverted: bool = False  # the flag switches the setting off, as `--no-cache` does
    repeatable: bool = False
    default: str = ""  # how the help shows the default, where it does not show the value
    parse: Callable[[Any], Any] | None = None  # text of the command line, or texts if repeatable -> value
    prints: Callable[[], None] | None = None  # the flag calls this and ends, whatever else is given
    only_python: bool = False  # the command line has no such option
    hidden: bool = False  # the command line has it, and neither help nor docs show it
    checked: bool = True  # False: the command checks the value itself
    record: str | None = ""  # key in `origin.settings.options`; "": the field's name; None: not recorded
    record_default: bool = True  # False: recorded only where it differs from the default


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a command."""

    name: str
    kind: Any  # the type, with `Meta` and without `Option`
    option: Option
    default: Any  # MISSING if it is required
    positional: bool

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def flags(self) -> list[str]:
        """The ways to write it on a command line, such as `-m` and `--metric`."""
        return self.option.flags.split() or [f"--{self.name.replace('_', '-')}"]


def settings(command: type) -> tuple[Setting, ...]:
    """The settings of a command: what can be given without a name in its order, then what is required, its own
    fields, and those of its groups.
    """
    return _settings(command)


@cache
def _settings(command: Any) -> tuple[Setting, ...]:
    """As `settings`; a type checker does not take every class for hashable.

    `restated` of a class says what the `Option` of an inherited setting has otherwise there.
    """
    hints = get_type_hints(command, include_extras=True)
    restated: dict[str, Mapping[str, Any]] = {}
    for kind in reversed(command.__mro__):
        restated |= vars(kind).get("restated", {})
    own = {*get_annotations(command), *vars(command).get("restated", {})}
    made = []
    for field in fields(command):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        kind, option = _without_option(hints[field.name])
        option = replace(option, **restated.get(field.name, {}))
        made.append(Setting(field.name, kind, option, default, not field.kw_only))
    first = [one for one in made if one.positional]
    rest = [one for one in made if not one.positional]
    return (*first, *sorted(rest, key=lambda one: (not one.required, one.name not in own)))


def _without_option(hint: Any) -> tuple[Any, Option]:
    """The type that an annotation has beside its `Option`, and the `Option`."""
    kind, *notes = get_args(hint)
    option = next(note for note in notes if isinstance(note, Option))
    rest = tuple(note for note in notes if not isinstance(note, Option))
    return (Annotated[(kind, *rest)] if rest else kind), option


class Checked:
    """Base class of commands: checks and normalises the values of all settings when a command is made."""

    def __post_init__(self) -> None:
        """Convert each value to its field's type; a value that does not fit raises `UsageError`."""
        for setting in settings(type(self)):
            if setting.option.checked:
                value = checked(setting, getattr(self, setting.name), self.public_name())
                object.__setattr__(self, setting.name, value)

    @classmethod
    def public_name(cls) -> str:
        """How messages about wrong values name the command."""
        return cls.__name__.lower()


def checked(setting: Setting, value: Any, title: str) -> Any:
    """The value as the setting has it: names as a tuple, a path as a text; `UsageError`, which begins with the title of
    the command, if it does not fit.
    """
    plain = _plain(_with_names(value) if bare(setting.kind) in WITH_FUNCTIONS else value)
    try:
        found = msgspec.convert(plain, _convertible(setting.kind))
    except msgspec.ValidationError:
        found = math.nan
    no_path = setting.required and setting.kind == PathLike and found == ""
    if no_path or (isinstance(found, float) and math.isnan(found)):
        raise UsageError(f"{title}: `{setting.name}` must be {described(setting.kind)}, not {_shown(value)}")
    return _normalised(found, setting.kind)


def _with_names(value: Any) -> Any:
    """The value with the name of a function in place of the function itself, also inside a list."""
    if isinstance(value, list | tuple):
        return [_with_names(part) for part in value]
    return value if isinstance(value, str) or not callable(value) else named(value)


def _plain(value: Any) -> Any:
    """The value with paths as texts and scalars of numpy as Python's, also inside mappings and sequences."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(part) for part in value]
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value


@cache
def _convertible(kind: Any) -> Any:
    """The type as msgspec takes it: paths are texts there."""
    origin = get_origin(kind)
    if kind is Path:
        return str
    if kind in WITH_FUNCTIONS:
        return WITH_FUNCTIONS[kind]
    if origin is Annotated:
        inner, *notes = get_args(kind)
        return Annotated[(_convertible(inner), *notes)]
    if origin in (Union, UnionType):
        return reduce(or_, map(_convertible, get_args(kind)))
    if origin in (Sequence, Mapping, tuple):
        return origin[tuple(part if part is ... else _convertible(part) for part in get_args(kind))]
    return kind


def _normalised(value: Any, kind: Any) -> Any:
    """Names as a tuple of names, paths as one of texts, and pairs as one of pairs; sequences as tuples."""
    if kind == Paths:
        return split_paths(value)
    if kind in (Names, Names | None, NamesOrFunctions):
        return None if value is None else split_names(value)
    if isinstance(value, dict) and kind in (Pairs, Pairs | None):
        return as_pairs(value)
    return tuple(value) if isinstance(value, list) else value


def split_names(value: Names | None) -> tuple[str, ...]:
    """Names by comma or in a sequence, stripped; a comma inside brackets belongs to a metric's settings.

    None gives an empty tuple.
    """
    from turnwise.registry import split_outside_brackets  # slow to import, and not needed for --help

    texts = [value] if isinstance(value, str) else list(value or ())
    return tuple(name.strip() for text in texts for name in split_outside_brackets(text) if name.strip())


def split_paths(value: Paths) -> tuple[str, ...]:
    """One path or several as texts."""
    return (str(value),) if isinstance(value, str | Path) else tuple(map(str, value))


@overload
def as_text(path: PathLike) -> str: ...
@overload
def as_text(path: PathLike | None) -> str | None: ...
def as_text(path: PathLike | None) -> str | None:
    """The path as text; None stays None."""
    return None if path is None else str(path)


def as_pairs(values: Pairs) -> tuple[tuple[str, str], ...]:
    """Pairs of key and value."""
    return tuple(values.items() if isinstance(values, Mapping) else values)


def bare(kind: Any) -> Any:
    """The type without the bounds of numbers, at any depth, as signatures show it."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return bare(parts[0])
    if origin in (Union, UnionType):
        return reduce(or_, map(bare, parts))
    if origin in (Sequence, Mapping, tuple):
        return origin[tuple(part if part is ... else bare(part) for part in parts)]
    return kind


def described(kind: Any) -> str:
    """What a type accepts, in words for an error; None comes last."""
    origin = get_origin(kind)
    if origin in (Union, UnionType) and kind not in WITH_FUNCTIONS:
        words = list(dict.fromkeys(map(described, get_args(kind))))
        return " or ".join(sorted(words, key=lambda word: word == "None"))
    if kind in WITH_FUNCTIONS:
        return f"{described(WITH_FUNCTIONS[kind])} or a function"
    if origin is Annotated:
        inner, *notes = get_args(kind)
        limits = " and ".join(_limits(note) for note in notes if isinstance(note, Meta))
        return f"{described(inner)} {limits}".rstrip()
    if origin is Literal:
        return f"one of {', '.join(map(repr, get_args(kind)))}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a dict"
    if isinstance(origin, type) and issubclass(origin, tuple):
        return f"a tuple ({', '.join(described(part).split(' ')[-1] for part in get_args(kind))})"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"a sequence of {described(get_args(kind)[0]).removeprefix('a ')} values"
    return _WORDS.get(kind, str(getattr(kind, "__name__", kind)))


def _limits(meta: Meta) -> str:
    """The bounds of a number in words, such as `>= 1 and < 5`."""
    bounds = ((">=", meta.ge), ("<=", meta.le), (">", meta.gt), ("<", meta.lt))
    return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)


def _shown(value: Any) -> str:
    """The `repr` of a short text, number or None; else `a` and the name of the type."""
    text = repr(value)
    if isinstance(value, str | int | float | NoneType) and len(text) <= 80:
        return text
    return f"a {type(value).__name__}"
