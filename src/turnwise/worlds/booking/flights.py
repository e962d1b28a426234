"""The seller's side of the counter: a table of flights, and the reservation that the customer may hold.

As in AirDialogue (Wei et al. 2018) a table has 30 return flights between a few airports around the dates that
the customer has in mind. A table can be written as text, which is what an agent from outside sees, and read
back from it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from turnwise.errors import UsageError
from turnwise.types import Turn

AIRPORTS = (
    "ATL AUS BOS CLT DEN DFW DTW EWR HOU IAD IAH JFK LAS LAX LGA MCO MSP OAK ORD PHL PHX SEA SFO".split()
)
AIRLINES = "UA AA Delta Hawaiian Southwest Frontier JetBlue Spirit".split()
LOW_COST = frozenset(AIRLINES[4:])
CABINS = ("economy", "business")
MONTHS = {"Jan": 31, "Feb": 28, "Mar": 31, "Apr": 30, "May": 31, "June": 30, "July": 31, "Aug": 31, "Sept": 30,
          "Oct": 31, "Nov": 30, "Dec": 31}  # fmt: skip
DATES = tuple(f"{month} {day}" for month, days in MONTHS.items() for day in range(1, days + 1))
CALENDAR = tuple((month, day) for month, days in enumerate(MONTHS.values(), 1) for day in range(1, days + 1))
DAY = {date: day for day, date in enumerate(DATES)}
YEAR = len(DATES)

FLIGHTS = 30
FIRST_NUMBER = 1000
SPREAD = 3  # days around the dates that the customer has in mind
FARES = {"economy": (120, 420), "business": (450, 950)}
HOURS = {"morning": 6, "afternoon": 12, "evening": 18}
RESERVED = 0.6  # customers who hold a reservation

Wishes = Mapping[str, Any]  # slot -> what was asked for; a slot that is absent is no condition


class Flight(NamedTuple):
    number: int
    origin: str
    destination: str
    leaves: int  # day of the year
    returns: int
    hour: int  # of leaving
    hour_back: int
    cabin: str
    price: int
    stops: int
    airline: str

    def line(self) -> str:
        return (
            f"{self.number} {self.origin} {self.destination} {DATES[self.leaves]} {self.hour}:00 "
            f"{DATES[self.returns]} {self.hour_back}:00 {self.cabin} ${self.price} {self.stops} {self.airline}"
        )


_LINE = re.compile(
    r"^(\d{4}) ([A-Z]{3}) ([A-Z]{3}) (\w+ \d+) (\d+):00 (\w+ \d+) (\d+):00 (\w+) \$(\d+) (\d) (\w+)$",
    re.MULTILINE,
)
_RESERVATION = re.compile(r"reservation: (\d{4}|none)")
_ORDERS = """You sell flights. Ask the customer for what you need, then end with one of these sentences, with the \
customer's full name in it:
I have booked flight NUMBER for NAME. | I have changed the reservation to flight NUMBER for NAME. | \
I have cancelled the reservation for NAME. | There is no flight for NAME. | There is no reservation for NAME."""


@dataclass(frozen=True, slots=True)
class Tables:
    flights: tuple[Flight, ...]
    reservation: int | None  # number of the flight that the customer holds

    def flight(self, number: int) -> Flight | None:
        place = number - FIRST_NUMBER
        return self.flights[place] if 0 <= place < len(self.flights) else None

    def briefing(self) -> Turn:
        """What a seller is told before the customer speaks."""
        lines = "\n".join([flight.line() for flight in self.flights])
        text = f"{_ORDERS}\nreservation: {self.reservation or 'none'}\n{lines}"
        return Turn("system", text)


def tables(turn: Turn) -> Tables:
    """The tables of a briefing."""
    if turn.role != "system":
        raise UsageError(
            "a seller needs its table: the first turn must be the briefing (`meta.briefing` in a log)"
        )
    return parsed(turn.text)


@lru_cache(maxsize=256)
def parsed(text: str) -> Tables:
    held = _RESERVATION.search(text)
    flights = tuple(
        Flight(int(number), origin, destination, DAY[out], DAY[back], int(hour), int(hour_back), cabin,
               int(price), int(stops), airline)
        for number, origin, destination, out, hour, back, hour_back, cabin, price, stops, airline
        in _LINE.findall(text)
    )  # fmt: skip
    return Tables(flights, int(held[1]) if held and held[1] != "none" else None)


def part_of_day(hour: int) -> str:
    return "morning" if hour < 12 else "afternoon" if hour < 18 else "evening"


TESTS: Mapping[str, Callable[[Flight, Any], bool]] = {
    "origin": lambda flight, wanted: flight.origin == wanted,
    "destination": lambda flight, wanted: flight.destination == wanted,
    "leaves": lambda flight, wanted: flight.leaves == wanted,
    "returns": lambda flight, wanted: flight.returns == wanted,
    "cabin": lambda flight, wanted: flight.cabin == wanted,
    "price": lambda flight, wanted: flight.price <= wanted,
    "stops": lambda flight, wanted: flight.stops <= wanted,
    "airline": lambda flight, wanted: flight.airline == wanted,
    "time": lambda flight, wanted: part_of_day(flight.hour) == wanted,
}


def qualified(flights: Sequence[Flight], wishes: Wishes) -> Sequence[Flight]:
    """The flights that meet every condition."""
    for slot, meets in TESTS.items():
        wanted = wishes.get(slot)
        if wanted is not None:
            flights = [flight for flight in flights if meets(flight, wanted)]
    return flights


def unmet(flight: Flight, wishes: Wishes) -> list[str]:
    """The conditions that a flight does not meet."""
    return [
        slot
        for slot, meets in TESTS.items()
        if wishes.get(slot) is not None and not meets(flight, wishes[slot])
    ]


def drawn(wishes: Wishes, rng: np.random.Generator, *, suited: bool) -> Tables:
    """A table around the customer's plans; `suited` says that it has a flight which meets them all.

    Without it there may still be one by chance. Every second customer holds a reservation.
    """
    airports = [wishes["origin"], wishes["destination"], AIRPORTS[int(rng.random() * len(AIRPORTS))]]
    chance = rng.random((FLIGHTS + 1, 10)).tolist()
    flights = [_flight(FIRST_NUMBER + place, airports, wishes, u) for place, u in enumerate(chance[:FLIGHTS])]
    last = chance[FLIGHTS]
    if suited:
        place = int(last[0] * FLIGHTS)
        flights[place] = _suited(flights[place], wishes, last)
    return Tables(tuple(flights), FIRST_NUMBER + int(last[1] * FLIGHTS) if last[2] < RESERVED else None)


def _flight(number: int, airports: Sequence[str], wishes: Wishes, u: Sequence[float]) -> Flight:
    origin = int(u[0] * 3)
    # Most flights go the customer's way, near the customer's dates: a table is what a search gave.
    way = airports[0:2] if u[1] < 0.6 else (airports[origin], airports[origin - 1])
    cabin = CABINS[u[4] > 0.7]
    low, high = FARES[cabin]
    return Flight(
        number,
        way[0],
        way[1],
        (wishes["leaves"] + int((2 * u[2] - 1) * (SPREAD + 1))) % YEAR,
        (wishes["returns"] + int((2 * u[3] - 1) * (SPREAD + 1))) % YEAR,
        int(u[5] * 24),
        int(u[6] * 24),
        cabin,
        low + 10 * int(u[7] * (high - low) / 10),
        0 if u[8] < 0.2 else 1 if u[8] < 0.9 else 2,
        AIRLINES[int(u[9] * len(AIRLINES))],
    )


def _suited(flight: Flight, wishes: Wishes, u: Sequence[float]) -> Flight:
    """The flight made to meet every condition, and otherwise left as it is."""
    cabin = wishes.get("cabin") or (flight.cabin if wishes["price"] > FARES["business"][0] else "economy")
    low = FARES[cabin][0]
    hour = flight.hour if wishes.get("time") is None else HOURS[wishes["time"]] + int(u[3] * 6)
    return flight._replace(
        origin=wishes["origin"],
        destination=wishes["destination"],
        leaves=wishes["leaves"],
        returns=wishes["returns"],
        hour=hour,
        cabin=cabin,
        price=low + 10 * int(u[4] * (min(wishes["price"], FARES[cabin][1]) - low) / 10),
        stops=min(flight.stops, 2 if wishes.get("stops") is None else wishes["stops"]),
        airline=wishes.get("airline") or flight.airline,
    )
