"""Paths inside decoded JSON: keys with dots, `info.model`; `name[0]` is an element of a list, `name[*]` all of them."""

import re
from collections.abc import Iterable
from typing import Any

from turnwise.errors import UsageError
from turnwise.logs.checks import RuleError

STEP = re.compile(r"([^.\[\]]+)|\[(\d+|\*)\]")
NOTHING = object()  # in place of a value of which nothing is left


def values_at(value: Any, path: str) -> list[Any]:
    """All values at a path such as `results[*].log`, in order; empty if the path leads nowhere.

    A text that is no path raises `UsageError`.
    """
    found = [value]
    for key, place in steps_of(path):
        if key:
            found = [one[key] for one in found if isinstance(one, dict) and key in one]
        elif place == "*":
            found = [inner for one in found if isinstance(one, list) for inner in one]
        else:
            found = [one[int(place)] for one in found if isinstance(one, list) and int(place) < len(one)]
    return found


def value_at(value: Any, path: str) -> Any:
    """The one value at a path, or None if there is none; several raise `RuleError`."""
    found = values_at(value, path)
    if len(found) > 1:
        raise RuleError(f"has {len(found)} values; expected one").inside(path)
    return found[0] if found else None


def steps_of(path: str) -> list[tuple[str, str]]:
    """A path as pairs (key, index), one of which is empty; `*` is all elements. Anything else raises `UsageError`."""
    steps = STEP.findall(path)
    if not steps or "".join(key or f"[{place}]" for key, place in steps) != path.replace(".", ""):
        raise UsageError(f"`{path}` is no path; write keys with dots, [0] or [*], for example results[*].log")
    return steps


def without_paths(value: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """An object without what is at the paths, and without objects and lists that have nothing else."""
    left: Any = value
    for path in paths:
        left = _without(left, steps_of(path))
    return {} if left is NOTHING else left


def _without(value: Any, steps: list[tuple[str, str]]) -> Any:
    """A value without what the steps lead to; `NOTHING` if nothing else is in it."""
    if not steps or value is NOTHING:
        return NOTHING
    (key, place), rest = steps[0], steps[1:]
    if key:
        if not isinstance(value, dict) or key not in value:
            return value
        inner = _without(value[key], rest)
        left = {name: inner if name == key else one for name, one in value.items()}
        return {name: one for name, one in left.items() if one is not NOTHING} or NOTHING
    if not isinstance(value, list):
        return value
    chosen = range(len(value)) if place == "*" else [int(place)]
    found = [_without(one, rest) if index in chosen else one for index, one in enumerate(value)]
    return (
        NOTHING if all(one is NOTHING for one in found) else [{} if one is NOTHING else one for one in found]
    )


def outside(value: Any, steps: list[tuple[str, str]]) -> int:
    """How many keys and elements stand beside the way of the steps; a value in which a step leads nowhere is one."""
    if not steps:
        return 0
    (key, place), rest = steps[0], steps[1:]
    if key:
        if not isinstance(value, dict):
            return value is not None
        return len(value.keys() - {key}) + (outside(value[key], rest) if key in value else 0)
    if not isinstance(value, list):
        return value is not None
    if place == "*":
        return sum(outside(one, rest) for one in value)
    there = value[int(place) : int(place) + 1]
    return len(value) - len(there) + sum(outside(one, rest) for one in there)
