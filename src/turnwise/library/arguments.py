"""Checks the arguments of a library function against its annotations, before any work is done.

Static checkers see the function's own signature. A notebook has no static checker, so the same mistakes are errors at
the call: a keyword that the function lacks, with the nearest one, and a value of the wrong type or out of range.
"""

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from operator import index
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from turnwise.errors import ON_COMMAND_LINE, TurnwiseError, UsageError, nearest
from turnwise.extras import named_extras
from turnwise.library.keywords import reworded, with_reworded_reasons
from turnwise.registry import split_outside_brackets
from turnwise.run.workers.threads import limited_threads

P = ParamSpec("P")
R = TypeVar("R")
_WORDS = {
    bool: "True or False",
    int: "an int",
    float: "a float",
    str: "a str",
    NoneType: "None",
    Path: "a path",
}
UNCHECKED = "checked where it is read"  # in `Annotated`: a value that the function checks itself


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a number, for use in `Annotated`; infinite bounds do not limit."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf  # exclusive lower bound
    below: float = math.inf  # exclusive upper bound

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most and self.above < value < self.below

    def __str__(self) -> str:
        """The finite bounds in words, such as `>= 1 and < 5`; empty if there are none."""
        bounds = ((">=", self.least), ("<=", self.most), (">", self.above), ("<", self.below))
        return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if math.isfinite(bound))


Names = str | Sequence[str]  # one name, several by comma, or a sequence of names
PathLike = str | Path
Count = Annotated[int, Range(least=1)]
Natural = Annotated[int, Range(least=0)]
Money = Annotated[float, Range(least=0)]


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator that checks every argument of a call against the annotations before the function runs.

    Mistakes raise `UsageError`; integers that stand for floats, and sequences, are converted. Errors of the function
    name its keywords, or on a command line the options. While the function runs, BLAS has one thread.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function with its arguments checked and converted."""
        for name in kwargs:
            if name not in signature.parameters:
                raise _unknown(function.__name__, name, list(signature.parameters))
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"{function.__name__}: {_misbound(signature, str(error), len(args))}") from None
        hints = _hints(function)
        for name, value in bound.arguments.items():
            bound.arguments[name] = _converted(function.__name__, name, value, hints.get(name, Any))
        try:
            with named_extras(f"this call of `{function.__name__}`"), limited_threads():
                found = function(*bound.args, **bound.kwargs)
        except TurnwiseError as error:
            if not ON_COMMAND_LINE.get():
                reworded(error, function.__name__, hints)
            raise
        return found if ON_COMMAND_LINE.get() else with_reworded_reasons(found, function.__name__, hints)

    return call


def _misbound(signature: inspect.Signature, message: str, given: int) -> str:
    """Why a call does not fit the signature; for too many positional arguments, the keywords that they may be."""
    if not message.startswith("too many positional"):
        return message.replace("required keyword-only argument", "required argument")  # Python 3.12+
    parameters = signature.parameters.values()
    places = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    keywords = [one for one in parameters if one.kind is one.KEYWORD_ONLY]
    needed = [one.name for one in keywords if one.default is one.empty] or [one.name for one in keywords][:1]
    taken = f"only {', '.join(f'`{name}`' for name in places)}" if places else "nothing"
    advice = f"; name the others: {', '.join(f'{name}=...' for name in needed)}" if needed else ""
    return f"{message}: {given} were given, and {taken} can be given without a name{advice}"


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The evaluated annotations of a function, with `Annotated` kept."""
    return get_type_hints(function, include_extras=True)


def _unknown(function: str, name: str, known: list[str]) -> UsageError:
    """The error (not raised) for a keyword that the function lacks, with the nearest one."""
    near = get_close_matches(name, known, n=1)
    advice = f"did you mean `{near[0]}`?" if near else nearest(name, known)
    return UsageError(f"{function} has no parameter `{name}`; {advice}")


class _Mismatch(Exception):
    """A value does not fit its annotation; `_converted` turns it into a `UsageError`."""


def _converted(function: str, name: str, value: Any, hint: Any) -> Any:
    """The value as the annotation has it; `UsageError` with the function and the parameter if it does not fit."""
    try:
        return _convert(value, hint)
    except _Mismatch:
        expected = _described(hint)
        raise UsageError(f"{function}: `{name}` must be {expected}, not {_shown(value)}") from None


