"""User goals in MultiWOZ's format: drawn from the tables, or parsed from a corpus.

A goal has for each domain `info` (constraints), `reqt` (slots to ask for), `book` (details of a booking) and
`fail_info` (constraints that the user states first, and replaces by `info` when no venue matches). A taxi without
`departure` and `destination` goes from one venue of the goal to the other. MultiWOZ's `fail_book` and `invalid`, about
bookings that fail at first, are ignored: bookings do not fail here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from turnwise.errors import DataError
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, LOG_NAME, TIMES, canonical, slot_of
from turnwise.worlds.task.tables import Row, Tables

# Shares of the combinations of domains in MultiWOZ's validation and test goals, to the nearest hundredth.
DOMAIN_MIXES: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.16, ("restaurant", "train")),
    (0.15, ("attraction", "train")),
    (0.15, ("hotel", "train")),
    (0.07, ("attraction", "restaurant")),
    (0.06, ("hotel",)),
    (0.06, ("restaurant",)),
    (0.06, ("attraction", "restaurant", "taxi")),
    (0.05, ("taxi",)),
    (0.05, ("hotel", "restaurant")),
    (0.05, ("attraction", "hotel")),
    (0.05, ("attraction", "hotel", "taxi")),
    (0.04, ("hotel", "restaurant", "taxi")),
    (0.03, ("train",)),
    (0.02, ("attraction",)),
)
CUMULATIVE_SHARES = np.cumsum([share for share, _ in DOMAIN_MIXES])
NAMED_SHARE = 0.2  # share of the goals that name the venue
FAIL_INFO_SHARE = 0.12  # share of the goals with `fail_info`
BOOKING_SHARE = 0.6  # share of the goals with a booking, where the domain has bookings
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
IGNORED = ("invalid", "pre_invalid")  # keys of `book` in MultiWOZ that are no slots


@dataclass(frozen=True, slots=True)
class Wish:
    """The goal in one domain: constraints (`info`), slots to ask for, and the details of a booking (None: no booking).

    `fail_info` has other values of constraints, which the user states first. Mappings are slot -> value in the user's
    spelling; `constraints` is `info` in canonical spelling, without `dontcare`.
    """

    domain: str
    info: Mapping[str, str]
    requests: tuple[str, ...] = ()
    book: Mapping[str, str] | None = None
    fail_info: Mapping[str, str] = field(default_factory=dict)  # slots of `info` with the values stated first
    constraints: Mapping[str, str] = field(init=False)  # `info` in canonical spelling, without `dontcare`

    def __post_init__(self) -> None:
        values = _canonical(self.info)
        object.__setattr__(self, "constraints", {s: v for s, v in values.items() if v != ANYTHING})

    def record(self) -> dict[str, Any]:
        """The wish in MultiWOZ's format, as a log stores it: `info`, and `reqt`, `book` and `fail_info` if it has them.

        `fail_info` is complete: it has the constraints of `info` too.
        """
        found: dict[str, Any] = {"info": _with_log_names(self.info)}
        if self.requests:
            found["reqt"] = [LOG_NAME.get(slot, slot) for slot in self.requests]
        if self.book is not None:
            found["book"] = dict(self.book)
        return found | (
            {"fail_info": _with_log_names({**self.info, **self.fail_info})} if self.fail_info else {}
        )


Goal = tuple[Wish, ...]  # in the order in which the user talks about them


def _with_log_names(slots: Mapping[str, str]) -> dict[str, str]:
    """The slots under the names that logs use."""
    return {LOG_NAME.get(slot, slot): value for slot, value in slots.items()}


def parse_goal(record: Mapping[str, Any], *, where: str = "the goal") -> Goal:
    """Parse a goal of a corpus in MultiWOZ's format; the taxi is put last. `where` is named in errors.

    Raises `DataError` for an empty goal, or a domain or slot that this world lacks: such a goal could not be met.
    """
    goal = []
    for name, part in record.items():
        domain = DOMAINS.get(name.lower())
        if domain is None:
            raise DataError(
                f"{where} has a domain `{name}` that the task world lacks; it has: {', '.join(DOMAINS)}"
            )
        if not isinstance(part, Mapping):
            raise DataError(f"{where}: domain `{name}` is not an object with `info`, `reqt` or `book`")
        info = _parse_slots(part.get("info") or {}, domain.informs, f"{where}: `info` of {name}")
        failing = _parse_slots(part.get("fail_info") or {}, domain.informs, f"{where}: `fail_info` of {name}")
        first = {s: v for s, v in failing.items() if s in info and canonical(s, v) != canonical(s, info[s])}
        if isinstance(listed := part.get("reqt") or (), str) or not isinstance(listed, Collection):
            raise DataError(f"{where}: `reqt` of {name} is not a list of slots")
        asked = dict.fromkeys(map(str, listed), "")
        requests = tuple(_parse_slots(asked, (*domain.requests, "reference"), f"{where}: `reqt` of {name}"))
        booking = part.get("book")
        details = None
        if booking is not None:
            details = _parse_slots(booking, domain.books, f"{where}: `book` of {name}", ignored=IGNORED)
        goal.append(Wish(domain.name, info, tuple(s for s in requests if s != "reference"), details, first))
    if not goal:
        raise DataError(f"{where} is empty: the user would want nothing")
    # The taxi comes last: it goes between venues that must have been found.
    return tuple(sorted(goal, key=lambda wish: wish.domain == "taxi"))


def drop_satisfiable_fail_info(goal: Goal, tables: Tables) -> Goal:
    """The goal without any `fail_info` that the tables can meet, because the user would accept what it finds.

    In domains without a table `fail_info` is always dropped.
    """
    return tuple(
        replace(wish, fail_info={})
        if wish.fail_info
        and (
            wish.domain not in tables.rows
            or tables.matching(wish.domain, _canonical({**wish.info, **wish.fail_info}))
        )
        else wish
        for wish in goal
    )


def _canonical(slots: Mapping[str, str]) -> dict[str, str]:
    """The slots with their values in canonical spelling."""
    return {slot: canonical(slot, value) for slot, value in slots.items()}


def _parse_slots(
    given: Any, known: Sequence[str], where: str, *, ignored: Collection[str] = ()
) -> dict[str, str]:
    """The slots of an object under their short names, without `ignored` ones; of a list the first value is taken.

    Values are in lower case. Raises `DataError` for a slot outside `known` and for anything that is no object.
    """
    if not isinstance(given, Mapping):
        raise DataError(f"{where} is not an object of slots")
    found = {}
    for name, value in given.items():
        if name in ignored:
            continue
        slot = slot_of(name)
        if slot not in known:
            raise DataError(
                f"{where} has a slot `{name}` that the task world lacks; it has: {', '.join(known)}"
            )
        first = value[0] if isinstance(value, list) and value else value
        found[slot] = str(first).lower().strip()
    return found


def draw_goal(tables: Tables, rng: np.random.Generator) -> Goal:
    """Draw a goal that the tables can meet, with the domains of one of `DOMAIN_MIXES`.

    They are in the listed order or, without a taxi, reversed with probability 1/2.
    """
    domains = DOMAIN_MIXES[
        int(np.searchsorted(CUMULATIVE_SHARES, rng.random() * CUMULATIVE_SHARES[-1], side="right"))
    ][1]
    order = list(domains)
    if order[-1] != "taxi" and len(order) > 1 and rng.random() < 0.5:
        order.reverse()
    return tuple(_draw_wish(domain, tables, rng, alone=len(domains) == 1) for domain in order)


def _draw_wish(domain: str, tables: Tables, rng: np.random.Generator, *, alone: bool) -> Wish:
    """Draw the goal in one domain; `alone`: the goal has no other domain."""
    if domain == "taxi":
        return _draw_taxi(tables, rng, alone=alone)
    row = _pick(tables.rows[domain], rng)
    books = bool(DOMAINS[domain].books) and rng.random() < BOOKING_SHARE
    info = _draw_train_info(row, rng) if domain == "train" else _draw_info(row, rng)
    unknown = [s for s in DOMAINS[domain].requests if s not in info and row.canon.get(s, "?") != "?"]
    most = min(len(unknown), 2 if books else 3)
    least = 0 if books else 1
    count = least + int(rng.random() * (most - least + 1))
    chosen = sorted(rng.permutation(len(unknown))[:count].tolist())
    details = {slot: _draw_booking_detail(slot, rng) for slot in DOMAINS[domain].books} if books else None
    return Wish(
        domain,
        info,
        tuple(unknown[index] for index in chosen),
        details,
        _draw_fail_info(domain, info, tables, rng),
    )


def _pick(options: Sequence[Any], rng: np.random.Generator) -> Any:
    """A random option."""
    return options[int(rng.random() * len(options))]


def _draw_info(row: Row, rng: np.random.Generator) -> dict[str, str]:
    """Draw constraints that a venue meets: its name, or two or three of its other known slots."""
    if rng.random() < NAMED_SHARE:
        return {"name": row.values["name"]}
    slots = [s for s in DOMAINS[row.domain].informs if s != "name" and row.canon.get(s, "?") != "?"]
    count = min(len(slots), 2 + int(rng.random() * 2))
    chosen = sorted(rng.permutation(len(slots))[:count].tolist())
    return {slots[index]: row.values[slots[index]].lower() for index in chosen}


def _draw_train_info(row: Row, rng: np.random.Generator) -> dict[str, str]:
    """Draw constraints that a train meets: route, day, and a time of departure or arrival."""
    info = {slot: row.values[slot].lower() for slot in ("departure", "destination", "day")}
    slot = TIMES[rng.random() < 0.6]
    hours, minutes = map(int, row.canon[slot].split(":")[:2])
    quarter = (hours * 60 + minutes) // 15 + (slot == "arriveby") * 2
    quarter = min(max(quarter, 0), 95)
    return info | {slot: f"{quarter // 4:02d}:{quarter % 4 * 15:02d}"}


def _draw_taxi(tables: Tables, rng: np.random.Generator, *, alone: bool) -> Wish:
    """Draw a wish for a taxi with a time; it names departure and destination only if `alone`."""
    slot = TIMES[rng.random() < 0.4]
    info = {slot: _draw_booking_detail("time", rng)}
    if alone:
        names = [
            row.values["name"].lower()
            for domain in ("restaurant", "attraction")
            for row in tables.rows[domain]
        ]
        first = int(rng.random() * len(names))
        second = (first + 1 + int(rng.random() * (len(names) - 1))) % len(names)
        info |= {"departure": names[first], "destination": names[second]}
    return Wish("taxi", info, ("phone", "type"))


def _draw_booking_detail(slot: str, rng: np.random.Generator) -> str:
    """Draw the value of a booking slot: a day, a time from 09:00 to 20:45, 1 to 8 people or 1 to 5 nights."""
    if slot == "day":
        return str(_pick(DAYS, rng))
    if slot == "time":
        return f"{9 + int(rng.random() * 12):02d}:{15 * int(rng.random() * 4):02d}"
    return str(1 + int(rng.random() * (8 if slot == "people" else 5)))


def _draw_fail_info(
    domain: str, info: Mapping[str, str], tables: Tables, rng: np.random.Generator
) -> dict[str, str]:
    """Draw one constraint of `info` with another value, with which no venue matches, as {slot: value}; usually empty.

    Always empty for trains, for a wish that names the venue, and if there is no such value.
    """
    if domain == "train" or "name" in info or rng.random() >= FAIL_INFO_SHARE:
        return {}
    slot = str(_pick(list(info), rng))
    others = [
        value.lower()
        for value in tables.values(domain, slot)
        if not tables.matching(domain, _canonical({**info, slot: value}))
    ]
    return {slot: str(_pick(others, rng))} if others else {}
