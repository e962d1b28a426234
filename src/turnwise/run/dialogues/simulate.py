"""`turnwise simulate`: logs of a family of agents in a world, and beside them how good each agent truly is.

Every conversation has a generator of its own, seeded by the seed, the purpose, the agent's name and the
conversation's number: neither the number of processes nor the other agents change it. The truth is had from
conversations that are not in the logs; there the agents meet the same users, so that their differences are
known better than their means.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from turnwise import worlds
from turnwise.agents import resolve
from turnwise.errors import UsageError
from turnwise.logs import native
from turnwise.logs.files import PIPE, replacing
from turnwise.report.results import to_json
from turnwise.run.progress import progress
from turnwise.run.workers.execute import Executor, Local
from turnwise.types import Agent, Floats, Ints
from turnwise.worlds.play import World

LOGGED = 10  # conversations a task, with the others' replies
TRUE = 500  # conversations a task, without
LOG, TRUTH = 0, 1  # purposes of a generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    world: str
    family: str
    agents: int = 16
    dialogues: int = 100  # an agent
    samples: int = 4
    truth: int = 5000  # conversations an agent; 0: none
    seed: int = 0
    outsiders: tuple[tuple[str, str], ...] = ()  # names and addresses of agents beside the family
    db: str | None = None  # of the task world: the folder of its tables
    goals: str | None = None  # conversations whose goals its users have
    delexicalised: bool = False  # whether its logs have placeholders for values
    user: str | None = None  # `convlab`, or module:function that makes such a user, in the place of its own


@dataclass(frozen=True, slots=True)
class Task:
    agent: str
    purpose: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Sums:
    """Of the scores of conversations and of their squares; tasks add up."""

    n: Ints  # (dimensions,) a conversation may have no score on some
    total: Floats
    squares: Floats

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.n + other.n, self.total + other.total, self.squares + other.squares)


def simulate(
    simulation: Simulation, path: str, *, workers: Executor | None = None, quiet: bool = True
) -> dict[str, Any]:
    """Write the logs to `path` and the truth beside them; return the truth as it was written."""
    if path == PIPE and simulation.truth:
        raise UsageError(
            "the truth is written beside the logs, and a pipe has no beside: give a file, or --truth 0"
        )
    world, agents = _cast(simulation)
    truth: dict[str, Sums] = {}
    tasks = list(_tasks(simulation, agents))
    total = sum(task.stop - task.start for task in tasks)
    with (
        replacing(path) as logs,
        workers or Local() as at_work,
        progress("conversations", total, quiet=quiet) as advance,
    ):
        for task, done in at_work.in_order(_done, simulation, tasks):
            if isinstance(done, bytes):
                logs.write(done)
            else:
                truth[task.agent] = truth[task.agent] + done if task.agent in truth else done
            advance(task.stop - task.start)
    document = _document(simulation, world, truth)
    if truth:
        with replacing(truth_path(path)) as file:
            file.write(to_json(document))
    elif path != PIPE:
        # That of older logs of this name would be believed to be of these.
        Path(truth_path(path)).unlink(missing_ok=True)
    return document


def truth_path(path: str) -> str:
    """`logs.truth.json` beside `logs.jsonl` or `logs.jsonl.gz`."""
    file = Path(path.removesuffix(".gz"))
    return str(file.with_name(f"{file.stem}.truth.json"))


@lru_cache(maxsize=1)
def _cast(simulation: Simulation) -> tuple[World, Mapping[str, Agent]]:
    package = worlds.named(simulation.world)
    world, family = package.WORLD, package.family
    if simulation.world == "task":
        world = _task(simulation)
        family = partial(family, world=world)
    elif simulation.db or simulation.goals or simulation.delexicalised or simulation.user:
        raise UsageError(
            f"--db, --goals, --delexicalised and --user are of the world task, not of {simulation.world}"
        )
    agents: dict[str, Agent] = dict(family(simulation.family, agents=simulation.agents))
    for name, address in simulation.outsiders:
        if name in agents:
            raise UsageError(
                f"there are two agents called `{name}`: --with NAME={address} gives it another name"
            )
        agents[name] = resolve(address)
    return world, agents


def _task(simulation: Simulation) -> World:
    from turnwise.agents.own import own
    from turnwise.worlds import task
    from turnwise.worlds.task.convlab import pipeline

    simulator = None
    if simulation.user is not None:
        if simulation.goals is not None:
            raise UsageError("--goals and --user: a simulator of ConvLab's chooses its goals itself")
        simulator = pipeline("user") if simulation.user == "convlab" else own(simulation.user).function()
    return task.make_world(
        simulation.db,
        goals=_goals(simulation.goals),
        delexicalised=simulation.delexicalised,
        simulator=simulator,
    )


def _goals(path: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Goals of logged conversations, each with its place."""
    if path is None:
        return
    found = False
    for dialogue in native.read(path):
        if dialogue.goal:
            found = True
            yield f"{path}: the goal of {dialogue.id}", dialogue.goal
    if not found:
        raise UsageError(f"--goals {path}: no conversation in it has a goal")


def _tasks(simulation: Simulation, agents: Mapping[str, Agent]) -> Iterator[Task]:
    for purpose, many, step in ((LOG, simulation.dialogues, LOGGED), (TRUTH, simulation.truth, TRUE)):
        for agent in agents:
            for start in range(0, many, step):
                yield Task(agent, purpose, start, min(start + step, many))


def _done(simulation: Simulation, task: Task) -> bytes | Sums:
    world, agents = _cast(simulation)
    numbers = range(task.start, task.stop)
    if task.purpose == LOG:
        lines = []
        for number in numbers:
            rng = np.random.default_rng([simulation.seed, LOG, crc32(task.agent.encode()), number])
            dialogue = world.play(
                agents[task.agent],
                rng,
                identity=f"{task.agent}/{number}",
                name=task.agent,
                others=agents,
                samples=simulation.samples,
            )
            lines.append(native.dump(dialogue) + b"\n")
        return b"".join(lines)
    scores = np.array(
        [
            world.truth(agents[task.agent], np.random.default_rng([simulation.seed, TRUTH, number]))
            for number in numbers
        ]
    )
    return Sums((~np.isnan(scores)).sum(axis=0), np.nansum(scores, axis=0), np.nansum(scores**2, axis=0))


def _document(simulation: Simulation, world: World, truth: Mapping[str, Sums]) -> dict[str, Any]:
    agents = {}
    for agent, sums in truth.items():
        some = np.maximum(1, sums.n)
        mean = sums.total / some
        variance = np.maximum(0.0, sums.squares / some - mean**2) / np.maximum(1, sums.n - 1)
        agents[agent] = {
            dimension: {
                "mean": float(mean[place]),
                "se": float(np.sqrt(variance[place])),
                "n": int(sums.n[place]),
            }
            for place, dimension in enumerate(world.dimensions)
            if sums.n[place]
        }
    return {
        "world": simulation.world,
        "family": simulation.family,
        "seed": simulation.seed,
        "agents": agents,
    }
