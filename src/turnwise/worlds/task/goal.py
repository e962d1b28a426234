"""What a user wants: drawn from the tables, or taken from a corpus, in MultiWOZ's shape.

By domain: `info` (what must hold), `reqt` (what is asked for), `book` (details of a booking), and `fail_info`,
what the user asks for first and gives up when there is no such thing. A taxi without `departure` and
`destination` goes from one of the goal's places to the other. What MultiWOZ says of bookings that fail at first
(`fail_book`, `invalid`) is passed over: bookings do not fail here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from turnwise.errors import DataError
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, SPELT, TIMES, canonical, slot_of
from turnwise.worlds.task.tables import Row, Tables

# Shares as in MultiWOZ's validation and test goals, to the nearest hundredth.
MIXES: tuple[tuple[float, tuple[str, ...]], ...] = (
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
SHARES = np.cumsum([share for share, _ in MIXES])
NAMED = 0.2  # goals that name the place
FAILS = 0.12  # goals that first ask for what there is not
BOOKED = 0.6
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
IGNORED = ("invalid", "pre_invalid")


@dataclass(frozen=True, slots=True)
class Wish:
    """The goal in one domain. Values are as the user says them."""

    domain: str
    info: Mapping[str, str]
    requests: tuple[str, ...] = ()
    book: Mapping[str, str] | None = None
    first: Mapping[str, str] = field(default_factory=dict)  # of `info`, what is asked for before it
    needs: Mapping[str, str] = field(init=False)  # `info` in one spelling

    def __post_init__(self) -> None:
        needs = _canonical(self.info)
        object.__setattr__(self, "needs", {s: v for s, v in needs.items() if v != ANYTHING})

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {"info": _spelt(self.info)}
        if self.requests:
            found["reqt"] = [SPELT.get(slot, slot) for slot in self.requests]
        if self.book is not None:
            found["book"] = dict(self.book)
        return found | ({"fail_info": _spelt({**self.info, **self.first})} if self.first else {})


Goal = tuple[Wish, ...]  # in the order in which the user goes through them


def _spelt(slots: Mapping[str, str]) -> dict[str, str]:
    return {SPELT.get(slot, slot): value for slot, value in slots.items()}


def parsed(record: Mapping[str, Any], *, where: str = "the goal") -> Goal:
    """A goal as a corpus has it. What this world does not know is an error: it could not be met."""
    goal = []
    for name, part in record.items():
        domain = DOMAINS.get(name.lower())
        if domain is None:
            raise DataError(
                f"{where} has a domain `{name}` that the task world lacks; it has: {', '.join(DOMAINS)}"
            )
        if not isinstance(part, Mapping):
            raise DataError(f"{where}: domain `{name}` is no object with `info`, `reqt` or `book`")
        info = _slots(part.get("info") or {}, domain.informs, f"{where}: `info` of {name}")
        failing = _slots(part.get("fail_info") or {}, domain.informs, f"{where}: `fail_info` of {name}")
        first = {s: v for s, v in failing.items() if s in info and canonical(s, v) != canonical(s, info[s])}
        if isinstance(listed := part.get("reqt") or (), str) or not isinstance(listed, Collection):
            raise DataError(f"{where}: `reqt` of {name} is no list of slots")
        asked = dict.fromkeys(map(str, listed), "")
        requests = tuple(_slots(asked, (*domain.requests, "reference"), f"{where}: `reqt` of {name}"))
        booking = part.get("book")
        details = None
        if booking is not None:
            details = _slots(booking, domain.books, f"{where}: `book` of {name}", ignored=IGNORED)
        goal.append(Wish(domain.name, info, tuple(s for s in requests if s != "reference"), details, first))
    if not goal:
        raise DataError(f"{where} is empty: there is nothing that a user could want")
    # A taxi goes between places that must have been found.
    return tuple(sorted(goal, key=lambda wish: wish.domain == "taxi"))


def settled(goal: Goal, tables: Tables) -> Goal:
    """The goal, asking first only for what these tables do not have: otherwise the user would be content with it."""
    return tuple(
        replace(wish, first={})
        if wish.first
        and (
            wish.domain not in tables.rows
            or tables.matching(wish.domain, _canonical({**wish.info, **wish.first}))
        )
        else wish
        for wish in goal
    )


def _canonical(slots: Mapping[str, str]) -> dict[str, str]:
    return {slot: canonical(slot, value) for slot, value in slots.items()}


def _slots(given: Any, known: Sequence[str], where: str, *, ignored: Collection[str] = ()) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise DataError(f"{where} is no object of slots")
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


def drawn(tables: Tables, rng: np.random.Generator) -> Goal:
    """A goal that the tables can meet."""
    domains = MIXES[int(np.searchsorted(SHARES, rng.random() * SHARES[-1], side="right"))][1]
    order = list(domains)
    if order[-1] != "taxi" and len(order) > 1 and rng.random() < 0.5:
        order.reverse()
    return tuple(_drawn(domain, tables, rng, alone=len(domains) == 1) for domain in order)


def _drawn(domain: str, tables: Tables, rng: np.random.Generator, *, alone: bool) -> Wish:
    if domain == "taxi":
        return _taxi(tables, rng, alone=alone)
    row = _one(tables.rows[domain], rng)
    books = bool(DOMAINS[domain].books) and rng.random() < BOOKED
    info = _journey(row, rng) if domain == "train" else _info(row, rng)
    unknown = [s for s in DOMAINS[domain].requests if s not in info and row.canon.get(s, "?") != "?"]
    most = min(len(unknown), 2 if books else 3)
    least = 0 if books else 1
    count = least + int(rng.random() * (most - least + 1))
    chosen = sorted(rng.permutation(len(unknown))[:count].tolist())
    details = {slot: _detail(slot, rng) for slot in DOMAINS[domain].books} if books else None
    return Wish(
        domain, info, tuple(unknown[place] for place in chosen), details, _first(domain, info, tables, rng)
    )


def _one(options: Sequence[Any], rng: np.random.Generator) -> Any:
    return options[int(rng.random() * len(options))]


def _info(row: Row, rng: np.random.Generator) -> dict[str, str]:
    if rng.random() < NAMED:
        return {"name": row.values["name"]}
    slots = [s for s in DOMAINS[row.domain].informs if s != "name" and row.canon.get(s, "?") != "?"]
    count = min(len(slots), 2 + int(rng.random() * 2))
    chosen = sorted(rng.permutation(len(slots))[:count].tolist())
    return {slots[place]: row.values[slots[place]].lower() for place in chosen}


def _journey(row: Row, rng: np.random.Generator) -> dict[str, str]:
    """A train by where, when, and the time by which it arrives or after which it leaves."""
    info = {slot: row.values[slot].lower() for slot in ("departure", "destination", "day")}
    slot = TIMES[rng.random() < 0.6]
    hours, minutes = map(int, row.canon[slot].split(":")[:2])
    quarter = (hours * 60 + minutes) // 15 + (slot == "arriveby") * 2
    quarter = min(max(quarter, 0), 95)
    return info | {slot: f"{quarter // 4:02d}:{quarter % 4 * 15:02d}"}


def _taxi(tables: Tables, rng: np.random.Generator, *, alone: bool) -> Wish:
    slot = TIMES[rng.random() < 0.4]
    info = {slot: _detail("time", rng)}
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


def _detail(slot: str, rng: np.random.Generator) -> str:
    if slot == "day":
        return str(_one(DAYS, rng))
    if slot == "time":
        return f"{9 + int(rng.random() * 12):02d}:{15 * int(rng.random() * 4):02d}"
    return str(1 + int(rng.random() * (8 if slot == "people" else 5)))


def _first(domain: str, info: Mapping[str, str], tables: Tables, rng: np.random.Generator) -> dict[str, str]:
    """Another value for one constraint, with which nothing is found."""
    if domain == "train" or "name" in info or rng.random() >= FAILS:
        return {}
    slot = str(_one(list(info), rng))
    others = [
        value.lower()
        for value in tables.values(domain, slot)
        if not tables.matching(domain, _canonical({**info, slot: value}))
    ]
    return {slot: str(_one(others, rng))} if others else {}
