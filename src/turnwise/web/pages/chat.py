"""Live dialogues with agents, after ENIGMA's human evaluation software (Jiang et al. 2021, Appendix C, Figure 9).

The rater sees a goal, writes messages or sends prepared ones, and at the end sees the agent's decision with its scores
before rating. The rater is not told which agent it is.
"""

import re
from collections.abc import Mapping
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from anyio import CapacityLimiter, fail_after
from anyio.to_thread import run_sync

from turnwise.protocols import agent_extras
from turnwise.types import Agent, Dialogue, Reply
from turnwise.web.study.definition import Chat
from turnwise.web.study.ledger import Rater, Slot
from turnwise.web.study.recorder import Recorder

_BLANK = re.compile(r"\{([^{}]+)\}")
MAX_CONCURRENT_CALLS = (
    16  # concurrent calls of an agent with `concurrent`; any other agent gets one call at a time
)
MAX_THREADS = 256  # most calls of all agents together


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

    def agent_starts(self, slot: Slot) -> bool:
        """Whether the agent has the first turn and should be asked: no message yet, not ended, not being asked now.

        It stays True after the agent failed to give the first turn.
        """
        study = self._recorder.ledger.study
        first = study.mode == "chat" and study.chat.opening == "agent"
        return first and not (slot.message_times or slot.waiting or slot.ended)

    async def say(self, rater: Rater, slot: Slot, text: str) -> None:
        """Record the rater's message and ask the agent; an empty message only asks again for a missing reply."""
        if text:
            self._recorder.record("said", rater.name, slot=slot.number, role="user", content=text)
        if text or slot.reply_missing:
            await self.ask_agent(rater, slot)

    async def ask_agent(self, rater: Rater, slot: Slot) -> None:
        """Ask the agent for its reply, and return when the reply or the agent's failure is stored.

        `slot.waiting` is True meanwhile.
        """
        slot.waiting = True
        try:
            await self._recorder.wait_until_stored()
            await self._call_agent(rater, slot)
        finally:
            slot.waiting = False
        await self._recorder.wait_until_stored()

    async def _call_agent(self, rater: Rater, slot: Slot) -> None:
        """Call the agent in a thread, and record its reply or, after an error or the time limit, its failure.

        A reply with an outcome, or at the maximum of turns, also ends the dialogue. A reply after the end is dropped.
        """
        study = self._recorder.ledger.study
        (name,) = slot.task.agents
        rng = np.random.default_rng([study.seed, slot.number, len(slot.turns), *rater.name.encode()])
        about: dict[str, Any] = {"slot": slot.number}
        try:
            async with self._call_limits[name]:
                with fail_after(study.chat.seconds):
                    reply: Reply = await run_sync(
                        partial(self._agents[name], tuple(slot.turns), rng),
                        abandon_on_cancel=True,
                        limiter=self._threads,
                    )
            content, outcome = _storable(str(reply.content)), _finite_scores(reply.outcome)
        except Exception as error:  # any error of an agent is recorded as a failure
            reason = _storable(f"{type(error).__name__}: {error}"[:500])
            self._recorder.record("failed", rater.name, **about, reason=reason)
            return
        if slot.ended:  # the rater ended it and may have rated it: the reply comes too late
            return
        decision = {"outcome": outcome} if outcome else {}
        self._recorder.record("said", rater.name, **about, role="assistant", content=content, **decision)
        if outcome or len(slot.turns) >= study.chat.most_turns:
            self._recorder.record("ended", rater.name, **about)


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
