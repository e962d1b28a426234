"""Live dialogues with agents, after ENIGMA's human evaluation software (Jiang et al. 2021, Appendix C, Figure 9).

The rater sees a goal, writes messages or sends prepared ones, and at the end sees the agent's decision with its scores
before rating. With `chat.beside` each message goes to two agents, whose replies stand side by side in an order that was
drawn. The rater is not told which agents they are. An agent that streams is shown while it writes.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from functools import partial
from math import isfinite
from typing import Any

import msgspec
import numpy as np
from anyio import CapacityLimiter, fail_after
from anyio.to_thread import run_sync

from turnwise.protocols import Streaming, agent_extras
from turnwise.types import Agent, Dialogue, Reply
from turnwise.web.study.definition import Chat
from turnwise.web.study.ledger import Rater, Slot
from turnwise.web.study.recorder import Recorder

_BLANK = re.compile(r"\{([^{}]+)\}")
MAX_CONCURRENT_CALLS = (
    16  # concurrent calls of an agent with `concurrent`; any other agent gets one call at a time
)
MAX_THREADS = 256  # most calls of all agents together
LOOK_SECONDS = 0.1  # seconds between two looks at what an agent has said so far


class LiveChat:
    """Asks agents for their replies and records them."""

    def __init__(self, recorder: Recorder, agents: Mapping[str, Agent]) -> None:
        self._recorder = recorder
        self._agents = agents
        self._threads = CapacityLimiter(MAX_THREADS)
        self._call_limits = {
            name: CapacityLimiter(MAX_CONCURRENT_CALLS if agent_extras(one).concurrent else 1)
            for name, one in agents.items()
        }
        self._background: set[asyncio.Task[None]] = set()  # asyncio itself keeps no reference to a task

    def agents_start(self, slot: Slot) -> bool:
        """Whether the agents have the first turn and should be asked: no message yet, not ended, not being asked now.

        It stays True after the agents failed to give the first turn.
        """
        study = self._recorder.ledger.study
        first = study.mode == "chat" and study.chat.opening == "agent"
        return first and not (slot.message_times or slot.waiting or slot.ended)

    def hear(self, rater: Rater, slot: Slot, text: str) -> bool:
        """Record the rater's message, and return whether agents are to be asked; an empty one only asks again."""
        if text:
            self._recorder.record("said", rater.name, slot=slot.number, role="user", content=text)
        return bool(text or slot.missing)

    def ask_in_background(self, rater: Rater, slot: Slot) -> None:
        """Ask the agents without waiting for them; `follow` tells what they say."""
        slot.waiting |= set(self._due(slot))
        task = asyncio.create_task(self.ask_agents(rater, slot))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def ask_agents(self, rater: Rater, slot: Slot) -> None:
        """Ask the agents that are due for their replies, and return when replies and failures are stored.

        A decision of every agent, or the maximum of turns, also ends the dialogue.
        """
        due = self._due(slot)
        slot.waiting |= set(due)
        try:
            await self._recorder.wait_until_stored()
            await asyncio.gather(*(self._call_agent(rater, slot, side) for side in due))
        finally:
            slot.waiting -= set(due)
            for side in due:
                slot.partial.pop(side, None)
        if slot.ended or self._is_gone(rater):
            return
        decided = len(slot.decided) == len(slot.dialogues)
        full = slot.n_messages >= self._recorder.ledger.study.chat.most_turns and not slot.missing
        if decided or full:
            self._recorder.record("ended", rater.name, slot=slot.number)
        await self._recorder.wait_until_stored()

    async def follow(self, slot: Slot) -> AsyncIterator[bytes]:
        """Server-sent events: what the agents have said so far, then `done` when none is being asked any more."""
        told: dict[int, str] = {}
        order = (1, 0) if slot.flipped and len(slot.dialogues) == 2 else (0, 1)
        while slot.waiting:
            for shown, side in enumerate(order[: len(slot.dialogues)]):
                text = slot.partial.get(side, "")
                if text != told.get(side, ""):
                    told[side] = text
                    data = msgspec.json.encode({"column": shown, "text": text})
                    yield b"event: partial\ndata: " + data + b"\n\n"
            await asyncio.sleep(LOOK_SECONDS)
        yield b"event: done\ndata: {}\n\n"

    def _due(self, slot: Slot) -> list[int]:
        """The agents (by index) that have to speak: those whose reply is missing, or all if agents start."""
        if not slot.message_times:
            return [side for side in range(len(slot.dialogues)) if side not in slot.waiting]
        return [
            side
            for side, turns in enumerate(slot.dialogues)
            if side not in slot.decided and (side in slot.failures or turns[-1].role == "user")
        ]

    async def _call_agent(self, rater: Rater, slot: Slot, side: int) -> None:
        """Call an agent in a thread, and record its reply or, after an error or the time limit, its failure.

        A reply after the end is dropped.
        """
        study = self._recorder.ledger.study
        name = slot.task.agents[side]
        turns = tuple(slot.dialogues[side])
        rng = np.random.default_rng([study.seed, slot.number, len(turns), *rater.name.encode()])
        about: dict[str, Any] = {"slot": slot.number} | ({"side": side} if side else {})
        try:
            async with self._call_limits[name]:
                with fail_after(study.chat.seconds):
                    reply: Reply = await run_sync(
                        partial(_reply, self._agents[name], turns, rng, slot.partial, side),
                        abandon_on_cancel=True,
                        limiter=self._threads,
                    )
            content, outcome = _storable(str(reply.content)), _finite_scores(reply.outcome)
        except Exception as error:  # any error of an agent is recorded as a failure
            if not self._is_gone(rater):
                reason = _storable(f"{type(error).__name__}: {error}"[:500])
                self._recorder.record("failed", rater.name, **about, reason=reason)
            return
        if slot.ended or self._is_gone(
            rater
        ):  # the rater ended it, or left the study: the reply comes too late
            return
        decision = {"outcome": outcome} if outcome else {}
        self._recorder.record("said", rater.name, **about, role="assistant", content=content, **decision)

    def _is_gone(self, rater: Rater) -> bool:
        """Whether the rater has withdrawn while an agent was thinking."""
        return self._recorder.ledger.raters.get(rater.name) is not rater


