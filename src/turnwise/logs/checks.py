"""Small checks of decoded JSON, which compose; a failed one says where, what was found and what was expected.

A check is a function from a value to what it stands for. It raises `RuleError` without a place: each
collection it sits in adds its step on the way out, so that good data pays nothing for the paths.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
D = TypeVar("D")
Check = Callable[[Any], T]

WIDTH = 60  # characters of a found value that an error shows


class RuleError(Exception):
    """A value that breaks a rule, and the steps that lead to it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.steps: list[str | int] = []

    def inside(self, step: str | int) -> "RuleError":
        """The same error, one step further out in the JSON value."""
        self.steps.append(step)
        return self

    @property
    def path(self) -> str:
        """The JSON path of the value that is wrong."""
        return "$" + "".join(map(_step, reversed(self.steps)))


def _step(step: str | int) -> str:
    """One step of a JSON path: `[0]`, `.key` or `["a key"]`."""
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{shown(step)}]"


def shown(value: object) -> str:
    """A value as its file has it, cut to what fits in a message."""
    if isinstance(value, str):
        value = value[: WIDTH + 1]  # a long text need not be encoded whole to be cut
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, RecursionError, UnicodeEncodeError):
        text = repr(value)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def wrong(value: object, expected: str) -> RuleError:
    """The error for a value of the wrong kind."""
    return RuleError(f"is {shown(value)}; expected {expected}")


def text(value: Any) -> str:
    """The value, which must be a string."""
    if type(value) is str:
        return value
    raise wrong(value, "a string")


def name(value: Any) -> str:
    """The value, which must be a string that is not empty."""
    if type(value) is str and value:
        return value
    raise wrong(value, "a string that is not empty")


def number(value: Any) -> float:
    """A finite number; true and false are none."""
    if type(value) is int or type(value) is float:
        try:
            as_float = float(value)
        except OverflowError:
            as_float = math.inf
        if math.isfinite(as_float):
            return as_float
    raise wrong(value, "a finite number")


def integer(value: Any) -> int:
    """The value, which must be an integer; true and false are none."""
    if type(value) is int:
        return value
    raise wrong(value, "an integer")


def one_of(options: tuple[T, ...]) -> Check[T]:
    """The check of a value that is one of `options`."""

    def chosen(value: Any) -> T:
        if value in options:
            return options[options.index(value)]
        raise wrong(value, f"one of {', '.join(map(str, options))}")

    return chosen


def record(value: Any) -> dict[str, Any]:
    """The value, which must be a JSON object."""
    if type(value) is dict:
        return value
    raise wrong(value, "an object")


def array(value: Any) -> list[Any]:
    """The value, which must be a JSON list."""
    if type(value) is list:
        return value
    raise wrong(value, "a list")


def each(check: Check[T]) -> Check[tuple[T, ...]]:
    """The check of a list, every element of which passes `check`."""

    def elements(value: Any) -> tuple[T, ...]:
        found: list[T] = []
        try:
            for element in array(value):
                found.append(check(element))  # the length says which one failed
        except RuleError as error:
            raise (error.inside(len(found)) if type(value) is list else error) from None
        return tuple(found)

    return elements


def mapping(check: Check[T]) -> Check[dict[str, T]]:
    """The check of an object, every value of which passes `check`."""

    def values(value: Any) -> dict[str, T]:
        return {key: required(value, key, check) for key in record(value)}

    return values


def required(values: Mapping[str, Any], key: str, check: Check[T]) -> T:
    """The value of a key that must be there, checked."""
    if key not in values:
        raise RuleError("is missing").inside(key)
    try:
        return check(values[key])
    except RuleError as error:
        raise error.inside(key) from None


def optional(values: Mapping[str, Any], key: str, check: Check[T], *, default: D) -> T | D:
    """The checked value of `key`; a key that is absent or null has the default."""
    value = values.get(key)
    if value is None:
        return default
    try:
        return check(value)
    except RuleError as error:
        raise error.inside(key) from None


def others(values: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """What is not known here, to be passed through."""
    return {key: value for key, value in values.items() if key not in known}
