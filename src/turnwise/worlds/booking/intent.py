"""What a customer wants: a goal, a name and conditions; and which decisions of a seller are correct."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from turnwise.worlds.booking.flights import (
    AIRLINES,
    AIRPORTS,
    CABINS,
    DATES,
    YEAR,
    Tables,
    matching_flights,
)

Goal = Literal["book", "change", "cancel"]
Status = Literal["booked", "changed", "cancelled", "no_flight", "no_reservation"]
FIRST_NAMES = (
    "Anna Brian Carla David Emma Frank Grace Henry Irene James Kate Liam Maria Noah Olga Peter Rosa Simon"
).split()
LAST_NAMES = (
    "Adams Baker Clark Davis Evans Ford Green Hill Irwin Jones King Lewis Moore Nolan Owens Price Reed Scott"
).split()

# Cumulative shares. AirDialogue has 80 % bookings and 10 % each of changes and cancellations; there are fewer
# bookings here, so that 100 dialogues contain enough of all three.
GOAL_SHARES: tuple[tuple[Goal, float], ...] = (("book", 0.7), ("change", 0.85), ("cancel", 1.0))
# Wanted cabin -> the budgets that a customer may have, in dollars.
BUDGETS = {"economy": (200, 300, 400), "business": (600, 800, 1000), None: (200, 300, 500, 1000)}
TIMES = ("morning", "afternoon", "evening")


@dataclass(frozen=True, slots=True)
class Decision:
    """How a seller ends the dialogue: a status (None: nothing was decided), a flight number and the customer's name."""

    status: Status | None  # None: nothing was decided
    flight: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Intent:
    """A customer: its goal, its name, its conditions and its manner.

    `wishes` has by slot the condition or None, `patience` is the number of repeated questions that it accepts, and
    `wording` the index of its wording.
    """

    goal: Goal
    name: str
    wishes: Mapping[str, Any]  # slot -> condition; None where the customer does not mind
    talkative: bool  # states the route and the dates in its first message
    careful: bool  # checks an offered flight against its conditions before accepting it
    patience: int  # repeated questions that it accepts before it leaves
    wording: int  # index of its wording in the tuples of `wording`

    def record(self) -> dict[str, Any]:
        """The intent as a log stores it (`Dialogue.goal`): goal, name and the conditions that are not None.

        Dates are texts such as `Jan 5`.
        """
        dates = {slot: DATES[self.wishes[slot]] for slot in ("leaves", "returns")}
        wishes = {slot: value for slot, value in self.wishes.items() if value is not None}
        return {"goal": self.goal, "name": self.name, **wishes, **dates}


def _pick(options: Sequence[Any], u: float) -> Any:
    """The option that the uniform draw `u` in [0, 1) selects."""
    return options[int(u * len(options))]


def draw_intent(rng: np.random.Generator) -> Intent:
    """Draw a customer at random: goal, name, conditions and manner."""
    u = rng.random(20).tolist()
    origin = int(u[0] * len(AIRPORTS))
    destination = (origin + 1 + int(u[1] * (len(AIRPORTS) - 1))) % len(AIRPORTS)
    leaves = int(u[2] * YEAR)
    cabin = _pick(CABINS, u[3]) if u[4] < 0.5 else None
    wishes = {
        "origin": AIRPORTS[origin],
        "destination": AIRPORTS[destination],
        "leaves": leaves,
        "returns": (leaves + 2 + int(u[5] * 12)) % YEAR,
        "price": _pick(BUDGETS[cabin], u[6]),
        "cabin": cabin,
        "stops": int(u[7] * 2) if u[8] < 0.7 else None,
        "airline": _pick(AIRLINES, u[9]) if u[10] < 0.25 else None,
        "time": _pick(TIMES, u[11]) if u[12] < 0.3 else None,
    }
    return Intent(
        goal=next(goal for goal, share in GOAL_SHARES if u[13] < share),
        name=f"{_pick(FIRST_NAMES, u[14])} {_pick(LAST_NAMES, u[15])}",
        wishes=wishes,
        talkative=u[16] < 0.3,
        careful=u[17] < 0.7,
        patience=1 + int(u[18] * 3),
        wording=int(u[19] * 3),
    )


def correct_outcome(intent: Intent, tables: Tables) -> tuple[Status, frozenset[int]]:
    """The correct final status, and the numbers of the correct flights: empty if no flight should be named."""
    if intent.goal != "book" and tables.reservation is None:
        return "no_reservation", frozenset()
    if intent.goal == "cancel":
        return "cancelled", frozenset()
    numbers = frozenset(flight.number for flight in matching_flights(tables.flights, intent.wishes))
    if not numbers:
        return "no_flight", numbers
    return ("booked" if intent.goal == "book" else "changed"), numbers
