"""Simulated conversations whose truth is known: worlds, and families of agents to put in them.

A world makes scenes; an agent holds a conversation in one; every other agent says what it would have said at
each point; and how good an agent truly is, is the mean over thousands of conversations that are never logged.
"""

from functools import cache
from importlib import import_module
from types import ModuleType

from turnwise import plugins
from turnwise.errors import unknown

WORLDS = ("booking", "chat", "task")


def names() -> tuple[str, ...]:
    return (*WORLDS, *_others())


def named(name: str) -> ModuleType:
    """The package of a world, which has `WORLD`, `FAMILIES` and `family`."""
    if name in (others := _others()):
        found: ModuleType = others[name].load(f"world `{name}`")
        return found
    if name not in WORLDS:
        raise unknown("world", name, names())
    return import_module(f"turnwise.worlds.{name}")


@cache
def _others() -> dict[str, plugins.Offer]:
    """Those of other packages: the entry point group `turnwise.worlds`."""
    return plugins.offered("worlds", WORLDS)
