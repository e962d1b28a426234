"""Live conversation with an agent: ENIGMA's human evaluation software (Jiang et al. 2021, Appendix C, Figure 9).

The rater sees a goal, speaks in their own words or by a prepared template, and at the end sees the agent's
decision with its scores before judging. Who the agent is, they are not told.
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
from turnwise.web.study.book import Book
from turnwise.web.study.definition import Chat
from turnwise.web.study.ledger import Rater, Slot

_BLANK = re.compile(r"\{([^{}]+)\}")
AT_ONCE = 16  # calls at once of an agent that is `concurrent`; any other is called one at a time
THREADS = 256


class Talking:
    def __init__(self, book: Book, agents: Mapping[str, Agent]) -> None:
        self._book = book
        self._agents = agents
        self._threads = CapacityLimiter(THREADS)
        self._turns = {
            name: CapacityLimiter(AT_ONCE if agent_extras(one).concurrent else 1)
            for name, one in agents.items()
        }

    def opens(self, slot: Slot) -> bool:
        """Whether the agent is to speak first here, and nobody has asked it to yet."""
        study = self._book.ledger.study
        first = study.mode == "chat" and study.chat.opening == "agent"
        return first and not (slot.said_at or slot.waiting or slot.ended)

    async def say(self, rater: Rater, slot: Slot, text: str) -> None:
        """The rater speaks and the agent answers; with nothing said, an agent that owes an answer is asked again."""
        if text:
            self._book.note("said", rater.name, slot=slot.number, role="user", content=text)
        if text or slot.unheard:
            await self.hear(rater, slot)

    async def hear(self, rater: Rater, slot: Slot) -> None:
        """The agent's turn. Of two requests at once one asks: the other finds the slot waiting."""
        slot.waiting = True
        try:
            await self._book.settled()
            await self._ask(rater, slot)
        finally:
            slot.waiting = False
        await self._book.settled()

    async def _ask(self, rater: Rater, slot: Slot) -> None:
        study = self._book.ledger.study
        (name,) = slot.task.agents
        rng = np.random.default_rng([study.seed, slot.number, len(slot.turns), *rater.name.encode()])
        about: dict[str, Any] = {"slot": slot.number}
        try:
            async with self._turns[name]:
                with fail_after(study.chat.seconds):
                    reply: Reply = await run_sync(
                        partial(self._agents[name], tuple(slot.turns), rng),
                        abandon_on_cancel=True,
                        limiter=self._threads,
                    )
            content, outcome = _clean(str(reply.content)), _numbers(reply.outcome)
        except Exception as error:  # an agent may raise anything; it is told and never becomes a score
            reason = _clean(f"{type(error).__name__}: {error}"[:500])
            self._book.note("failed", rater.name, **about, reason=reason)
            return
        if slot.ended:  # by the rater, who may have judged it since: nothing is added to it
            return
        over = {"outcome": outcome} if outcome else {}
        self._book.note("said", rater.name, **about, role="assistant", content=content, **over)
        if outcome or len(slot.turns) >= study.chat.most_turns:
            self._book.note("ended", rater.name, **about)


def _clean(text: str) -> str:
    """Without what cannot be stored: halves of characters."""
    return text.encode("utf-8", "replace").decode()


def _numbers(outcome: Mapping[str, float] | None) -> dict[str, float] | None:
    if outcome is None:
        return None
    scores = {_clean(str(key)): float(value) for key, value in outcome.items()}
    if not all(map(isfinite, scores.values())):
        raise ValueError(f"the outcome {scores} has a score that is no number")
    return scores


def templates(chat: Chat, slot: Slot) -> list[str]:
    """The prepared sentences whose blanks the goal can fill."""
    if slot.task.source is None:
        return []
    known = _flat(slot.task.source)
    found = []
    for template in chat.templates:
        if all(blank in known for blank in _BLANK.findall(template)):
            found.append(_BLANK.sub(lambda blank: known[blank[1]], template))
    return found


def _flat(source: Dialogue) -> dict[str, str]:
    """The goal's values by name, `restaurant.area` for one inside another."""
    known: dict[str, str] = {}

    def add(prefix: str, values: Mapping[str, Any]) -> None:
        for key, value in values.items():
            if isinstance(value, Mapping):
                add(f"{prefix}{key}.", value)
            elif isinstance(value, str | int | float):
                known[f"{prefix}{key}"] = str(value)

    add("", source.goal or {})
    return known
