"""Families of agents that repeat a list of behaviours at decreasing strength; used by several worlds."""

from collections.abc import Callable, Mapping
from typing import TypeVar

Habits = TypeVar("Habits")  # the parameters of an agent


def at_halving_strength(kinds: Mapping[str, Callable[[float], Habits]], agents: int) -> dict[str, Habits]:
    """Habits by agent name: every kind at strength 1, then every kind at 1/2 and so on, until there are `agents`.

    `kinds`: name -> function of the strength that returns the habits.
    """
    found = {}
    names = list(kinds)
    for index in range(agents):
        repetition, position = divmod(index, len(names))
        found[numbered(names[position], repetition)] = kinds[names[position]](0.5**repetition)
    return found


def numbered(name: str, repetition: int) -> str:
    """The name of an agent in a repetition of the list, counted from 0: `quits`, `quits-2`, `quits-3`."""
    return f"{name}-{repetition + 1}" if repetition else name
