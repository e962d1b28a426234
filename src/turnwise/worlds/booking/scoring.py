"""The score of a decision, after AirDialogue (Wei et al. 2018): 0.2 name + 0.5 flight + 0.3 status.

The name score is the F1 of its words. The status score is 1 or 0. The flight score is 1 for a correct flight, and
otherwise 1 minus the distance to the nearest correct flight divided by the largest such distance in the table. It is
0 if a flight is named where none should be, or none where one should be.

The distance of two flights is the mean over twelve features, as in AirDialogue's released code: whether each
airport differs; differences of months / 12, days / 31, hours / 24 and connections / 2; whether the class differs;
the relative price difference, at most 1; and whether exactly one of the airlines is low-cost.
"""

from collections import Counter
from collections.abc import Mapping

from turnwise.worlds.booking.flights import CALENDAR, LOW_COST, Flight, Tables
from turnwise.worlds.booking.intent import Decision, Intent, correct_outcome

WEIGHTS = {"name": 0.2, "flight": 0.5, "status": 0.3}
DIMENSIONS = ("reward", *WEIGHTS)
DIGITS = 4  # decimals of a score in a log


def score(decision: Decision, intent: Intent, tables: Tables) -> Mapping[str, float]:
    """The scores of a decision by dimension (`DIMENSIONS`), each from 0 to 1, rounded to four decimals."""
    status, numbers = correct_outcome(intent, tables)
    parts = {
        "name": name_score(decision.name, intent.name),
        "flight": flight_score(decision.flight, numbers, tables),
        "status": float(decision.status == status),
    }
    reward = sum(WEIGHTS[part] * value for part, value in parts.items())
    return {"reward": round(reward, DIGITS)} | {part: round(value, DIGITS) for part, value in parts.items()}


def name_score(said: str, true: str) -> float:
    """F1 of the words of a stated name against the true one, ignoring case; 0 if they share none."""
    stated_words, true_words = said.lower().split(), true.lower().split()
    common = (Counter(stated_words) & Counter(true_words)).total()
    return 2 * common / (len(stated_words) + len(true_words)) if common else 0.0


def flight_score(number: int | None, numbers: frozenset[int], tables: Tables) -> float:
    """The score of naming flight `number` where any of `numbers` is correct: 1 for a correct one, less by its distance.

    0 if it names none or an unknown one; if `numbers` is empty, 1 for naming none and 0 otherwise.
    """
    if not numbers:
        return float(number is None)
    chosen = None if number is None else tables.flight(number)
    if chosen is None:
        return 0.0
    if chosen.number in numbers:
        return 1.0
    correct = [flight for flight in tables.flights if flight.number in numbers]
    largest = max(distance(one, other) for other in correct for one in tables.flights)
    return 1.0 - min(distance(chosen, other) for other in correct) / largest


def distance(one: Flight, other: Flight) -> float:
    """The distance of two flights, from 0 to 1: the mean of twelve features, as the module says."""
    (month, day), (month_back, day_back) = CALENDAR[one.leaves], CALENDAR[one.returns]
    (month_2, day_2), (month_back_2, day_back_2) = CALENDAR[other.leaves], CALENDAR[other.returns]
    low_price, high_price = sorted((one.price, other.price))
    total = (
        (one.origin != other.origin)
        + (one.destination != other.destination)
        + (abs(month - month_2) + abs(month_back - month_back_2)) / 12
        + (abs(day - day_2) + abs(day_back - day_back_2)) / 31
        + (abs(one.hour - other.hour) + abs(one.hour_back - other.hour_back)) / 24
        + (one.cabin != other.cabin)
        + min(1.0, (high_price - low_price) / low_price)
        + abs(one.stops - other.stops) / 2
        + ((one.airline in LOW_COST) != (other.airline in LOW_COST))
    )
    return total / 12
