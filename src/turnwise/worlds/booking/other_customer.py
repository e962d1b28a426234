"""A scene of the booking world in which another customer talks; its data and scores stay those of the scene."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from turnwise.types import DimensionScores, Rating, Turn
from turnwise.worlds.booking.world import Booking, Scene


class OtherCustomer(Protocol):
    """A customer that can talk in any scene."""

    def first_message(self, scene: Scene, rng: np.random.Generator, /) -> str:
        """The first turn of the scene's customer."""
        ...

    def next_message(self, scene: Scene, turns: Sequence[Turn], rng: np.random.Generator, /) -> str:
        """What the scene's customer says after `turns`; a customer who leaves says goodbye."""
        ...


@dataclass(frozen=True, slots=True)
class BookingWithOtherCustomer(Booking):
    """The booking world with another customer in all of its scenes."""

    customer: OtherCustomer

    def scene(self, rng: np.random.Generator) -> "SceneWithOtherCustomer":  # type: ignore[override]
        """Draw a scene, in which the other customer talks."""
        return SceneWithOtherCustomer(Booking.scene(self, rng), self.customer)


def with_user(customer: OtherCustomer) -> BookingWithOtherCustomer:
    """The booking world in which this customer talks."""
    return BookingWithOtherCustomer(customer)


@dataclass(frozen=True, slots=True)
class SceneWithOtherCustomer:
    """A scene whose customer's turns are another's."""

    scene: Scene
    customer: OtherCustomer

    @property
    def briefing(self) -> Turn:
        """The briefing of the scene."""
        return self.scene.briefing

    @property
    def goal(self) -> Mapping[str, Any]:
        """What the customer wants."""
        return self.scene.goal

    def first_message(self, rng: np.random.Generator, /) -> str:
        """The other customer's first turn."""
        return self.customer.first_message(self.scene, rng)

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> str:
        """The other customer's next turn; never None."""
        return self.customer.next_message(self.scene, turns, rng)

    def outcome(self, turns: Sequence[Turn], content: str, /) -> DimensionScores | None:
        """The scene's scores of the decision in a reply to `turns`; None if the dialogue goes on."""
        return self.scene.outcome(turns, content)

    def with_decision_request(self, turns: Sequence[Turn], /) -> Sequence[Turn] | None:
        """The turns as if the customer had asked for a decision now, as in the scene; never None."""
        return self.scene.with_decision_request(turns)

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator, /) -> tuple[Rating, ...]:
        """The ratings that the scene gives the finished dialogue."""
        return self.scene.ratings(turns, item, rng)

    def truth(self, turns: Sequence[Turn], /) -> DimensionScores:
        """The scores of the decision that ended the dialogue; empty without one."""
        return self.scene.truth(turns)
