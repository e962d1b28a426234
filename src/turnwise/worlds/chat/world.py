"""The chat world: the agent and the user talk as two people who have just met."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from turnwise.types import DimensionScores, Rating, Turn
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
        """The personas of both sides under `agent` and `user`, each topic -> thing."""
        return {"agent": dict(self.agent), "user": dict(self.user)}

    def first_message(self, rng: np.random.Generator) -> str:
        """The user's first turn."""
        return user.first_message(self.user, rng)

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        """The user's next turn, or None if the user leaves; leaving is not announced by a turn."""
        return user.next_message(self.user, turns, rng)

    def outcome(self, turns: Sequence[Turn], content: str) -> DimensionScores | None:
        """None: in this world no reply is a decision; finished dialogues are scored by `truth`."""
        return None

    def with_decision_request(self, turns: Sequence[Turn]) -> Sequence[Turn] | None:
        """None: in this world no decision can be asked for."""
        return None

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
        """The ratings that three random raters of the panel give on every dimension; `item` is the dialogue's id."""
        return raters.ratings(latent_quality(turns[1:]), item, rng)

    def truth(self, turns: Sequence[Turn]) -> DimensionScores:
        """The mean rating that the whole panel would give, by dimension."""
        return raters.expected_ratings(latent_quality(turns[1:]))


@dataclass(frozen=True, slots=True)
class Chat(World):
    """Small talk of two personas."""

    name: ClassVar[str] = "chat"
    dimensions: ClassVar[tuple[str, ...]] = DIMENSIONS

    def scene(self, rng: np.random.Generator) -> Scene:
        """Draw two personas: the agent's with 4 topics and the user's with 6."""
        agent = draw_persona(rng, size=AGENT_TOPICS)
        return Scene(agent, draw_persona(rng, size=USER_TOPICS), briefing(agent))


WORLD = Chat()
