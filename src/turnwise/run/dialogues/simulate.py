"""`turnwise simulate`: logs of a family of agents in a world, and a file with the true quality of each agent.

Every dialogue has its own generator, seeded by the run's seed, the purpose, the agent's name and the dialogue's number,
so neither the number of processes nor the other agents change it. The truth is estimated from further dialogues that
are not in the logs. In these all agents talk to the same users, so the differences between agents have smaller
standard errors than their means.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from turnwise import worlds
from turnwise.agents import resolve
from turnwise.conformance.attributes import shown
from turnwise.conformance.calls import foreign, raised, reply_of
from turnwise.errors import PluginError, TurnwiseError, UsageError, setting, unknown
from turnwise.logs import native
from turnwise.logs.files import PIPE, replacing
from turnwise.logs.foreign import read_all
from turnwise.plugin_code import described, plugin_code
from turnwise.protocols import world_extras
from turnwise.report.results import to_json
from turnwise.run.dialogues import trained_sellers
from turnwise.run.workers.execute import progress
from turnwise.settings.option import as_pairs, as_text
from turnwise.types import Agent, Floats, Ints, Reply, Turn
from turnwise.worlds import booking
from turnwise.worlds.play import World

if TYPE_CHECKING:
    from turnwise.commands.simulate import Simulate

LOG_TASK_SIZE = 10  # dialogues per task of the logs, which have alternatives
TRUTH_TASK_SIZE = 500  # dialogues per task of the truth, which have none
LOG, TRUTH = 0, 1  # purposes of a generator


@dataclass(frozen=True, slots=True)
class _Outsider:
    """An agent of --with: its exceptions and invalid replies become a `PluginError` that names it."""

    name: str
    agent: Agent

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        try:
            return reply_of(self.agent, turns, rng)
        except UsageError as error:
            raise PluginError(f"agent `{self.name}`: {error}") from error
        except TurnwiseError:
            raise
        except Exception as error:  # code of the user may raise anything
            raise PluginError(f"agent `{self.name}` {raised(self.agent, error)}") from error


@dataclass(frozen=True, slots=True)
class Task:
    """Dialogues number `start` to `stop` (exclusive) of one agent for one purpose, `LOG` or `TRUTH`."""

    agent: str
    purpose: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of scores and of squared scores by dimension; the sums of tasks are added."""

    n: Ints  # (dimensions,) dialogues with a score
    total: Floats
    squares: Floats

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.n + other.n, self.total + other.total, self.squares + other.squares)


def simulate(simulation: "Simulate") -> dict[str, Any]:
    """Write the logs to their file and the truth next to it; return the content of the truth file.

    Without a truth (`truth=0`) an older truth file of this name is deleted, and the agents returned are empty. Raises
    `UsageError` for a truth beside a pipe.
    """
    path = str(simulation.output)
    if path == PIPE and simulation.truth:
        raise UsageError(
            f"the truth is written next to the log file, and a pipe has none: give a file, or {setting('--truth', 0)}"
        )
    world, agents = _world_and_agents(simulation)
    truth: dict[str, Sums] = {}
    tasks = list(_tasks(simulation, agents))
    total = sum(task.stop - task.start for task in tasks)
    with (
        replacing(path) as logs,
        simulation.executor() as at_work,
        progress("dialogues", total, quiet=simulation.quiet) as advance,
    ):
        for task, result in at_work.in_order(_run_task, simulation, tasks):
            if isinstance(result, bytes):
                logs.write(result)
            else:
                truth[task.agent] = truth[task.agent] + result if task.agent in truth else result
            advance(task.stop - task.start)
    document = _truth_document(simulation, world, truth)
    if truth:
        with replacing(truth_path(path)) as file:
            file.write(to_json(document))
    elif path != PIPE:
        # Remove the truth of older logs with this name, which would seem to belong to these.
        Path(truth_path(path)).unlink(missing_ok=True)
    return document


