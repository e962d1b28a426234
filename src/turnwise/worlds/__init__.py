"""Simulators with known truth ("worlds"), and families of agents for them.

A world draws scenes. One agent holds the dialogue in a scene, and every other agent gives alternatives at each of its
turns. The true quality of an agent is its mean score over thousands of further dialogues that are not logged.
"""

from functools import cache
from importlib import import_module
from types import ModuleType

from turnwise import plugins
from turnwise.errors import unknown

WORLDS = ("booking", "chat", "task")


def names() -> tuple[str, ...]:
    """The names of all worlds, including those of plugins."""
    return (*WORLDS, *_plugins())


def named(name: str) -> ModuleType:
    """The module of a world, which has `WORLD`, `FAMILIES` and `family`."""
    if name in (offered := _plugins()):
        found: ModuleType = offered[name].load(f"world `{name}`")
        return found
    if name not in WORLDS:
        raise unknown("world", name, names())
    return import_module(f"turnwise.worlds.{name}")


@cache
def _plugins() -> dict[str, plugins.Offer]:
    """Worlds of other packages: the entry point group `turnwise.worlds`."""
    return plugins.offered("worlds", WORLDS)
