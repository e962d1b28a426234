"""Booking dialogues as tokens for trained sellers and customers, with values replaced by the names of their slots.

A token is a word, a punctuation mark or a slot such as NAME or DATE; texts keep their case, so that they can be written
again. A seller cannot know whether a date is the departure. A customer can: in its tokens, values that are its own
have names of their own (LEAVES, RETURNS), so that it sees whether an offered flight leaves on its date.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from turnwise.types import Floats, Turn
from turnwise.worlds.booking.flights import AIRLINES, DATES, MONTHS, Flight, Tables, part_of_day
from turnwise.worlds.booking.intent import FIRST_NAMES, LAST_NAMES
from turnwise.worlds.booking.wording import VALUES

_NAME = rf"\b(?:{'|'.join(FIRST_NAMES)}) (?:{'|'.join(LAST_NAMES)})\b"
_DATE = rf"\b(?:{'|'.join(MONTHS)}) \d{{1,2}}\b"
_CABIN = r"\b(?:[Ee]conomy|[Bb]usiness|[Aa]ny)(?: class)\b|\b(?:economy|business)\b"
_STOPS = r"a direct flight|at most one connection|any number of connections"
_AIRLINE = rf"\b(?:{'|'.join(AIRLINES)})\b|\b[Aa]ny airline\b"
_TIME = r"in the (?:morning|afternoon|evening)|at any time"
# Slot -> pattern, in the order in which they are replaced.
SLOTS: Mapping[str, re.Pattern[str]] = {
    "NAME": re.compile(_NAME),
    "DATE": re.compile(_DATE),
    "PRICE": re.compile(r"\$\d+"),
    "NUMBER": re.compile(r"\b1\d{3}\b"),
    "CABIN": re.compile(_CABIN),
    "STOPS": re.compile(_STOPS),
    "AIRLINE": re.compile(_AIRLINE),
    "TIME": re.compile(_TIME),
    "AIRPORT": re.compile(r"\b[A-Z]{3}\b"),
}
_PIECES = re.compile(r"\w+|[^\w\s]")
_ALL_SLOTS = {*SLOTS, "CHEAPER", "DEARER"}
_SPACED = re.compile(r" ([.,!?:;'])")
FEATURES = 20  # of a flight, see `flight_features`


def seller_pieces(text: str) -> list[str]:
    """The tokens of a text as a seller sees it."""
    for slot, pattern in SLOTS.items():
        text = pattern.sub(f" {slot} ", text)
    return _PIECES.findall(text)


def own_values(goal: Mapping[str, Any]) -> dict[str, str]:
    """Slot -> the words with which a customer with this goal (`Intent.record`) states its value."""
    time = goal.get("time")
    return {
        "NAME": str(goal["name"]),
        "ORIGIN": str(goal["origin"]),
        "DESTINATION": str(goal["destination"]),
        "LEAVES": str(goal["leaves"]),
        "RETURNS": str(goal["returns"]),
        "PRICE": f"${goal['price']}",
        "CABIN": VALUES["cabin"][goal.get("cabin")],
        "STOPS": VALUES["stops"][goal.get("stops")],
        "AIRLINE": str(goal.get("airline") or "any airline"),
        "TIME": VALUES["time"][time],
    }


def customer_pieces(text: str, goal: Mapping[str, Any]) -> list[str]:
    """The tokens of a text as a customer with this goal sees it: its own values, and others as in `seller_pieces`.

    A price that is within its budget is CHEAPER, any other DEARER.
    """
    for slot, value in own_values(goal).items():
        pattern = re.escape(value)
        text = re.sub(
            rf"(?<!\w)(?i:{pattern[0]}){pattern[1:]}(?!\w)" if value[0].isalpha() else pattern,
            f" OWN{slot} ",
            text,
        )
    text = re.sub(
        r"\$(\d+)", lambda found: " CHEAPER " if int(found[1]) <= int(goal["price"]) else " DEARER ", text
    )
    return seller_pieces(text)


def written(pieces: Sequence[str], values: Mapping[str, str]) -> str:
    """The text of tokens with the values of slots filled in; a slot without a value is left out."""
    said = []
    for piece in pieces:
        word = values.get(piece, "" if piece.isupper() and piece in _ALL_SLOTS else piece)
        if word:
            said.append(word)
    text = _SPACED.sub(r"\1", " ".join(said))
    # A sentence begins with a capital letter, also where a value begins it.
    return re.sub(r"(^|[.!?] )([a-z])", lambda found: found[1] + found[2].upper(), text)


def goal_pieces(goal: Mapping[str, Any]) -> list[str]:
    """What a customer wants, as tokens: its goal, and whether it has each optional condition."""
    optional = ("cabin", "stops", "airline", "time")
    return [
        str(goal["goal"]),
        *(f"{slot}?{'yes' if goal.get(slot) is not None else 'no'}" for slot in optional),
    ]


def flight_features(tables: Tables, turns: Sequence[Turn]) -> Floats:
    """(31, FEATURES) for each flight, and last for the pseudo flight `none`, which of its values the customer said.

    Whether a value was said is looked up in the customer's words; what this means for the decision is learned.
    """
    said = " ".join(turn.text for turn in turns if turn.role == "user")
    airports = re.findall(r"\b[A-Z]{3}\b", said)
    dates = SLOTS["DATE"].findall(said)
    prices = [int(price) for price in re.findall(r"\$(\d+)", said)]
    lower = said.lower()
    heard = {
        "cabin": [cabin for cabin in ("economy", "business") if cabin in lower],
        "airline": [airline for airline in AIRLINES if re.search(rf"\b{airline}\b", said)],
        "time": [time for time in ("morning", "afternoon", "evening") if time in lower],
    }
    known = [float(bool(airports)), float(bool(dates)), float(bool(prices))]
    rows = [
        [*_matches(flight, airports, dates, prices, heard, lower), *known, flight.price / 1000, 0.0]
        for flight in tables.flights
    ]
    rows.append([0.0] * (FEATURES - 5) + [*known, 0.0, 1.0])
    return np.array(rows)


def _matches(
    flight: Flight,
    airports: Sequence[str],
    dates: Sequence[str],
    prices: Sequence[int],
    heard: Mapping[str, Sequence[str]],
    lower: str,
) -> list[float]:
    """1 for each value of the flight that was said (or condition that it breaks), else 0."""
    values = {"cabin": flight.cabin, "airline": flight.airline, "time": part_of_day(flight.hour)}
    direct, one = "direct flight" in lower, "one connection" in lower
    return [
        float(airports[:1] == [flight.origin]),
        float(airports[1:2] == [flight.destination]),
        float(flight.origin in airports),
        float(dates[:1] == [DATES[flight.leaves]]),
        float(dates[1:2] == [DATES[flight.returns]]),
        *(float(value in heard[slot]) for slot, value in values.items()),
        *(float(bool(heard[slot]) and value not in heard[slot]) for slot, value in values.items()),
        float(bool(prices) and flight.price <= prices[-1]),
        float(bool(prices) and flight.price > prices[-1]),
        float(direct and flight.stops > 0),
        float(one and flight.stops > 1),
    ]
