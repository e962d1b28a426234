"""How well a conversation served the goal, judged by the tables and not by what the user believes.

After ConvLab, and Lubis et al. 2022 (section 5.4): *complete*, the user got something for all that it wanted, right
or wrong; *success*, and all of it is right: the venues meet the goal, what was told is true of them, what was
booked is the right venue with the right details, a taxi goes where and when it should; *book*, the share of the
wished bookings that are right; *f1*, of the things told against the things asked for; *turns*, of both sides
together. Beside these *inform*, whether the venues in hand and the taxi's ride meet the goal. A system need not say
where it sends a taxi: its ride is what its state held as it told of the car. What a goal does not wish for has no
score: `book` without a booking is NaN.
"""

from collections.abc import Mapping, Sequence

from turnwise.types import Scores
from turnwise.worlds.task.schema import DOMAINS, canonical
from turnwise.worlds.task.tables import UNKNOWN, Tables
from turnwise.worlds.task.user import Progress

DIMENSIONS = ("success", "inform", "complete", "book", "f1", "turns")
NAN = float("nan")
# What is only told where somebody asks: an offer describes a venue by the rest.
CONTACT = frozenset({"phone", "address", "postcode", "fee", "duration", "price"})


def score(parts: Sequence[Progress], tables: Tables, *, turns: int) -> Scores:
    complete = [_complete(part) for part in parts]
    informed = [_informed(part, tables) for part in parts]
    asked, right, told = (sum(counts) for counts in zip(*map(_told, parts), strict=True))
    bookings = [_booked(part, tables) for part in parts if part.wish.book is not None]
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
    return part.found and not part.open_requests() and (part.wish.book is None or part.confirmed)


def _informed(part: Progress, tables: Tables) -> bool:
    if part.wish.domain not in tables.rows:  # there is no venue to judge, but what it was booked for
        wanted = {slot: part.meant(slot) for slot in DOMAINS[part.wish.domain].informs}
        return all(value in (None, part.ride.get(slot)) for slot, value in wanted.items())
    return part.row is not None and part.row in tables.matching(part.wish.domain, part.wish.needs)


def _booked(part: Progress, tables: Tables) -> bool:
    """A booking of a venue that meets the goal, of which nothing was said that the user did not want."""
    if part.booked is None or part.booked not in tables.matching(part.wish.domain, part.wish.needs):
        return False
    wanted: Mapping[str, str] = part.wish.book or {}
    return all(canonical(slot, wanted.get(slot, value)) == value for slot, value in part.details.items())


def _told(part: Progress) -> tuple[int, int, int]:
    """Things asked for, those of them told rightly, and things told that are told only on request."""
    requests = part.wish.requests
    right = sum(slot in part.answers and _true(part, slot) for slot in requests)
    told = sum(slot in requests or slot in CONTACT for slot in part.answers)
    return len(requests), right, told


def _true(part: Progress, slot: str) -> bool:
    """Whether what was told is so of the venue in hand; of a taxi nobody knows better."""
    if part.row is None:
        return part.wish.domain == "taxi"
    return part.answers[slot] == part.row.canon.get(slot, UNKNOWN)