def _convert(value: Any, hint: Any) -> Any:
    """The value as the annotation has it, such as a float for an integer; raises `_Mismatch` if it does not fit."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _first_that_fits(value, get_args(hint))
    if origin is Annotated:
        inner, *bounds = get_args(hint)
        if UNCHECKED in bounds:
            return value
        found = _convert(value, inner)
        if all(found in bound for bound in bounds if isinstance(bound, Range)):
            return found
        raise _Mismatch
    if origin is Literal:
        if isinstance(value, str) and value in get_args(hint):
            return value
        raise _Mismatch
    if origin is not None and isinstance(origin, type):
        return _collection(value, origin, get_args(hint))
    return _plain(value, hint)


def _first_that_fits(value: Any, kinds: Sequence[Any]) -> Any:
    """The value as the first of the kinds that it fits; raises `_Mismatch` if it fits none."""
    for kind in kinds:
        try:
            return _convert(value, kind)
        except _Mismatch:
            continue
    raise _Mismatch


def _collection(value: Any, origin: type, inner: tuple[Any, ...]) -> Any:
    """A mapping as a dict, a sequence as a list or a tuple of fixed length, with converted elements; a text is
    no sequence. Values of other generic types are not checked.
    """
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise _Mismatch
        key, kind = inner
        return {_convert(one, key): _convert(each, kind) for one, each in value.items()}
    if issubclass(origin, Sequence):
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise _Mismatch
        if issubclass(origin, tuple):
            if len(value) != len(inner):
                raise _Mismatch
            return tuple(_convert(one, kind) for one, kind in zip(value, inner, strict=True))
        return [_convert(one, inner[0]) for one in value]
    return value


def _plain(value: Any, kind: Any) -> Any:
    """The value as a bool, int or float, also from numpy; NaN is no float and a bool no number.

    Values of types other than these, str, Path and None are not checked.
    """
    if kind is None or kind is NoneType:
        if value is not None:
            raise _Mismatch
    elif kind is bool:
        if not isinstance(value, bool) and type(value).__name__ != "bool_":
            raise _Mismatch
        return bool(value)
    elif kind is int:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise _Mismatch
        return index(value)
    elif kind is float:
        if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
            raise _Mismatch
        return float(value)
    elif kind in (str, Path) and not isinstance(value, kind):
        raise _Mismatch
    return value


def _described(hint: Any) -> str:
    """What an annotation accepts, in words for an error; None comes last."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        kinds = list(dict.fromkeys(_described(one) for one in get_args(hint)))
        return " or ".join(
            [*(one for one in kinds if one != "None"), *(one for one in kinds if one == "None")]
        )
    if origin is Annotated:
        inner, *bounds = get_args(hint)
        limits = " and ".join(str(bound) for bound in bounds if isinstance(bound, Range))
        return f"{_described(inner)} {limits}".rstrip()
    if origin is Literal:
        return f"one of {', '.join(map(repr, get_args(hint)))}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a dict"
    if isinstance(origin, type) and issubclass(origin, tuple):
        return f"a tuple ({', '.join(_described(one).split(' ')[-1] for one in get_args(hint))})"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"a sequence of {_described(get_args(hint)[0]).removeprefix('a ')} values"
    return _WORDS.get(hint, str(getattr(hint, "__name__", hint)))


def _shown(value: Any) -> str:
    """The `repr` of a short text, number or None; else `a` and the name of the type."""
    text = repr(value)
    return (
        text
        if isinstance(value, str | int | float | NoneType) and len(text) <= 80
        else f"a {type(value).__name__}"
    )


def split_names(value: Names | None) -> tuple[str, ...]:
    """Names by comma or in a sequence, stripped; a comma inside brackets belongs to a metric's settings.

    None gives an empty tuple.
    """
    texts = [value] if isinstance(value, str) else list(value or ())
    return tuple(name.strip() for text in texts for name in split_outside_brackets(text) if name.strip())


def one_or_more(parameter: str, value: Names) -> tuple[str, ...]:
    """As `split_names`, but no name raises `UsageError`, which names the parameter."""
    found = split_names(value)
    if not found:
        raise UsageError(f"`{parameter}` names nothing")
    return found


def paths(value: PathLike | Sequence[PathLike] | None) -> tuple[str, ...]:
    """One path or several as texts; None gives none."""
    if value is None:
        return ()
    return (str(value),) if isinstance(value, str | Path) else tuple(str(one) for one in value)


def optional_path(value: PathLike | None) -> str | None:
    """The path as text; None stays None."""
    return None if value is None else str(value)


def check_place(on: str, address: str | None) -> None:
    """Raise `UsageError` for an address without `on="ray"`, which would have no effect."""
    if address and on != "ray":
        raise UsageError(f"--address {address} is that of a Ray cluster: add --on ray")
