"""How what was heard gets wrong: eight kinds of mistake, and plain noise.

Each takes the facts, a copy that may be changed, and the generator. Mistakes are made when a seller decides, and
made anew at every turn in which it does.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from turnwise.worlds.booking.flights import AIRLINES, AIRPORTS, CABINS, YEAR
from turnwise.worlds.booking.intent import FIRST, LAST, TIMES

Facts = dict[str, Any]
Mistake = Callable[[Facts, np.random.Generator], None]

_GOALS = ("book", "change", "cancel")


def _name(facts: Facts, rng: np.random.Generator) -> None:
    """The wrong family name."""
    first = str(facts.get("name", "")).partition(" ")[0]
    facts["name"] = f"{first} {LAST[int(rng.random() * len(LAST))]}".strip()


def _date(facts: Facts, rng: np.random.Generator) -> None:
    """Both dates off by some days."""
    days = 1 + int(rng.random() * 3)
    for slot in ("leaves", "returns"):
        if slot in facts:
            facts[slot] = (facts[slot] + days) % YEAR


def _price(facts: Facts, _: np.random.Generator) -> None:
    """The dearest flight, whatever the budget."""
    facts["price"], facts["dearest"] = None, True


def _cabin(facts: Facts, _: np.random.Generator) -> None:
    """The other class, and any number of connections."""
    facts["cabin"] = CABINS[facts.get("cabin") != "business"]
    facts["stops"] = facts["price"] = None


def _route(facts: Facts, _: np.random.Generator) -> None:
    """There and back exchanged."""
    facts["origin"], facts["destination"] = facts.get("destination"), facts.get("origin")


def _goal(facts: Facts, rng: np.random.Generator) -> None:
    """Another goal than the customer's."""
    others = [goal for goal in _GOALS if goal != facts.get("goal")]
    facts["goal"] = others[int(rng.random() * len(others))]


def _flight(facts: Facts, _: np.random.Generator) -> None:
    """No flight is found."""
    facts["status"] = "no_flight"


def _reservation(facts: Facts, _: np.random.Generator) -> None:
    """No reservation is found, and a new one is not made."""
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

# slot -> what it may be heard as instead
_MISHEARD: Mapping[str, Callable[[Any, float], Any]] = {
    "origin": lambda _, chance: AIRPORTS[int(chance * len(AIRPORTS))],
    "destination": lambda _, chance: AIRPORTS[int(chance * len(AIRPORTS))],
    "leaves": lambda day, chance: (day + 1 + int(chance * 10)) % YEAR,
    "returns": lambda day, chance: (day + 1 + int(chance * 10)) % YEAR,
    "price": lambda price, chance: int(price * (0.5 + 2 * chance)),
    "cabin": lambda _, chance: CABINS[int(chance * 2)],
    "stops": lambda _, chance: int(chance * 3),
    "airline": lambda _, chance: AIRLINES[int(chance * len(AIRLINES))],
    "time": lambda _, chance: TIMES[int(chance * len(TIMES))],
    "name": lambda _, chance: f"{FIRST[int(chance * len(FIRST))]} {LAST[int(chance * 1000) % len(LAST)]}",
    "goal": lambda _, chance: _GOALS[int(chance * 3)],
}


def misheard(facts: Facts, rng: np.random.Generator, *, share: float) -> Facts:
    """The facts, each heard wrong with this chance."""
    luck = rng.random((2, len(facts))).tolist()
    return {
        slot: _MISHEARD[slot](value, chance) if luck[0][place] < share else value
        for place, ((slot, value), chance) in enumerate(zip(facts.items(), luck[1], strict=True))
    }
