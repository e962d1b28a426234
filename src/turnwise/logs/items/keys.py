"""Dotted keys into a record, `agent` or `meta.corpus`, as --where, --by, --pair and --cluster take them."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnwise.errors import DataError
from turnwise.types import Dialogue


def lookup(dialogue: Dialogue, key: str) -> str | None:
    """The value at `key` as text, `true` and `false` in lower case; None where the record has none."""
    value = _descend(_record(dialogue), key)
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def value_of(dialogue: Dialogue, key: str) -> str:
    """As `lookup`; a record without the key is an error that names it and the keys it has."""
    value = lookup(dialogue, key)
    if value is None:
        there = ", ".join(_keys(_record(dialogue)))
        raise DataError(f"record {dialogue.id!r} has no key `{key}`; it has {there}")
    return value


def _record(dialogue: Dialogue) -> dict[str, Any]:
    named = {"id": dialogue.id, "agent": dialogue.agent, "goal": dialogue.goal, "meta": dialogue.meta}
    return named | dict(dialogue.extra)


def _descend(values: Any, key: str) -> Any:
    """A key that itself has dots in it is found before one that is nested."""
    if not isinstance(values, Mapping):
        return None
    if key in values:
        return values[key]
    step, dot, rest = key.partition(".")
    return _descend(values.get(step), rest) if dot else None


def _keys(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted keys of all values."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{key}.")
        elif value is not None:
            yield prefix + key
