"""Errors that sellers make about the facts they were told: eight kinds of mistake, and random noise.

A mistake is a function that changes a copy of the facts in place. It is applied when a seller decides, with
new random draws at every turn.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from turnwise.worlds.booking.flights import AIRLINES, AIRPORTS, CABINS, YEAR
from turnwise.worlds.booking.intent import FIRST_NAMES, LAST_NAMES, TIMES

Facts = dict[str, Any]
Mistake = Callable[[Facts, np.random.Generator], None]

_GOALS = ("book", "change", "cancel")


def _name(facts: Facts, rng: np.random.Generator) -> None:
    """Replace the family name with a random one, perhaps the same."""
    first = str(facts.get("name", "")).partition(" ")[0]
    facts["name"] = f"{first} {LAST_NAMES[int(rng.random() * len(LAST_NAMES))]}".strip()


def _date(facts: Facts, rng: np.random.Generator) -> None:
    """Move the dates that are known later by the same one to three days."""
    days = 1 + int(rng.random() * 3)
    for slot in ("leaves", "returns"):
        if slot in facts:
            facts[slot] = (facts[slot] + days) % YEAR


def _price(facts: Facts, _: np.random.Generator) -> None:
    """Remove the budget and set `dearest`, so that the most expensive matching flight is chosen."""
    facts["price"], facts["dearest"] = None, True


def _cabin(facts: Facts, _: np.random.Generator) -> None:
    """Swap the cabin class (business if it was not), and ignore the budget and the number of connections."""
    facts["cabin"] = CABINS[facts.get("cabin") != "business"]
    facts["stops"] = facts["price"] = None


def _route(facts: Facts, _: np.random.Generator) -> None:
    """Swap origin and destination."""
    facts["origin"], facts["destination"] = facts.get("destination"), facts.get("origin")


def _goal(facts: Facts, rng: np.random.Generator) -> None:
    """Replace the goal at random with another one."""
    others = [goal for goal in _GOALS if goal != facts.get("goal")]
    facts["goal"] = others[int(rng.random() * len(others))]


def _flight(facts: Facts, _: np.random.Generator) -> None:
    """Set `status` so that the decision is that there is no flight, whatever the other facts are."""
    facts["status"] = "no_flight"


def _reservation(facts: Facts, _: np.random.Generator) -> None:
    """Set `status` so that the decision is that there is no reservation, whatever the other facts are."""
    facts["status"] = "no_reservation"


MISTAKES: Mapping[str, Mistake] = {
    "name": _name,
    "date": _date,
    "price": _price,
    "cabin": _cabin,
    "route": _route,
    "goal": _goal,
    "flight": _flight,
    "reservation": _reservation,
}

# Slot -> function of the true value and a uniform draw that returns the wrong value.
_MISHEARINGS: Mapping[str, Callable[[Any, float], Any]] = {
    "origin": lambda _, chance: AIRPORTS[int(chance * len(AIRPORTS))],
    "destination": lambda _, chance: AIRPORTS[int(chance * len(AIRPORTS))],
    "leaves": lambda day, chance: (day + 1 + int(chance * 10)) % YEAR,
    "returns": lambda day, chance: (day + 1 + int(chance * 10)) % YEAR,
    "price": lambda price, chance: int(price * (0.5 + 2 * chance)),
    "cabin": lambda _, chance: CABINS[int(chance * 2)],
    "stops": lambda _, chance: int(chance * 3),
    "airline": lambda _, chance: AIRLINES[int(chance * len(AIRLINES))],
    "time": lambda _, chance: TIMES[int(chance * len(TIMES))],
    "name": lambda _, chance: (
        f"{FIRST_NAMES[int(chance * len(FIRST_NAMES))]} {LAST_NAMES[int(chance * 1000) % len(LAST_NAMES)]}"
    ),
    "goal": lambda _, chance: _GOALS[int(chance * 3)],
}


def mishear(facts: Facts, rng: np.random.Generator, *, share: float) -> Facts:
    """A copy of the facts in which each value is replaced by a random, perhaps equal, one with probability `share`."""
    draws = rng.random((2, len(facts))).tolist()
    return {
        slot: _MISHEARINGS[slot](value, chance) if draws[0][index] < share else value
        for index, ((slot, value), chance) in enumerate(zip(facts.items(), draws[1], strict=True))
    }
