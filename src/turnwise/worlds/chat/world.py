"""The chat world: two people who have just met, of whom one is an agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from turnwise.types import Rating, Scores, Turn
from turnwise.worlds.chat import raters, user
from turnwise.worlds.chat.impression import DIMENSIONS, impression
from turnwise.worlds.chat.topics import Persona, briefing, persona
from turnwise.worlds.play import World

OURS, THEIRS = 4, 6  # topics on which the agent and the user have something to say


@dataclass(frozen=True, slots=True)
class Scene:
    agent: Persona
    user: Persona
    briefing: Turn

    @property
    def goal(self) -> Mapping[str, Any]:
        return {"agent": dict(self.agent), "user": dict(self.user)}

    def first_message(self, rng: np.random.Generator) -> str:
        return user.first_message(self.user, rng)

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        return user.next_message(self.user, turns, rng)

    def outcome(self, turns: Sequence[Turn], content: str) -> Scores | None:
        return None

    def with_decision_request(self, turns: Sequence[Turn]) -> Sequence[Turn] | None:
        return None

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
        return raters.ratings(impression(turns[1:]), item, rng)

    def truth(self, turns: Sequence[Turn]) -> Scores:
        return raters.expected(impression(turns[1:]))


@dataclass(frozen=True, slots=True)
class Chat(World):
    name: ClassVar[str] = "chat"
    dimensions: ClassVar[tuple[str, ...]] = DIMENSIONS

    def scene(self, rng: np.random.Generator) -> Scene:
        agent = persona(rng, size=OURS)
        return Scene(agent, persona(rng, size=THEIRS), briefing(agent))


WORLD = Chat()
