"""The seller's data: a table of flights, and the reservation that the customer may hold.

As in AirDialogue (Wei et al. 2018), a table has 30 return flights between a few airports, on dates near those that
the customer wants. The table is written as text into the seller's briefing, the only form in which an external agent
sees it, and can be parsed from that text.
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
# Days per month; the month names are those that customers say.
MONTHS = {"Jan": 31, "Feb": 28, "Mar": 31, "Apr": 30, "May": 31, "June": 30, "July": 31, "Aug": 31, "Sept": 30,
          "Oct": 31, "Nov": 30, "Dec": 31}  # fmt: skip
# Day of the year (from 0) -> its date as text, and as (month, day).
DATES = tuple(f"{month} {day}" for month, days in MONTHS.items() for day in range(1, days + 1))
CALENDAR = tuple((month, day) for month, days in enumerate(MONTHS.values(), 1) for day in range(1, days + 1))
DAY_OF_YEAR = {date: day for day, date in enumerate(DATES)}
YEAR = len(DATES)

TABLE_SIZE = 30  # per table, as in AirDialogue
FIRST_NUMBER = 1000
DATE_SPREAD = 3  # flights leave and return at most this many days before or after the wanted dates
FARES = {"economy": (120, 420), "business": (450, 950)}  # lowest and highest price in dollars
FIRST_HOUR = {"morning": 6, "afternoon": 12, "evening": 18}  # first hour of each part of the day
RESERVATION_SHARE = 0.6  # share of customers who hold a reservation

Wishes = Mapping[str, Any]  # slot -> the condition on it; absent or None: no condition


class Flight(NamedTuple):
    """A return flight of the table.

    `leaves` and `returns` are days of the year from 0, the hours those of departure.
    """

    number: int
    origin: str
    destination: str
    leaves: int  # day of the year
    returns: int
    hour: int  # hour of departure
    hour_back: int  # hour of the return flight's departure
    cabin: str
    price: int
    stops: int
    airline: str

    def line(self) -> str:
        """The flight as one line of a briefing."""
        return (
            f"{self.number} {self.origin} {self.destination} {DATES[self.leaves]} {self.hour}:00 "
            f"{DATES[self.returns]} {self.hour_back}:00 {self.cabin} ${self.price} {self.stops} {self.airline}"
        )


_LINE = re.compile(
    r"^(\d{4}) ([A-Z]{3}) ([A-Z]{3}) (\w+ \d+) (\d+):00 (\w+ \d+) (\d+):00 (\w+) \$(\d+) (\d) (\w+)$",
    re.MULTILINE,
)
_RESERVATION = re.compile(r"reservation: (\d{4}|none)")
_INSTRUCTIONS = """\
You sell flights. Ask the customer for what you need, then end with one of these sentences, with the \
customer's full name in it:
I have booked flight NUMBER for NAME. | I have changed the reservation to flight NUMBER for NAME. | \
I have cancelled the reservation for NAME. | There is no flight for NAME. | There is no reservation for NAME."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The flights on sale and the flight number of the customer's reservation (None: it has none)."""

    flights: tuple[Flight, ...]
    reservation: int | None  # flight number of the customer's reservation

    def flight(self, number: int) -> Flight | None:
        """The flight with this number, or None if the table has none."""
        index = number - FIRST_NUMBER
        return self.flights[index] if 0 <= index < len(self.flights) else None

    def briefing(self) -> Turn:
        """The system turn that gives a seller its instructions and the tables."""
        lines = "\n".join([flight.line() for flight in self.flights])
        text = f"{_INSTRUCTIONS}\nreservation: {self.reservation or 'none'}\n{lines}"
        return Turn("system", text)


def tables_from_briefing(turn: Turn) -> Tables:
    """Parse the tables from the briefing turn; raises `UsageError` if the turn is not of the system."""
    if turn.role != "system":
        raise UsageError(
            "a seller needs its flight table: the first turn must be the briefing (`meta.briefing` in a log)"
        )
    return parse_tables(turn.text)


