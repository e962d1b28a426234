"""Simulates dialogues: one agent talks to the user of a world, and other agents give alternatives at each turn."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol
from zlib import crc32

import numpy as np

from turnwise.conformance.calls import reply_of
from turnwise.types import Agent, Dialogue, DimensionScores, Floats, Rating, Reply, Turn


class AnnotatedReply(Reply, frozen=True):
    """A reply with the state that the agent tracked, the reply's dialogue acts, and further keys of its turn."""

    state: Mapping[str, Any] | None = None
    acts: tuple[Any, ...] | None = None
    extra: Mapping[str, Any] = {}

    def turn(self, outcome: DimensionScores | None) -> Turn:
        """The reply as a turn of the assistant with these scores; the reply's own `outcome` is not used."""
        return Turn(
            "assistant", self.content, outcome=outcome, state=self.state, acts=self.acts, extra=self.extra
        )


class Scene(Protocol):
    """Everything in one dialogue except the agent: the user, the data and the scores."""

    @property
    def briefing(self) -> Turn:
        """The system turn that only the agent sees."""
        ...

    @property
    def goal(self) -> Mapping[str, Any]:
        """What the user wants, as `Dialogue.goal` stores it."""
        ...

    def first_message(self, rng: np.random.Generator, /) -> str:
        """The user's first turn."""
        ...

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> str | None:
        """The user's next turn, or None if the user has left."""
        ...

    def outcome(self, turns: Sequence[Turn], content: str, /) -> DimensionScores | None:
        """The scores of a reply to `turns` that ends the dialogue with a decision, or None."""
        ...

    def with_decision_request(self, turns: Sequence[Turn], /) -> Sequence[Turn] | None:
        """The turns as if the user had asked for a decision now; None in worlds without decisions."""
        ...

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator, /) -> tuple[Rating, ...]:
        """The ratings of a finished dialogue, as a log stores them; `item` is the dialogue's id."""
        ...

    def truth(self, turns: Sequence[Turn], /) -> DimensionScores:
        """The true scores of a finished dialogue, by dimension."""
        ...


class World(ABC):
    """A simulator with known truth: it draws scenes and simulates dialogues in them."""

    name: ClassVar[str]
    dimensions: ClassVar[tuple[str, ...]]  # dimensions of the scores of a dialogue

    @abstractmethod
    def scene(self, rng: np.random.Generator) -> Scene:
        """Draw the scene of one dialogue."""

    def for_dialogue(self, agent: Agent) -> Agent:
        """The agent, wrapped as needed to talk to this world's user; by default unchanged."""
        return agent

    def for_alternatives(self, agent: Agent) -> Agent:
        """The agent, wrapped as needed to give alternatives in another agent's dialogue; by default `for_dialogue`."""
        return self.for_dialogue(agent)

    def annotate(self, dialogue: Dialogue, others: Mapping[str, Agent]) -> Dialogue:
        """The dialogue with the metadata that this world adds to its logs; by default unchanged."""
        return dialogue

    def play(
        self,
        agent: Agent,
        rng: np.random.Generator,
        *,
        identity: str = "1",
        name: str = "agent",
        others: Mapping[str, Agent] | None = None,
        samples: int = 4,
    ) -> Dialogue:
        """Simulate a dialogue of `agent` with alternatives of each of `others` (agents by name) at each of its turns.

        `identity` is the id of the dialogue and `name` the agent's name in it. Each other agent gives `samples`
        alternatives a turn, or one if all are equal. The briefing is not a turn of the result; its text is in `meta`.
        """
        scene = self.scene(rng)
        turns = simulate_turns(scene, self.for_dialogue(agent), rng)
        ratings = scene.ratings(turns, identity, rng)
        if others:
            agents = {other: self.for_alternatives(one) for other, one in others.items()}
            turns = add_alternatives(scene, turns, agents, samples=samples, rng=rng)
        meta = {"world": self.name, "briefing": turns[0].text}
        dialogue = Dialogue(identity, name, turns[1:], ratings, goal=scene.goal, meta=meta)
        return self.annotate(dialogue, others or {})

    def truth(self, agent: Agent, rng: np.random.Generator) -> Floats:
        """The true scores of one more simulated dialogue of `agent`, in the order of `dimensions`."""
        scene = self.scene(rng)
        scores = scene.truth(simulate_turns(scene, self.for_dialogue(agent), rng))
        return np.array([scores[dimension] for dimension in self.dimensions])


def simulate_turns(scene: Scene, agent: Agent, rng: np.random.Generator) -> tuple[Turn, ...]:
    """Simulate a dialogue until a decision or until the user leaves; return its turns, the briefing first."""
    turns = [scene.briefing, Turn("user", scene.first_message(rng))]
    while True:
        reply = reply_of(agent, turns, rng)
        outcome = scene.outcome(turns, reply.content)
        annotated = reply if isinstance(reply, AnnotatedReply) else AnnotatedReply(reply.content)
        turns.append(annotated.turn(outcome))
        message = None if outcome is not None else scene.next_message(turns, rng)
        if message is None:
            return tuple(turns)
        turns.append(Turn("user", message))


def add_alternatives(
    scene: Scene,
    turns: Sequence[Turn],
    agents: Mapping[str, Agent],
    *,
    samples: int,
    rng: np.random.Generator,
) -> tuple[Turn, ...]:
    """The same turns, with alternatives of every agent at each turn of the assistant.

    An agent gives `samples` alternatives, or one if all are equal. Each has a generator of its own, seeded by its name,
    so adding an agent does not change the others' replies.
    """
    seed = int(rng.integers(2**63))
    generators = {name: np.random.default_rng([seed, crc32(name.encode())]) for name in agents}
    found = list(turns)
    for index, turn in enumerate(turns):
        if turn.role == "assistant":
            before, last = turns[:index], index == len(turns) - 1
            alternatives = {
                name: _samples(scene, before, agent=agent, samples=samples, rng=generators[name], last=last)
                for name, agent in agents.items()
            }
            found[index] = replace(turn, alternatives=alternatives)
    return tuple(found)


def _samples(
    scene: Scene, before: Sequence[Turn], *, agent: Agent, samples: int, rng: np.random.Generator, last: bool
) -> tuple[Reply, ...]:
    """`samples` alternatives of one agent, or one if all are equal; `last`: at the last turn of the log."""
    replies = tuple(_reply(scene, before, agent=agent, rng=rng, last=last) for _ in range(samples))
    return replies[:1] if all(reply == replies[0] for reply in replies) else replies


def _reply(
    scene: Scene, before: Sequence[Turn], *, agent: Agent, rng: np.random.Generator, last: bool
) -> Reply:
    """One alternative, with the scores of its decision if it has one.

    At the last turn of the log an alternative without a decision gets `relabelled`: the scores of the decision that the
    agent takes when the user asks for one.
    """
    content = reply_of(agent, before, rng).content
    outcome = scene.outcome(before, content)
    relabelled = None
    if last and outcome is None:
        asked = scene.with_decision_request(before)
        if asked is not None:
            relabelled = scene.outcome(asked, reply_of(agent, asked, rng).content)
    return Reply(content, outcome, relabelled)
