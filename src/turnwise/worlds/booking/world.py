"""The booking world: scenes of a customer and a table, in which any agent can be the seller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from turnwise.types import Rating, Scores, Turn
from turnwise.worlds.booking import customer
from turnwise.worlds.booking.flights import Tables
from turnwise.worlds.booking.intent import Decision, Intent, intent, table
from turnwise.worlds.booking.reading import decided, leaves
from turnwise.worlds.booking.scoring import DIMENSIONS, score
from turnwise.worlds.booking.wording import LEAVING
from turnwise.worlds.play import World

NOTHING = Decision(None)


@dataclass(frozen=True, slots=True)
class Scene:
    """One customer at the counter; everything of a conversation but the seller."""

    wanted: Intent
    tables: Tables
    briefing: Turn
    _scores: dict[Decision, Scores] = field(default_factory=dict, compare=False)  # those that were asked for

    @property
    def goal(self) -> Mapping[str, Any]:
        return self.wanted.record()

    def opening(self, rng: np.random.Generator) -> str:
        return customer.opening(self.wanted)

    def reaction(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        return customer.reaction(self.wanted, self.tables, turns, rng)

    def outcome(self, turns: Sequence[Turn], content: str) -> Scores | None:
        """The scores of the decision in a reply to `turns`; None where it takes none and need not."""
        decision = decided(content)
        if decision is None and not leaves(turns[-1].text):
            return None
        return self.scores(decision or NOTHING)

    def scores(self, decision: Decision) -> Scores:
        if decision not in self._scores:
            self._scores[decision] = score(decision, self.wanted, self.tables)
        return self._scores[decision]

    def cut_short(self, turns: Sequence[Turn]) -> Sequence[Turn] | None:
        """The conversation, had the customer left here."""
        said = f"{turns[-1].text} {LEAVING[self.wanted.words]}"
        return (*turns[:-1], Turn("user", said))

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
        scores = turns[-1].outcome or {}
        return tuple(Rating(item, name, value, scale=(0.0, 1.0)) for name, value in scores.items())

    def truth(self, turns: Sequence[Turn]) -> Scores:
        return turns[-1].outcome or {}


@dataclass(frozen=True, slots=True)
class Booking(World):
    name: ClassVar[str] = "booking"
    dimensions: ClassVar[tuple[str, ...]] = DIMENSIONS

    def scene(self, rng: np.random.Generator) -> Scene:
        wanted = intent(rng)
        tables = table(wanted, rng)
        return Scene(wanted, tables, tables.briefing())


WORLD = Booking()
