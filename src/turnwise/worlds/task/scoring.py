"""Scores of a finished dialogue against the user's goal, computed from the tables.

After ConvLab, and Lubis et al. 2022 (section 5.4):

* *complete*: the user got a venue, an answer or a booking for everything in its goal, correct or not.
* *success*: complete, and everything is correct: venues match the goal, answers are true of them, bookings are of the
  right venue with the right details, and taxis go where and when they should.
* *book*: the share of the goal's bookings that are correct; NaN without a booking in the goal.
* *f1*: of the slots told against the slots asked for; NaN without a request in the goal.
* *turns*: of both speakers together.
* *inform*: the final venues and the taxi's route match the goal. A system need not say where it sends a taxi: its
  route is the system's state at the turn in which it names the car.
"""

from collections.abc import Mapping, Sequence

from turnwise.types import DimensionScores
from turnwise.worlds.task.schema import DOMAINS, canonical
from turnwise.worlds.task.tables import UNKNOWN, Tables
from turnwise.worlds.task.user import Progress

DIMENSIONS = ("success", "inform", "complete", "book", "f1", "turns")
NAN = float("nan")
# Slots that a system tells only on request; offers mention the others.
TOLD_ON_REQUEST = frozenset({"phone", "address", "postcode", "fee", "duration", "price"})


def score(parts: Sequence[Progress], tables: Tables, *, turns: int) -> DimensionScores:
    """The scores by dimension (`DIMENSIONS`) of the user's final progress; `turns` are those of both speakers."""
    complete = [_complete(part) for part in parts]
    informed = [_matches_goal(part, tables) for part in parts]
    asked, right, told = (sum(counts) for counts in zip(*map(_count_answers, parts), strict=True))
    bookings = [_booked_correctly(part, tables) for part in parts if part.wish.book is not None]
    success = all(complete) and all(informed) and right == asked and all(bookings)
    return {
        "success": float(success),
        "inform": float(all(informed)),
        "complete": float(all(complete)),
        "book": sum(bookings) / len(bookings) if bookings else NAN,
        "f1": 2 * right / (asked + told) if asked else NAN,
        "turns": float(turns),
    }


def _complete(part: Progress) -> bool:
    """Whether the user got everything it wanted in a domain, correct or not."""
    return part.found and not part.open_requests() and (part.wish.book is None or part.confirmed)


def _matches_goal(part: Progress, tables: Tables) -> bool:
    """Whether the venue, or the taxi's route, matches the goal."""
    if part.wish.domain not in tables.rows:  # a taxi: no venue, but a route
        wanted = {slot: part.wanted_value(slot) for slot in DOMAINS[part.wish.domain].informs}
        return all(value in (None, part.taxi_state.get(slot)) for slot, value in wanted.items())
    return part.row is not None and part.row in tables.matching(part.wish.domain, part.wish.constraints)


def _booked_correctly(part: Progress, tables: Tables) -> bool:
    """Whether a booking was confirmed for a venue that matches the goal, without a wrong detail.

    Details that the system did not repeat are not checked.
    """
    if part.booked is None or part.booked not in tables.matching(part.wish.domain, part.wish.constraints):
        return False
    wanted: Mapping[str, str] = part.wish.book or {}
    return all(canonical(slot, wanted.get(slot, value)) == value for slot, value in part.details.items())


def _count_answers(part: Progress) -> tuple[int, int, int]:
    """Counts of slots: asked for by the goal; of these, told correctly; told at all.

    Slots that the goal does not ask for count as told only if they are among `TOLD_ON_REQUEST`.
    """
    requests = part.wish.requests
    right = sum(slot in part.answers and _is_true(part, slot) for slot in requests)
    told = sum(slot in requests or slot in TOLD_ON_REQUEST for slot in part.answers)
    return len(requests), right, told


def _is_true(part: Progress, slot: str) -> bool:
    """Whether an answer is true of the current venue; false without a venue, but always true for taxis."""
    if part.row is None:
        return part.wish.domain == "taxi"
    return part.answers[slot] == part.row.canon.get(slot, UNKNOWN)
