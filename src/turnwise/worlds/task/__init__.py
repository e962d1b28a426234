"""A town's information desk, after MultiWOZ and ConvLab: a user with an agenda, venue tables, systems of known quality.

from turnwise.worlds import task

systems = task.family("graded", agents=16)
dialogue = task.WORLD.play(systems["grade-07"], np.random.default_rng(0), others=systems)
"""

from collections.abc import Iterable, Mapping
from typing import Any

from turnwise.worlds.task import goal as _goal
from turnwise.worlds.task.convlab import ConvLabSystem, Simulator
from turnwise.worlds.task.families import FAMILIES, systems
from turnwise.worlds.task.systems import Habits, System
from turnwise.worlds.task.tables import read
from turnwise.worlds.task.tracking import Tracker
from turnwise.worlds.task.world import Task

__all__ = ["FAMILIES", "WORLD", "ConvLabSystem", "Habits", "System", "Task", "family", "opened"]


def opened(
    db: str | None = None,
    *,
    goals: Iterable[tuple[str, Mapping[str, Any]]] = (),
    delexicalised: bool = False,
    simulator: Simulator | None = None,
) -> Task:
    """The world over the tables of a folder, with goals of a corpus (where it stands, goal), or a ConvLab user."""
    wanted = tuple(_goal.parsed(record, where=where) for where, record in goals)
    spoken = tuple(
        (wish.domain, slot, value)
        for one in wanted
        for wish in one
        for slots in (wish.info, wish.first)
        for slot, value in slots.items()
    )
    tables = read(db, spoken)
    return Task(
        Tracker(tables), tuple(_goal.settled(one, tables) for one in wanted), delexicalised, simulator
    )


WORLD = opened()


def family(name: str, *, agents: int = 16, world: Task = WORLD) -> dict[str, System]:
    """Systems by name."""
    return systems(name, world.tracker, agents=agents)
