"""Many points, one agent: replies come back in their places, and what went wrong stands where it happened.

An agent that answers several points at once (`replies`: a language model in batches, an address with requests in
flight) is asked so; any other is called point by point, by as many threads as it bears. A call that outlasts its time
is given up: nothing can stop a thread, so it is left to itself, and it does not keep the program alive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from turnwise.errors import TurnwiseError, Unmeasured, counted
from turnwise.types import Agent, Reply, Turn


class NoReply(Unmeasured):
    """An agent that did not answer at one point."""


class Asked(NamedTuple):
    """A point: what was said before it, and the seed of the chance that the reply may use."""

    turns: Sequence[Turn]
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        """The same at every try."""
        return np.random.default_rng(self.seed)


Answer: TypeAlias = Reply | NoReply


@runtime_checkable
class Several(Protocol):
    """An agent that answers many points at once."""

    def replies(self, asked: Sequence[Asked], /) -> list[Answer]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How an agent that is called point by point is treated."""

    concurrency: int = 1  # calls at once
    timeout: float = 120.0  # seconds for one call
    tries: int = 2  # calls that may raise before a point is given up

    def ask(self, agent: Agent, asked: Sequence[Asked]) -> list[Answer]:
        if isinstance(agent, Several):
            return agent.replies(asked)
        answers: list[Answer] = [NoReply("was not asked") for _ in asked]
        done: SimpleQueue[tuple[int, Answer]] = SimpleQueue()
        waiting = list(range(len(asked)))[::-1]
        running: dict[int, float] = {}  # place -> when it is given up
        while waiting or running:
            while waiting and len(running) < self.concurrency:
                place = waiting.pop()
                running[place] = monotonic() + self.timeout
                Thread(target=self._work, args=(agent, asked[place], place, done), daemon=True).start()
            try:
                place, answer = done.get(timeout=max(0.0, min(running.values()) - monotonic()))
            except Empty:
                place = min(running, key=running.__getitem__)
                answer = NoReply(f"did not answer within {self.timeout:g} s")
            if place in running:  # else it was given up, and comes too late
                del running[place]
                answers[place] = answer
        return answers

    def _work(self, agent: Agent, asked: Asked, place: int, done: "SimpleQueue[tuple[int, Answer]]") -> None:
        """Whatever the agent does, an answer is put."""
        for attempt in range(1, self.tries + 1):
            try:
                done.put((place, agent(asked.turns, asked.rng)))
                return
            except TurnwiseError as error:  # what it returned is no reply, and would not be at the next try
                done.put((place, NoReply(str(error))))
                return
            except BaseException as error:
                if attempt == self.tries:
                    raised = f"raised {type(error).__name__}: {error}".rstrip(": ")
                    done.put((place, NoReply(f"{raised} ({counted(self.tries, 'call')})")))


def alone(agent: Several, turns: Sequence[Turn], rng: np.random.Generator) -> Reply:
    """One reply of an agent that answers several points at once."""
    (answer,) = agent.replies([Asked(turns, int(rng.integers(2**63)))])
    if isinstance(answer, NoReply):
        raise answer
    return answer
