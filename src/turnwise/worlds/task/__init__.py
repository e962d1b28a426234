"""Task-oriented dialogues of a town's information desk, after MultiWOZ and ConvLab.

A simulated user with an agenda talks to a system that searches venue tables; there are systems of known quality.

from turnwise.worlds import task

systems = task.family("graded", agents=16)
dialogue = task.WORLD.play(systems["grade-07"], np.random.default_rng(0), others=systems)
"""

from collections.abc import Iterable, Mapping
from typing import Any

from turnwise.worlds.task import goal as _goal
from turnwise.worlds.task.convlab import ConvLabSystem, Simulator
from turnwise.worlds.task.families import FAMILIES, make_systems
from turnwise.worlds.task.systems import Habits, System
from turnwise.worlds.task.tables import read_tables
from turnwise.worlds.task.tracking import Tracker
from turnwise.worlds.task.world import Task

__all__ = ["FAMILIES", "WORLD", "ConvLabSystem", "Habits", "System", "Task", "family", "make_world"]


def make_world(
    db: str | None = None,
    *,
    goals: Iterable[tuple[str, Mapping[str, Any]]] = (),
    delexicalised: bool = False,
    simulator: Simulator | None = None,
) -> Task:
    """The task world with the tables of the folder `db` (default: a made-up town).

    Goals are drawn from the tables unless they are given as (location for error messages, goal in MultiWOZ's format),
    or a ConvLab user simulator brings its own. With `delexicalised` the logs have placeholders instead of values.
    """
    parsed_goals = tuple(_goal.parse_goal(record, where=where) for where, record in goals)
    values = tuple(
        (wish.domain, slot, value)
        for one in parsed_goals
        for wish in one
        for slots in (wish.info, wish.fail_info)
        for slot, value in slots.items()
    )
    tables = read_tables(db, values)
    return Task(
        Tracker(tables),
        tuple(_goal.drop_satisfiable_fail_info(one, tables) for one in parsed_goals),
        delexicalised,
        simulator,
    )


WORLD = make_world()


def family(name: str, *, agents: int = 16, world: Task = WORLD) -> dict[str, System]:
    """The systems of a family in a world, by their names; raises `UsageError` for an unknown family."""
    return make_systems(name, world.tracker, agents=agents)
