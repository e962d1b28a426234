"""Small checks of decoded JSON, which compose; a failed one says where, what was found and what was expected.

A check is a function from a value to what it stands for. It raises `RuleError` without a place: each
collection it sits in adds its step on the way out, so that good data pays nothing for the paths.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from turnwise.types import LARGEST

T = TypeVar("T")
D = TypeVar("D")
Check = Callable[[Any], T]

WIDTH = 60  # characters of a found value that an error shows


class RuleError(Exception):
    """A value that breaks a rule: the message, and the keys and indices that lead to it, innermost first."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.advice = ""  # continues the message: an option that helps, where the command has it
        self.steps: list[str | int] = []

    def inside(self, step: str | int) -> "RuleError":
        """Add the key or index of the collection that holds the value, and return this error; call it from the
        inside out.
        """
        self.steps.append(step)
        return self

    @property
    def path(self) -> str:
        """The place of the value as a JSON path, `$` if no step is known, else such as `$.messages[3].role`."""
        return "$" + "".join(map(_step, reversed(self.steps)))


def _step(step: str | int) -> str:
    """A key or index as a part of a JSON path: `[3]`, `.role`, or `["two words"]` for a key that is no identifier."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{shown(step)}]"


def shown(value: object) -> str:
    """A value as JSON text for a message, `repr` where JSON cannot hold it; cut to 60 characters with `...` at
    the end.
    """
    if isinstance(value, str):
        value = value[: WIDTH + 1]  # a long text need not be encoded whole to be cut
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, RecursionError, UnicodeEncodeError):
        text = repr(value)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def wrong(value: object, expected: str) -> RuleError:
    """The error (returned, not raised) that says what `value` is and what was expected."""
    return RuleError(f"is {shown(value)}; expected {expected}")


def text(value: Any) -> str:
    """The value if it is a string, which may be empty; else raises `RuleError`."""
    if type(value) is str:
        return value
    raise wrong(value, "a string")


def name(value: Any) -> str:
    """The value if it is a string that is not empty, for ids and names; else raises `RuleError`."""
    if type(value) is str and value:
        return value
    raise wrong(value, "a string that is not empty")


def number(value: Any) -> float:
    """The value as a float if it is an int or a float of at most `LARGEST` in size; else raises `RuleError`.

    True, false, NaN and infinity are no numbers.
    """
    if type(value) is int or type(value) is float:
        if abs(value) <= LARGEST:
            return float(value)
        if LARGEST < abs(value) < math.inf:
            raise wrong(value, f"a number between {-LARGEST:g} and {LARGEST:g}")
    raise wrong(value, "a finite number")


def integer(value: Any) -> int:
    """The value if it is an int; true, false and floats such as 1.0 raise `RuleError`."""
    if type(value) is int:
        return value
    raise wrong(value, "an integer")


def one_of(options: tuple[T, ...]) -> Check[T]:
    """A check that returns the option equal to the value, and raises `RuleError` with all options if there is none."""

    def chosen(value: Any) -> T:
        """The option equal to the value; raises `RuleError` if there is none."""
        if value in options:
            return options[options.index(value)]
        raise wrong(value, f"one of {', '.join(map(str, options))}")

    return chosen


def record(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object; else raises `RuleError`."""
    if type(value) is dict:
        return value
    raise wrong(value, "an object")


def array(value: Any) -> list[Any]:
    """The value if it is a JSON list, unchanged; else raises `RuleError`."""
    if type(value) is list:
        return value
    raise wrong(value, "a list")


def each(check: Check[T]) -> Check[tuple[T, ...]]:
    """A check of a list: a tuple of what `check` returns for each element; an error names the index of the element."""

    def elements(value: Any) -> tuple[T, ...]:
        """What `check` returns for each element of a list; raises `RuleError` for another value."""
        found: list[T] = []
        try:
            for element in array(value):
                found.append(check(element))  # the length says which one failed
        except RuleError as error:
            raise (error.inside(len(found)) if type(value) is list else error) from None
        return tuple(found)

    return elements


def mapping(check: Check[T]) -> Check[dict[str, T]]:
    """A check of an object: a dict with what `check` returns for each value; an error names the key."""

    def values(value: Any) -> dict[str, T]:
        """Key -> what `check` returns for its value; raises `RuleError` if the value is no object."""
        return {key: required(value, key, check) for key in record(value)}

    return values


def required(values: Mapping[str, Any], key: str, check: Check[T]) -> T:
    """The checked value of `key`; a missing key raises `RuleError`, and a null value is passed to the check."""
    if key not in values:
        raise RuleError("is missing").inside(key)
    try:
        return check(values[key])
    except RuleError as error:
        raise error.inside(key) from None


def optional(values: Mapping[str, Any], key: str, check: Check[T], *, default: D) -> T | D:
    """The checked value of `key`; the default if the key is absent or its value is null."""
    value = values.get(key)
    if value is None:
        return default
    try:
        return check(value)
    except RuleError as error:
        raise error.inside(key) from None


def others(values: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The entries of `values` whose keys are not in `known`, in their order."""
    return {key: value for key, value in values.items() if key not in known}
