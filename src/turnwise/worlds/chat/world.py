"""The chat world: the agent and the user talk as two people who have just met."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from turnwise.types import Rating, Scores, Turn
from turnwise.worlds.chat import raters, user
from turnwise.worlds.chat.quality import DIMENSIONS, latent_quality
from turnwise.worlds.chat.topics import Persona, briefing, draw_persona
from turnwise.worlds.play import World

AGENT_TOPICS, USER_TOPICS = 4, 6  # number of topics in the persona of each


@dataclass(frozen=True, slots=True)
class Scene:
    """The personas of one dialogue."""

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
        """None: in this world no reply is a decision; finished dialogues are scored by `truth`."""
        return None

    def with_decision_request(self, turns: Sequence[Turn]) -> Sequence[Turn] | None:
        """None: in this world no decision can be asked for."""
        return None

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
        return raters.ratings(latent_quality(turns[1:]), item, rng)

    def truth(self, turns: Sequence[Turn]) -> Scores:
        """The mean rating that the whole panel would give, by dimension."""
        return raters.expected_ratings(latent_quality(turns[1:]))


@dataclass(frozen=True, slots=True)
class Chat(World):
    """Small talk of two personas."""

    name: ClassVar[str] = "chat"
    dimensions: ClassVar[tuple[str, ...]] = DIMENSIONS

    def scene(self, rng: np.random.Generator) -> Scene:
        agent = draw_persona(rng, size=AGENT_TOPICS)
        return Scene(agent, draw_persona(rng, size=USER_TOPICS), briefing(agent))


WORLD = Chat()