def truth_path(path: str) -> str:
    """The path of the truth file: `logs.truth.json` for `logs.jsonl` or `logs.jsonl.gz`, in the same folder."""
    file = Path(path.removesuffix(".gz"))
    return str(file.with_name(f"{file.stem}.truth.json"))


@lru_cache(maxsize=1)
def _world_and_agents(simulation: "Simulate") -> tuple[World, Mapping[str, Agent]]:
    """The world, and the agents by name, first those of the family; cached for the last simulation only.

    Raises `UsageError` for two agents of one name, and for options of the task world with another world.
    """
    package = worlds.named(simulation.world)
    world, family = package.WORLD, package.family
    make_world = world_extras(package).make_world
    if make_world is not None:
        world = _made_world(make_world, package.WORLD, simulation)
        family = partial(family, world=world)
    elif simulation.db or simulation.goals or simulation.delexicalised:
        raise UsageError(
            f"{setting('--db')}, {setting('--goals')} and {setting('--delexicalised')} are options of the "
            f"world task, not of {simulation.world}"
        )
    elif simulation.user:
        with_user = world_extras(package).with_user
        if with_user is None:
            raise UsageError(
                f"{setting('--user')} is an option of the worlds booking and task, not of {simulation.world}"
            )
        world = with_user(_trained_customer(simulation.user))
    agents = _family_agents(family, package.WORLD, simulation)
    for name, address in as_pairs(simulation.outsiders):
        if name in agents:
            raise UsageError(
                f"there are two agents named `{name}`: give one another name with "
                f"{setting('--with', f'NAME={address}')}"
            )
        agents[name] = _Outsider(name, resolve(address))
    return world, agents


def _family_agents(family: Callable[..., Any], own: World, simulation: "Simulate") -> dict[str, Agent]:
    """The agents of the family by name; raises `PluginError` if a plugin's `family` fails or returns none."""
    if (simulation.world, simulation.family) == (trained_sellers.WORLD_NAME, trained_sellers.NAME):
        return trained_sellers.trained_sellers(simulation.agents, simulation.draw or 0)
    if simulation.world == trained_sellers.WORLD_NAME and simulation.family not in booking.FAMILIES:
        raise unknown("family", str(simulation.family), [*booking.FAMILIES, trained_sellers.NAME])
    try:
        with plugin_code():
            found = family(simulation.family, agents=simulation.agents, **_draw(family, simulation))
    except TurnwiseError:
        raise
    except Exception as error:
        if worlds.is_own(simulation.world):
            raise
        raise PluginError(f"{worlds.title(simulation.world)}: `family` {raised(own, error)}") from error
    if not isinstance(found, Mapping) or not all(map(callable, found.values())):
        raise PluginError(
            f"{worlds.title(simulation.world)}: `family` returned {shown(found)}; expected a dict of agents by name"
        )
    return dict(found)


def _draw(family: Callable[..., Any], simulation: "Simulate") -> dict[str, int]:
    """The argument `draw` of `family` where --draw is given; a `UsageError` if the world draws no agents."""
    if simulation.draw is None:
        return {}
    if "draw" not in inspect.signature(family).parameters:
        raise UsageError(
            f"{setting('--draw')}: the agents of {worlds.title(simulation.world)} are fixed; leave it out"
        )
    return {"draw": simulation.draw}


def _trained_customer(folder: str) -> Any:
    """The customer of this folder, which `turnwise train customer` wrote."""
    from turnwise.agents.customer import TrainedCustomer
    from turnwise.encode.models.folder import load

    return TrainedCustomer.read(load(folder, "customer"))


def _made_world(make_world: Callable[..., Any], own: World, simulation: "Simulate") -> World:
    """The world with the tables, goals and users of a simulation.

    Raises `PluginError` if a plugin's `make_world` fails.
    """
    simulator = _simulator(simulation)
    goals = _logged_goals(as_text(simulation.goals))
    options = {"goals": goals, "delexicalised": simulation.delexicalised, "simulator": simulator}
    try:
        with plugin_code():
            world: World = make_world(simulation.db, **options)
    except TurnwiseError:
        raise
    except Exception as error:
        if worlds.is_own(simulation.world):
            raise
        raise PluginError(f"{worlds.title(simulation.world)}: `make_world` {raised(own, error)}") from error
    return world


