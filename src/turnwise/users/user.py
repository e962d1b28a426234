"""The types of simulated users: what they are told, what they say, and how they leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np

from turnwise.errors import UsageError, setting
from turnwise.scenarios.scenario import Scenario, as_goal
from turnwise.types import Signature, Turn, digest
from turnwise.worlds import named
from turnwise.worlds.play import Scene, World

Leaving = Literal[
    "goal", "gave-up", "script"
]  # the goal is reached, the user gives up, nothing more is scripted


class UserMessage(NamedTuple):
    """What a user says next; the dialogue ends after it if the user leaves. An empty text beside that is no message."""

    text: str
    leaving: Leaving | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True)
class Stage:
    """One scenario as it is played: with the scene that its world draws, where it has one."""

    scenario: Scenario
    seed: int

    @cached_property
    def world(self) -> World | None:
        """The scenario's world."""
        return named(self.scenario.world).WORLD if self.scenario.world else None

    @cached_property
    def scene(self) -> Scene | None:
        """The scene of the world: the same for all agents and trials."""
        if self.world is None:
            return None
        return self.world.scene(np.random.default_rng(int(digest(str(self.seed), self.scenario.id), 16)))

    @property
    def briefing(self) -> tuple[Turn, ...]:
        """What the agent is told before the dialogue."""
        scene = [] if self.scene is None else [self.scene.briefing]
        own = [Turn("system", self.scenario.briefing)] if self.scenario.briefing else []
        return (*own, *scene)

    @cached_property
    def goal(self) -> dict[str, object]:
        """What the user wants, as the log has it."""
        return as_goal(self.scenario) if self.scene is None else dict(self.scene.goal)

    @cached_property
    def facts(self) -> dict[str, str]:
        """What the user knows: the facts of the scenario, and those of the scene by their paths."""
        found = dict(self.scenario.known)
        if self.scene is not None:
            found |= {path: str(value) for path, value in _leaves(self.scene.goal) if value not in (None, "")}
        return found

    @property
    def told(self) -> str:
        """All that the user was told, as one text."""
        facts = [part for pair in self.facts.items() for part in pair]
        return " ".join([self.scenario.persona, self.scenario.goal, *self.scenario.turns, *facts])


class SimulatedUser(Protocol):
    """Somebody who talks to an agent in a scenario."""

    @property
    def signature(self) -> Signature:
        """What must be equal for a user to say the same."""
        ...

    @property
    def concurrent(self) -> bool:
        """Whether several threads may call it at once."""
        ...

    def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
        """The next message, after `turns` without the briefing; raises `NoReply` if there is none."""
        ...


def needs(stage: Stage, what: str, *, user: str) -> UsageError:
    """The error (not raised) for a scenario that lacks what a user needs."""
    return UsageError(
        f"scenario `{stage.scenario.id}` has no {what}, which the user `{user}` needs; another user is named by "
        f"{setting('--user', 'AGENT')}"
    )


def _leaves(value: object, path: str = "") -> list[tuple[str, object]]:
    """The path and the value of each text and number inside a goal."""
    if isinstance(value, dict):
        return [
            leaf
            for key, part in value.items()
            for leaf in _leaves(part, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in _leaves(part, path)]
    return [(path, value)]