@lru_cache(maxsize=256)
def parse_tables(text: str) -> Tables:
    """Parse the tables from the text of a briefing; lines that are no flight are ignored."""
    reservation = _RESERVATION.search(text)
    flights = tuple(
        Flight(int(number), origin, destination, DAY_OF_YEAR[out], DAY_OF_YEAR[back], int(hour), int(hour_back), cabin,
               int(price), int(stops), airline)
        for number, origin, destination, out, hour, back, hour_back, cabin, price, stops, airline
        in _LINE.findall(text)
    )  # fmt: skip
    return Tables(flights, int(reservation[1]) if reservation and reservation[1] != "none" else None)


def part_of_day(hour: int) -> str:
    """`morning` before 12, `afternoon` before 18, else `evening`."""
    return "morning" if hour < 12 else "afternoon" if hour < 18 else "evening"


# Slot -> whether a flight meets a condition on that slot.
MEETS: Mapping[str, Callable[[Flight, Any], bool]] = {
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


def matching_flights(flights: Sequence[Flight], wishes: Wishes) -> Sequence[Flight]:
    """The flights that meet every condition in `wishes`, in the table's order; None means no condition."""
    for slot, meets in MEETS.items():
        wanted = wishes.get(slot)
        if wanted is not None:
            flights = [flight for flight in flights if meets(flight, wanted)]
    return flights


def unmet_conditions(flight: Flight, wishes: Wishes) -> list[str]:
    """The slots whose condition the flight does not meet, in the order of `MEETS`; empty if it meets all."""
    return [
        slot
        for slot, meets in MEETS.items()
        if wishes.get(slot) is not None and not meets(flight, wishes[slot])
    ]


def draw_tables(wishes: Wishes, rng: np.random.Generator, *, solvable: bool) -> Tables:
    """Draw 30 flights near the customer's wishes; with `solvable`, at least one flight meets all of them.

    Without `solvable` a flight may still meet them by chance. With probability 0.6 one of the flights is the customer's
    reservation.
    """
    airports = [wishes["origin"], wishes["destination"], AIRPORTS[int(rng.random() * len(AIRPORTS))]]
    chance = rng.random((TABLE_SIZE + 1, 10)).tolist()
    flights = [
        _draw_flight(FIRST_NUMBER + index, airports, wishes, u) for index, u in enumerate(chance[:TABLE_SIZE])
    ]
    last = chance[TABLE_SIZE]
    if solvable:
        index = int(last[0] * TABLE_SIZE)
        flights[index] = _make_solvable(flights[index], wishes, last)
    return Tables(
        tuple(flights), FIRST_NUMBER + int(last[1] * TABLE_SIZE) if last[2] < RESERVATION_SHARE else None
    )


def _draw_flight(number: int, airports: Sequence[str], wishes: Wishes, u: Sequence[float]) -> Flight:
    """A random flight with this number, computed from the ten uniform draws `u`.

    `airports`: the wanted origin, the wanted destination, and any airport.
    """
    origin = int(u[0] * 3)
    # Most flights are on the customer's route, near the customer's dates, as in the result of a search.
    route = airports[0:2] if u[1] < 0.6 else (airports[origin], airports[origin - 1])
    cabin = CABINS[u[4] > 0.7]
    low, high = FARES[cabin]
    return Flight(
        number,
        route[0],
        route[1],
        (wishes["leaves"] + int((2 * u[2] - 1) * (DATE_SPREAD + 1))) % YEAR,
        (wishes["returns"] + int((2 * u[3] - 1) * (DATE_SPREAD + 1))) % YEAR,
        int(u[5] * 24),
        int(u[6] * 24),
        cabin,
        low + 10 * int(u[7] * (high - low) / 10),
        0 if u[8] < 0.2 else 1 if u[8] < 0.9 else 2,
        AIRLINES[int(u[9] * len(AIRLINES))],
    )


def _make_solvable(flight: Flight, wishes: Wishes, u: Sequence[float]) -> Flight:
    """The flight, changed to meet every condition; its price is always drawn anew, within the budget.

    `u` are uniform draws; it uses the fourth and the fifth.
    """
    cabin = wishes.get("cabin") or (flight.cabin if wishes["price"] > FARES["business"][0] else "economy")
    low = FARES[cabin][0]
    hour = flight.hour if wishes.get("time") is None else FIRST_HOUR[wishes["time"]] + int(u[3] * 6)
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
