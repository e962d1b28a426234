"""Simulators with known truth ("worlds"), and families of agents for them.

A world draws scenes. One agent holds the dialogue in a scene, and every other agent gives alternatives at each of its
turns. The true quality of an agent is its mean score over thousands of further dialogues that are not logged.
"""

from functools import cache
from importlib import import_module
from types import ModuleType

from turnwise import registry
from turnwise.errors import PluginError, unknown

WORLDS = ("booking", "chat", "task")


def names() -> tuple[str, ...]:
    """The names of all worlds: turnwise's own, then those of plugins."""
    return (*WORLDS, *_plugins().usable)


def broken() -> tuple[PluginError, ...]:
    """The errors of plugins whose names are taken, malformed or offered twice; loads no plugin."""
    return tuple(_plugins().problems.values())


def is_own(name: str) -> bool:
    """Whether the world is one of turnwise's own."""
    return name in WORLDS


def named(name: str) -> ModuleType:
    """The module of a world, which has `WORLD`, `FAMILIES` and `family`.

    Raises `UsageError` for an unknown name, and `PluginError` for a plugin that cannot be loaded or is no world.
    """
    if name in WORLDS:
        return import_module(f"turnwise.worlds.{name}")
    if (offer := _plugins().find(name)) is None:
        raise unknown("world", name, names())
    from turnwise.conformance.plugins import world_problem

    found: ModuleType = offer.load()
    try:
        problem = world_problem(found)
    except PluginError as error:  # an attribute raised
        raise offer.error(error) from error
    if problem is not None:
        raise offer.error(problem)
    registry.remember(found.WORLD, offer)
    return found


def title(name: str) -> str:
    """What messages call a world: its name, and the package of a plugin."""
    offer = _plugins().usable.get(name)
    return f"world `{name}`" if offer is None else str(offer)


@cache
def _plugins() -> registry.Offers:
    """Worlds of other packages: the entry point group `turnwise.worlds`."""
    return registry.offered("worlds", WORLDS)
