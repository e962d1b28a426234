"""A customer of the booking world that learned from logs what customers say to what: self-play's model of a person.

It finds the logged customer's turn that followed the most similar words of a seller, and says the same thing with its
own facts: what is answered is learned, what is wanted is its own. So it says yes or no to an offer as logged customers
did and not as its wishes would have it, and where no log shows what to do it does what was done somewhere else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from turnwise.agents.tfidf import TfIdf
from turnwise.errors import DataError
from turnwise.run.dialogues.selfplay import exchanged
from turnwise.types import Dialogue, Rating, Scores, Turn
from turnwise.worlds.booking import customer, wording
from turnwise.worlds.booking.reading import leaves, stated
from turnwise.worlds.booking.world import Scene


@dataclass(frozen=True, slots=True)
class LearnedCustomer:
    said: TfIdf  # what logged customers said to sellers

    @classmethod
    def learn(cls, logs: Sequence[Dialogue], *, nearest: int = 1) -> "LearnedCustomer":
        swapped = [replace(dialogue, turns=tuple(exchanged(dialogue.turns))) for dialogue in logs]
        if not any(turn.role == "assistant" for dialogue in swapped for turn in dialogue.turns[1:]):
            raise DataError("no logged customer answers a seller: there is nothing to learn a customer from")
        return cls(TfIdf.fit(swapped, window=1, nearest=nearest, role="assistant"))

    def __call__(self, scene: Scene, /) -> "LearnedScene":
        """The scene with this customer in it."""
        return LearnedScene(scene, self)

    def reaction(self, scene: Scene, turns: Sequence[Turn], rng: np.random.Generator) -> str:
        wanted, text = scene.wanted, self.said(turns[-1:], rng).content
        facts = stated(text)
        topics = [topic for topic, slots in wording.TOPICS.items() if any(slot in facts for slot in slots)]
        if topics:
            said = " ".join(customer.answer(wanted, topic) for topic in topics)
        elif text.startswith(wording.AGREED):
            said = wording.AGREED[wanted.words]
        elif text.startswith(wording.REFUSED):
            said = wording.REFUSED[wanted.words]
        else:
            said = wording.WAITING[wanted.words]
        n_replies = sum(turn.role == "assistant" for turn in turns)
        gone = leaves(text) or n_replies >= customer.T_MAX - 1
        return f"{said} {wording.LEAVING[wanted.words]}" if gone else said


@dataclass(frozen=True, slots=True)
class LearnedScene:
    scene: Scene
    customer: LearnedCustomer

    @property
    def briefing(self) -> Turn:
        return self.scene.briefing

    @property
    def goal(self) -> Mapping[str, Any]:
        return self.scene.goal

    def opening(self, rng: np.random.Generator, /) -> str:
        return self.scene.opening(rng)

    def reaction(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> str:
        return self.customer.reaction(self.scene, turns, rng)

    def outcome(self, turns: Sequence[Turn], content: str, /) -> Scores | None:
        return self.scene.outcome(turns, content)

    def cut_short(self, turns: Sequence[Turn], /) -> Sequence[Turn] | None:
        return self.scene.cut_short(turns)

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator, /) -> tuple[Rating, ...]:
        return self.scene.ratings(turns, item, rng)

    def truth(self, turns: Sequence[Turn], /) -> Scores:
        return self.scene.truth(turns)