def _simulator(simulation: "Simulate") -> Any:
    """The simulator of users that --user names, None without it.

    Raises `UsageError` for both goals and a ConvLab user, because such a user has goals of its own.
    """
    if simulation.user is None:
        return None
    if simulation.goals is not None:
        raise UsageError(
            f"{setting('--goals')} and {setting('--user')} exclude each other: a ConvLab user has goals "
            "of its own"
        )
    if ":" not in simulation.user:
        raise UsageError(
            f"{setting('--user', simulation.user)}: expected `module:function`, a function of yours that makes a user"
        )
    from turnwise.agents.function import function_agent

    make_user = function_agent(simulation.user).function
    try:
        with plugin_code():
            return make_user()
    except Exception as error:  # code of the user may raise anything
        raise PluginError(
            f"{setting('--user', simulation.user)} raised {described(error)}; it is called without "
            "arguments and returns a user"
        ) from error


def _logged_goals(path: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (location for error messages, goal) of each dialogue that has one; nothing without a path.

    Raises `UsageError` at the end if none has a goal.
    """
    if path is None:
        return
    found = False
    for dialogue in read_all([path], command=None):
        if dialogue.goal:
            found = True
            yield f"{path}: the goal of {dialogue.id}", dialogue.goal
    if not found:
        raise UsageError(f"{setting('--goals', path)}: none of its dialogues has a goal")


def _tasks(simulation: "Simulate", agents: Mapping[str, Agent]) -> Iterator[Task]:
    """The tasks of a simulation: first those of the logs, then those of the truth, each by agent."""
    for purpose, count, step in (
        (LOG, simulation.dialogues, LOG_TASK_SIZE),
        (TRUTH, simulation.truth, TRUTH_TASK_SIZE),
    ):
        for agent in agents:
            for start in range(0, count, step):
                yield Task(agent, purpose, start, min(start + step, count))


def _run_task(simulation: "Simulate", task: Task) -> bytes | Sums:
    """`_play_task`, with unexpected errors of a plugin's world or agents raised as `PluginError`."""
    world, agents = _world_and_agents(simulation)
    try:
        with plugin_code():
            return _play_task(simulation, task, world, agents)
    except TurnwiseError:
        raise
    except Exception as error:
        if not foreign(world) and not any(map(foreign, agents.values())):
            raise
        raise PluginError(
            f"{worlds.title(simulation.world)} with agent `{task.agent}` {raised(world, error)}"
        ) from error


def _play_task(simulation: "Simulate", task: Task, world: World, agents: Mapping[str, Agent]) -> bytes | Sums:
    """The lines of the log for the dialogues of a task, or for a task of the truth the sums of their true scores.

    Dialogue n of the truth has the same generator for every agent, so that all talk to the same users.
    """
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


def _truth_document(simulation: "Simulate", world: World, truth: Mapping[str, Sums]) -> dict[str, Any]:
    """The content of the truth file: mean, standard error and n of every agent on each dimension that has scores."""
    agents = {}
    for agent, sums in truth.items():
        n = np.maximum(1, sums.n)
        mean = sums.total / n
        variance = np.maximum(0.0, sums.squares / n - mean**2) / np.maximum(1, sums.n - 1)
        agents[agent] = {
            dimension: {
                "mean": float(mean[index]),
                "se": float(np.sqrt(variance[index])),
                "n": int(sums.n[index]),
            }
            for index, dimension in enumerate(world.dimensions)
            if sums.n[index]
        }
    return {
        "world": simulation.world,
        "family": simulation.family,
        "seed": simulation.seed,
        **({} if simulation.draw is None else {"draw": simulation.draw}),
        "agents": agents,
    }
