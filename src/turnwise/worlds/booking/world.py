"""The booking world: each scene has a customer and a flight table, and any agent can be the seller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from turnwise.types import DimensionScores, Rating, Turn
from turnwise.worlds.booking import customer
from turnwise.worlds.booking.flights import Tables, draw_tables
from turnwise.worlds.booking.intent import Decision, Intent, draw_intent
from turnwise.worlds.booking.parsing import is_leaving, parse_decision
from turnwise.worlds.booking.scoring import DIMENSIONS, score
from turnwise.worlds.booking.wording import LEAVING
from turnwise.worlds.play import World

SOLVABLE_SHARE = 0.8  # share of the tables that certainly have a flight which meets all conditions
NOTHING = Decision(None)  # the decision of a seller that announces none


@dataclass(frozen=True, slots=True)
class Scene:
    """One customer and one flight table: everything in a dialogue except the seller."""

    intent: Intent
    tables: Tables
    briefing: Turn
    _scores: dict[Decision, DimensionScores] = field(default_factory=dict, compare=False)  # cache

    @property
    def goal(self) -> Mapping[str, Any]:
        """The customer's goal, name and conditions, as `Intent.record` writes them."""
        return self.intent.record()

    def first_message(self, rng: np.random.Generator) -> str:
        """The customer's first turn; it does not depend on `rng`."""
        return customer.first_message(self.intent)

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        """The customer's next turn, never None.

        A customer who leaves says goodbye, and the reply to that ends the dialogue.
        """
        return customer.next_message(self.intent, self.tables, turns, rng)

    def outcome(self, turns: Sequence[Turn], content: str) -> DimensionScores | None:
        """The scores of the decision in a reply to `turns`; None if it has no decision and the customer stays.

        If the customer's last turn is a goodbye, a reply without a decision is scored as no decision.
        """
        decision = parse_decision(content)
        if decision is None and not is_leaving(turns[-1].text):
            return None
        return self.scores(decision or NOTHING)

    def scores(self, decision: Decision) -> DimensionScores:
        """The scores of a decision by dimension, cached in this scene."""
        if decision not in self._scores:
            self._scores[decision] = score(decision, self.intent, self.tables)
        return self._scores[decision]

    def with_decision_request(self, turns: Sequence[Turn]) -> Sequence[Turn] | None:
        """The dialogue as if the customer had left with its last turn and asked the seller to decide; never None."""
        said = f"{turns[-1].text} {LEAVING[self.intent.wording]}"
        return (*turns[:-1], Turn("user", said))

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
        """The scores of the decision that ended the dialogue, as ratings without a rater; none without a decision."""
        scores = turns[-1].outcome or {}
        return tuple(Rating(item, name, value, scale=(0.0, 1.0)) for name, value in scores.items())

    def truth(self, turns: Sequence[Turn]) -> DimensionScores:
        """The scores of the decision that ended the dialogue; empty without one."""
        return turns[-1].outcome or {}


@dataclass(frozen=True, slots=True)
class Booking(World):
    """Customers who book, change or cancel flights."""

    name: ClassVar[str] = "booking"
    dimensions: ClassVar[tuple[str, ...]] = DIMENSIONS

    def scene(self, rng: np.random.Generator) -> Scene:
        """Draw a customer and a flight table; 80 % of the tables certainly have a suitable flight."""
        intent = draw_intent(rng)
        tables = draw_tables(intent.wishes, rng, solvable=rng.random() < SOLVABLE_SHARE)
        return Scene(intent, tables, tables.briefing())


WORLD = Booking()
