"""Simulated conversations whose truth is known: worlds, and families of agents to put in them.

A world makes scenes; an agent holds a conversation in one; every other agent says what it would have said at
each point; and how good an agent truly is, is the mean over thousands of conversations that are never logged.
"""

from importlib import import_module
from types import ModuleType

from turnwise.errors import unknown

WORLDS = ("booking", "chat")


def named(name: str) -> ModuleType:
    """The package of a world, which has `WORLD`, `FAMILIES` and `family`."""
    if name not in WORLDS:
        raise unknown("world", name, WORLDS)
    return import_module(f"turnwise.worlds.{name}")
