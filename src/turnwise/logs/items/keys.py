"""Dotted keys into a record, `agent` or `meta.corpus`, as --where, --by, --pair, --cluster, --agent-key take them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from turnwise.errors import DataError
from turnwise.types import Dialogue, digest, system_prompt

SYSTEM = "system"  # in --agent-key: the text of the system prompt
SHOWN = 40  # characters of a system prompt that an agent's name has
WEIGHT = "weight"  # key of `meta`: the inverse of the probability with which a dialogue was drawn to be rated


def lookup(dialogue: Dialogue, key: str) -> str | None:
    """The value at a dotted key: a string as it is, anything else as JSON text; None if it is absent or null."""
    value = value_at(_record(dialogue), key)
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def value_of(dialogue: Dialogue, key: str) -> str:
    """As `lookup`, but an absent key raises `DataError`, which names the record and the keys that it has."""
    value = lookup(dialogue, key)
    if value is None:
        there = ", ".join(_keys(_record(dialogue)))
        raise DataError(f"record {dialogue.id!r} has no key `{key}`; it has {there}")
    return value


def agent_by(dialogue: Dialogue, keys: Sequence[str]) -> str:
    """The name of the agent that these keys tell from others: their values, joined by `/`.

    A record without one of them raises `DataError`.
    """
    return "/".join(
        _prompt_name(dialogue) if key == SYSTEM and lookup(dialogue, key) is None else value_of(dialogue, key)
        for key in keys
    )


def _prompt_name(dialogue: Dialogue) -> str:
    """The system prompt of a dialogue in one line; a long one is cut and has a hash of the whole text."""
    whole = "\n".join(turn.text for turn in system_prompt(dialogue.turns))
    line = " ".join(whole.split())
    if len(line) <= SHOWN:
        return line or "no system prompt"
    return f"{line[:SHOWN].rstrip()}... ({digest(whole)[:4]})"


def _record(dialogue: Dialogue) -> dict[str, Any]:
    """What keys look into: id, agent, goal and meta, and the record's unknown keys; not its messages or ratings."""
    named = {"id": dialogue.id, "agent": dialogue.agent, "goal": dialogue.goal, "meta": dialogue.meta}
    return named | dict(dialogue.extra)


def value_at(values: Any, key: str) -> Any:
    """The value at a dotted key, None if there is none; a key that has the dots in its own name comes before
    nested ones.
    """
    if not isinstance(values, Mapping):
        return None
    if key in values:
        return values[key]
    step, dot, rest = key.partition(".")
    return value_at(values.get(step), rest) if dot else None


def _keys(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted keys of all values that are not null; of nested objects only the innermost keys."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{key}.")
        elif value is not None:
            yield prefix + key
