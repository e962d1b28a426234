"""How well a decision serves the customer: AirDialogue's score, .2 name + .5 flight + .3 status.

The name is the F1 of its words. The status is right or wrong. The flight is graded: 1 for one of the right
flights, else 1 less the distance to the nearest of them, as a share of the largest distance that the table
holds. A flight where there should be none, or none where there should be one, has 0.

The distance of two flights is the mean over twelve features, as in AirDialogue's released code: the airports
differ or not; months by 12, days by 31, hours by 24, connections by 2; the class differs or not; the price
by the share that the dearer is above the cheaper, at most 1; the airlines are low-cost both, neither, or not.
"""

from collections import Counter
from collections.abc import Mapping

from turnwise.worlds.booking.flights import CALENDAR, LOW_COST, Flight, Tables
from turnwise.worlds.booking.intent import Decision, Intent, right

WEIGHTS = {"name": 0.2, "flight": 0.5, "status": 0.3}
DIMENSIONS = ("reward", *WEIGHTS)
DIGITS = 4  # of a score in a log


def score(decision: Decision, wanted: Intent, tables: Tables) -> Mapping[str, float]:
    status, numbers = right(wanted, tables)
    parts = {
        "name": name_score(decision.name, wanted.name),
        "flight": flight_score(decision.flight, numbers, tables),
        "status": float(decision.status == status),
    }
    reward = sum(WEIGHTS[part] * value for part, value in parts.items())
    return {"reward": round(reward, DIGITS)} | {part: round(value, DIGITS) for part, value in parts.items()}


def name_score(said: str, true: str) -> float:
    """F1 of the words of a name."""
    ours, theirs = said.lower().split(), true.lower().split()
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0


def flight_score(number: int | None, numbers: frozenset[int], tables: Tables) -> float:
    if not numbers:
        return float(number is None)
    chosen = None if number is None else tables.flight(number)
    if chosen is None:
        return 0.0
    if chosen.number in numbers:
        return 1.0
    wanted = [flight for flight in tables.flights if flight.number in numbers]
    largest = max(distance(one, other) for other in wanted for one in tables.flights)
    return 1.0 - min(distance(chosen, other) for other in wanted) / largest


def distance(one: Flight, other: Flight) -> float:
    (month, day), (month_back, day_back) = CALENDAR[one.leaves], CALENDAR[one.returns]
    (month_2, day_2), (month_back_2, day_back_2) = CALENDAR[other.leaves], CALENDAR[other.returns]
    cheap, dear = sorted((one.price, other.price))
    total = (
        (one.origin != other.origin)
        + (one.destination != other.destination)
        + (abs(month - month_2) + abs(month_back - month_back_2)) / 12
        + (abs(day - day_2) + abs(day_back - day_back_2)) / 31
        + (abs(one.hour - other.hour) + abs(one.hour_back - other.hour_back)) / 24
        + (one.cabin != other.cabin)
        + min(1.0, (dear - cheap) / cheap)
        + abs(one.stops - other.stops) / 2
        + ((one.airline in LOW_COST) != (other.airline in LOW_COST))
    )
    return total / 12
