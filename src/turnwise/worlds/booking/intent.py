"""What a customer comes for: a goal, a name and conditions, and from them what a right seller would do."""

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
    drawn,
    qualified,
)

Goal = Literal["book", "change", "cancel"]
Status = Literal["booked", "changed", "cancelled", "no_flight", "no_reservation"]
FIRST = "Anna Brian Carla David Emma Frank Grace Henry Irene James Kate Liam Maria Noah Olga Peter Rosa Simon".split()
LAST = "Adams Baker Clark Davis Evans Ford Green Hill Irwin Jones King Lewis Moore Nolan Owens Price Reed Scott".split()

# AirDialogue has 80 % bookings and the rest in halves; there are fewer here, so that 100 dialogues show all three.
GOALS: tuple[tuple[Goal, float], ...] = (("book", 0.7), ("change", 0.85), ("cancel", 1.0))
SUITED = 0.8  # tables with a flight that meets all conditions
BUDGETS = {"economy": (200, 300, 400), "business": (600, 800, 1000), None: (200, 300, 500, 1000)}
TIMES = ("morning", "afternoon", "evening")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a seller does in the end."""

    status: Status | None  # None: nothing was decided
    flight: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Intent:
    goal: Goal
    name: str
    wishes: Mapping[str, Any]  # slot -> condition; None where the customer does not mind
    talkative: bool  # says where and when at once
    careful: bool  # looks at what is offered before agreeing
    patience: int  # questions asked twice before leaving
    words: int  # how this customer says things, kept through a conversation

    def record(self) -> dict[str, Any]:
        """The intent as it stands in a log."""
        dates = {slot: DATES[self.wishes[slot]] for slot in ("leaves", "returns")}
        wishes = {slot: value for slot, value in self.wishes.items() if value is not None}
        return {"goal": self.goal, "name": self.name, **wishes, **dates}


def _one(options: Sequence[Any], chance: float) -> Any:
    return options[int(chance * len(options))]


def intent(rng: np.random.Generator) -> Intent:
    u = rng.random(20).tolist()
    origin = int(u[0] * len(AIRPORTS))
    destination = (origin + 1 + int(u[1] * (len(AIRPORTS) - 1))) % len(AIRPORTS)
    leaves = int(u[2] * YEAR)
    cabin = _one(CABINS, u[3]) if u[4] < 0.5 else None
    wishes = {
        "origin": AIRPORTS[origin],
        "destination": AIRPORTS[destination],
        "leaves": leaves,
        "returns": (leaves + 2 + int(u[5] * 12)) % YEAR,
        "price": _one(BUDGETS[cabin], u[6]),
        "cabin": cabin,
        "stops": int(u[7] * 2) if u[8] < 0.7 else None,
        "airline": _one(AIRLINES, u[9]) if u[10] < 0.25 else None,
        "time": _one(TIMES, u[11]) if u[12] < 0.3 else None,
    }
    return Intent(
        goal=next(goal for goal, share in GOALS if u[13] < share),
        name=f"{_one(FIRST, u[14])} {_one(LAST, u[15])}",
        wishes=wishes,
        talkative=u[16] < 0.3,
        careful=u[17] < 0.7,
        patience=1 + int(u[18] * 3),
        words=int(u[19] * 3),
    )


def table(wanted: Intent, rng: np.random.Generator) -> Tables:
    return drawn(wanted.wishes, rng, suited=rng.random() < SUITED)


def right(wanted: Intent, tables: Tables) -> tuple[Status, frozenset[int]]:
    """The status that a right seller ends with, and the flights of which any is right; none where it is empty."""
    if wanted.goal != "book" and tables.reservation is None:
        return "no_reservation", frozenset()
    if wanted.goal == "cancel":
        return "cancelled", frozenset()
    numbers = frozenset(flight.number for flight in qualified(tables.flights, wanted.wishes))
    if not numbers:
        return "no_flight", numbers
    return ("booked" if wanted.goal == "book" else "changed"), numbers