def _reply(
    agent: Agent, turns: tuple[Any, ...], rng: np.random.Generator, partial_texts: dict[int, str], side: int
) -> Reply:
    """The reply of an agent; of one that streams, `partial_texts[side]` has what it has said so far."""
    if not isinstance(agent, Streaming):
        return agent(turns, rng)
    said = ""
    for piece in agent.stream(turns, rng):
        if isinstance(piece, Reply):
            return piece
        said += str(piece)
        partial_texts[side] = _storable(said)
    return Reply(said)


def _storable(text: str) -> str:
    """The text with `?` for unpaired surrogates, which cannot be stored."""
    return text.encode("utf-8", "replace").decode()


def _finite_scores(outcome: Mapping[str, float] | None) -> dict[str, float] | None:
    """The scores of an outcome as floats, None without one; raises `ValueError` for a score that is not finite."""
    if outcome is None:
        return None
    scores = {_storable(str(key)): float(value) for key, value in outcome.items()}
    if not all(map(isfinite, scores.values())):
        raise ValueError(f"the outcome {scores} has a score that is not a finite number")
    return scores


def filled_templates(chat: Chat, slot: Slot) -> list[str]:
    """The prepared messages, filled with values of the goal; those with an unknown value are left out.

    Empty for a task that is no live dialogue.
    """
    if slot.task.source is None:
        return []
    known = _goal_values(slot.task.source)
    found = []
    for template in chat.templates:
        if all(blank in known for blank in _BLANK.findall(template)):
            found.append(_BLANK.sub(lambda blank: known[blank[1]], template))
    return found


def _goal_values(source: Dialogue) -> dict[str, str]:
    """Name -> text of the goal's texts, numbers and booleans; nested ones have names such as `restaurant.area`.

    Lists and nulls are left out.
    """
    known: dict[str, str] = {}

    def add(prefix: str, values: Mapping[str, Any]) -> None:
        """Add the values of an object under their prefixed names."""
        for key, value in values.items():
            if isinstance(value, Mapping):
                add(f"{prefix}{key}.", value)
            elif isinstance(value, str | int | float):
                known[f"{prefix}{key}"] = str(value)

    add("", source.goal or {})
    return known
