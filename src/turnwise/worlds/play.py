"""A conversation in a world: held by one agent, and what every other would have said in it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol
from zlib import crc32

import numpy as np

from turnwise.types import Agent, Dialogue, Floats, Rating, Reply, Scores, Turn


@dataclass(frozen=True, slots=True)
class Answer(Reply):
    """The reply of an agent that shows its work: the state it tracked, the acts it means."""

    state: Mapping[str, Any] | None = None
    acts: tuple[Any, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def turn(self, outcome: Scores | None) -> Turn:
        return Turn(
            "assistant", self.content, outcome=outcome, state=self.state, acts=self.acts, extra=self.extra
        )


class Scene(Protocol):
    """Everything of one conversation but the agent. What the agent alone is told is the `briefing`."""

    @property
    def briefing(self) -> Turn: ...
    @property
    def goal(self) -> Mapping[str, Any]: ...
    def opening(self, rng: np.random.Generator, /) -> str: ...
    def reaction(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> str | None:
        """What the user says next; None where the user has left."""
        ...

    def outcome(self, turns: Sequence[Turn], content: str, /) -> Scores | None:
        """The scores of the decision that a reply to `turns` takes, which ends the conversation."""
        ...

    def cut_short(self, turns: Sequence[Turn], /) -> Sequence[Turn] | None:
        """The conversation had the user asked for a decision here; None where there is none to take."""
        ...

    def ratings(
        self, turns: Sequence[Turn], item: str, rng: np.random.Generator, /
    ) -> tuple[Rating, ...]: ...
    def truth(self, turns: Sequence[Turn], /) -> Scores: ...


class World(ABC):
    name: ClassVar[str]
    dimensions: ClassVar[tuple[str, ...]]  # what conversations are scored on

    @abstractmethod
    def scene(self, rng: np.random.Generator) -> Scene: ...

    def met(self, agent: Agent) -> Agent:
        """The agent as the world's user meets it."""
        return agent

    def written(self, agent: Agent) -> Agent:
        """The agent as its replies stand in a log, where another held the conversation."""
        return self.met(agent)

    def logged(self, dialogue: Dialogue, others: Mapping[str, Agent]) -> Dialogue:
        """The conversation with whatever else this world keeps of it."""
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
        """A conversation that `agent` holds, with what `others` would have said at each of its turns."""
        scene = self.scene(rng)
        turns = conversation(scene, self.met(agent), rng)
        ratings = scene.ratings(turns, identity, rng)
        if others:
            met = {other: self.written(one) for other, one in others.items()}
            turns = answered(scene, turns, met, samples=samples, rng=rng)
        meta = {"world": self.name, "briefing": turns[0].text}
        held = Dialogue(identity, name, turns[1:], ratings, goal=scene.goal, meta=meta)
        return self.logged(held, others or {})

    def truth(self, agent: Agent, rng: np.random.Generator) -> Floats:
        """(dimensions,) what one more conversation with `agent` is worth."""
        scene = self.scene(rng)
        scores = scene.truth(conversation(scene, self.met(agent), rng))
        return np.array([scores[dimension] for dimension in self.dimensions])


def conversation(scene: Scene, agent: Agent, rng: np.random.Generator) -> tuple[Turn, ...]:
    """The turns of a conversation that `agent` holds, the briefing first."""
    turns = [scene.briefing, Turn("user", scene.opening(rng))]
    while True:
        reply = agent(turns, rng)
        outcome = scene.outcome(turns, reply.content)
        shown = reply if isinstance(reply, Answer) else Answer(reply.content)
        turns.append(shown.turn(outcome))
        said = None if outcome is not None else scene.reaction(turns, rng)
        if said is None:
            return tuple(turns)
        turns.append(Turn("user", said))


def answered(
    scene: Scene,
    turns: Sequence[Turn],
    agents: Mapping[str, Agent],
    *,
    samples: int,
    rng: np.random.Generator,
) -> tuple[Turn, ...]:
    """The same turns, with what each agent would have said at every point.

    Each agent has a generator by its name: an agent more leaves the others' replies as they are.
    """
    seed = int(rng.integers(2**63))
    chance = {name: np.random.default_rng([seed, crc32(name.encode())]) for name in agents}
    filled = list(turns)
    for place, turn in enumerate(turns):
        if turn.role == "assistant":
            before, last = turns[:place], place == len(turns) - 1
            said = {
                name: _samples(scene, before, agent=agent, samples=samples, rng=chance[name], last=last)
                for name, agent in agents.items()
            }
            filled[place] = replace(turn, alternatives=said)
    return tuple(filled)


def _samples(
    scene: Scene, before: Sequence[Turn], *, agent: Agent, samples: int, rng: np.random.Generator, last: bool
) -> tuple[Reply, ...]:
    replies = tuple(_reply(scene, before, agent=agent, rng=rng, last=last) for _ in range(samples))
    return replies[:1] if all(reply == replies[0] for reply in replies) else replies


def _reply(
    scene: Scene, before: Sequence[Turn], *, agent: Agent, rng: np.random.Generator, last: bool
) -> Reply:
    content = agent(before, rng).content
    outcome = scene.outcome(before, content)
    relabelled = None
    if last and outcome is None:
        short = scene.cut_short(before)
        if short is not None:
            relabelled = scene.outcome(short, agent(short, rng).content)
    return Reply(content, outcome, relabelled)
