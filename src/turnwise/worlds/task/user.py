"""The user: an agenda over its goal, domain after domain (after Schatzmann et al. 2007, as in ConvLab).

It says what it wants, answers what is asked, corrects what it hears wrong, asks for what it wants to know and has
things booked; it goes on to the next domain when it has all, and leaves when it has been let down too often. It
reads systems by words, so that any can be put before it, and is a pure function of its goal, the conversation
and chance, which only chooses between wordings. It never asks for what is not in its goal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from turnwise.types import Turn
from turnwise.worlds.task import wording
from turnwise.worlds.task.goal import Goal, Wish
from turnwise.worlds.task.hearing import Reading, heard, read
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, canonical, slot_of
from turnwise.worlds.task.tables import Row, Tables

T_MAX = 20  # replies of the system; ConvLab's 40 turns


@dataclass(slots=True)
class Progress:
    """How far the user has come in one domain."""

    wish: Wish
    told: dict[str, str] = field(default_factory=dict)  # in one spelling, what was said last
    row: Row | None = None  # the venue in hand
    answers: dict[str, str] = field(default_factory=dict)  # slot -> what the system told of it
    booked: Row | None = None  # the venue of the last booking
    details: dict[str, str] = field(default_factory=dict)  # that the system said of the booking
    ride: dict[str, str] = field(default_factory=dict)  # what it had understood when it told of a taxi
    confirmed: bool = False  # a reference was given
    failed: bool = False  # there is no such thing as was asked for first
    begun: bool = False
    news: bool = False  # the user has just said something that it had not said

    def wants(self, slot: str) -> str | None:
        """What to say of a slot at present; None where the user does not mind."""
        wish = self.wish
        if not self.failed and slot in wish.first:
            return wish.first[slot]
        if slot in wish.info:
            value = wish.info[slot]
            return None if canonical(slot, value) == ANYTHING else value
        return None if wish.book is None else wish.book.get(slot)

    def meant(self, slot: str) -> str | None:
        """In one spelling, what the goal says or, of a taxi between the goal's places, what the user said."""
        value = canonical(slot, self.wants(slot) or self.told.get(slot, ANYTHING))
        return None if value == ANYTHING else value

    def untold(self) -> list[str]:
        return [
            slot
            for slot in self.wish.info
            if self.told.get(slot) != canonical(slot, self.wants(slot) or ANYTHING)
        ]

    def misheard(self, reading: Reading) -> list[str]:
        """Slots of which the system says something else than what is wanted."""
        details = () if reading.reference else DOMAINS[self.wish.domain].books  # not yet settled
        return [
            slot
            for slot, value in reading.told.items()
            if slot not in details and (wanted := self.meant(slot)) and _differs(slot, value, wanted)
        ]

    def open_requests(self) -> list[str]:
        return [slot for slot in self.wish.requests if slot not in self.answers]

    @property
    def found(self) -> bool:
        return self.row is not None or self.wish.domain == "taxi"

    @property
    def done(self) -> bool:
        booked = self.wish.book is None or self.confirmed
        return self.found and not self.untold() and not self.open_requests() and booked


@dataclass(slots=True)
class Course:
    """A conversation so far, as the user sees it."""

    parts: list[Progress]
    at: int = 0  # the domain that is talked about
    strikes: int = 0
    reading: Reading | None = None  # of the system's last turn
    wrong: list[str] = field(default_factory=list)  # that was misheard in it
    last: str = ""  # what the user said last
    turns: list[Turn] = field(default_factory=list)  # that are taken in

    @property
    def part(self) -> Progress | None:
        return self.parts[self.at] if self.at < len(self.parts) else None


@dataclass(frozen=True, slots=True)
class User:
    goal: Goal
    tables: Tables
    patience: int = 3  # replies that do not help before the user leaves
    _known: list[Course] = field(default_factory=list, kw_only=True, repr=False, compare=False)

    def course(self, turns: Sequence[Turn]) -> Course:
        """What has happened, from the texts alone; `turns` begin with the user's first.

        A conversation that has only grown since it was last looked at is read on from there.
        """
        course = self._known[0] if self._known else None
        seen = [] if course is None else course.turns
        if (
            course is None
            or len(seen) > len(turns)
            or any(a is not b for a, b in zip(seen, turns[: len(seen)], strict=True))
        ):
            course = Course([Progress(wish) for wish in self.goal])
            self._known[:] = [course]
        for turn in turns[len(course.turns) :]:
            course.turns.append(turn)
            if turn.role == "user":
                self._spoke(course, turn.text)
            elif turn.role == "assistant":
                self._listened(course, turn)
        return course

    def _spoke(self, course: Course, text: str) -> None:
        course.last = text
        if (part := course.part) is not None:
            before = dict(part.told)
            part.told.update(heard(self.tables, text, part.wish.domain).informs)
            part.begun, part.news = True, part.told != before

    def _listened(self, course: Course, turn: Turn) -> None:
        part = course.part
        if part is None:
            return
        domain = part.wish.domain
        course.reading = reading = read(self.tables, turn.text, domain)
        course.wrong = part.misheard(reading)
        if not self._helped(part, reading) or course.wrong:
            course.strikes += 1
        if domain not in self.tables.rows and any(slot in reading.told for slot in DOMAINS[domain].requests):
            known = part.told if turn.state is None else turn.state.get(domain, {})
            part.ride = {
                (slot := slot_of(name)): canonical(slot, str(value)) for name, value in known.items()
            }
        if any(slot in DOMAINS[domain].informs for slot in course.wrong):
            part.row = None  # not what was asked for
            part.answers.clear()
        if part.done and not course.wrong:
            course.at += 1

    def _helped(self, part: Progress, reading: Reading) -> bool:
        """Take in what the system said; whether it brought the user any further."""
        wish = part.wish
        before = (part.row, len(part.answers), part.confirmed, part.failed, dict(part.details))
        part.row = reading.row(part.row)
        if part.row is not before[0]:
            part.answers.clear()  # they were of another venue
        told = dict(reading.told) | dict.fromkeys(reading.untold, "?")
        facts = DOMAINS[wish.domain]
        if part.found:
            part.answers |= {slot: value for slot, value in told.items() if slot in facts.requests}
        if reading.reference and wish.book is not None:
            part.booked, part.confirmed = part.row, True
            part.details = {slot: value for slot, value in told.items() if slot in facts.books}
        if "none" in reading.words and not reading.rows and wish.first:
            part.failed = True
        after = (part.row, len(part.answers), part.confirmed, part.failed, dict(part.details))
        useful = any(slot not in part.told for slot in reading.asked)
        return useful or after != before or (part.news and bool(reading.rows))

    def first_message(self, rng: np.random.Generator) -> str:
        return self._begins(Course([Progress(wish) for wish in self.goal]), rng)

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        """What the user says to the last of `turns`; None when it has left."""
        course = self.course(turns)
        if "bye" in heard(self.tables, course.last, None).words:
            return None
        replies = sum(turn.role == "assistant" for turn in turns)
        part = course.part
        if part is None:
            return wording.one(wording.DONE, rng)
        if course.strikes > self.patience or replies >= T_MAX - 1:
            return wording.one(wording.LEAVES, rng)
        return self._says(course, part, rng)

    def _says(self, course: Course, part: Progress, rng: np.random.Generator) -> str:
        reading = course.reading
        if not part.begun or reading is None:
            return self._begins(course, rng)
        if "again" in reading.words:
            return course.last
        if course.wrong:
            return _joined(wording.one(wording.CORRECTS, rng), self._tells(course, part, course.wrong, rng))
        if reading.asked:
            return self._answers(course, part, reading.asked, rng)
        untold = part.untold()
        if "none" in reading.words and part.failed and untold:
            return _joined(wording.one(wording.INSTEAD, rng), self._tells(course, part, untold, rng))
        if untold:
            return self._tells(course, part, untold[: 1 + (rng.random() < 0.5)], rng)
        opener = wording.one(wording.OPENERS, rng)
        if not part.found:
            slots = list(part.wish.info)
            return _joined(wording.one(wording.REPEATS, rng), self._tells(course, part, slots, rng))
        requests, book = part.open_requests(), part.wish.book
        if book is not None and not part.confirmed and not (requests and rng.random() < 0.5):
            if rng.random() < 0.3 and not part.told.keys() & book.keys():
                return wording.one(wording.BOOK_IT, rng)
            return _joined(opener, _books(part, rng))
        nouns = wording.listed([wording.noun(slot) for slot in requests])
        return _joined(opener, wording.one(wording.ASKS, rng).format(nouns))

    def _begins(self, course: Course, rng: np.random.Generator) -> str:
        """The first words on a domain, with some of the constraints."""
        part = course.parts[course.at]
        slots = {slot: value for slot in part.wish.info if (value := part.wants(slot)) is not None}
        if part.wish.domain == "taxi":
            slots |= _between(course)
            return wording.one(wording.MORE_TAXIS if course.at else wording.TAXIS, rng).format(
                wording.ride(slots)
            )
        count = max(1, min(len(slots), 1 + int(rng.random() * 3)))
        chosen = dict(list(slots.items())[:count])
        leads = wording.MORE if course.at else wording.LEADS
        said = wording.one(leads, rng).format(wording.wanted(part.wish.domain, chosen))
        return _joined(said, wording.one(wording.TAILS, rng))

    def _answers(self, course: Course, part: Progress, asked: Sequence[str], rng: np.random.Generator) -> str:
        slots = [_meant(part.wish, slot) for slot in asked]
        reminds = all(slot in part.told for slot in slots)
        said = self._tells(course, part, list(dict.fromkeys(slots)), rng)
        return _joined(wording.one(wording.REMINDS, rng), said) if reminds else said

    def _tells(self, course: Course, part: Progress, slots: Sequence[str], rng: np.random.Generator) -> str:
        between = _between(course) if part.wish.domain == "taxi" else {}
        return " ".join(wording.told(slot, part.wants(slot) or between.get(slot), rng) for slot in slots)


def _differs(slot: str, told: str, wanted: str) -> bool:
    """Whether what the system says is not what is wanted; a train may leave later and arrive earlier."""
    if slot == "leaveat":
        return told < wanted
    return told > wanted if slot == "arriveby" else told not in (wanted, ANYTHING)


def _meant(wish: Wish, slot: str) -> str:
    """Who is asked when to leave, and has to arrive by some time, says that."""
    other = slot == "leaveat" and slot not in wish.info and "arriveby" in wish.info
    return "arriveby" if other else slot


def _between(course: Course) -> dict[str, str]:
    """From one place of the goal to the other, for a taxi whose goal does not say."""
    names = [
        part.row.values["name"].lower() for part in course.parts if part.row and "name" in part.row.values
    ]
    info = course.parts[course.at].wish.info
    ends = ("departure", "destination")[: len(names)]
    return {slot: name for slot, name in zip(ends, names[: len(ends)], strict=True) if slot not in info}


def _books(part: Progress, rng: np.random.Generator) -> str:
    book = part.wish.book or {}
    details = {slot: wording.shown(slot, value) for slot, value in book.items()}
    if set(details) != set(DOMAINS[part.wish.domain].books):  # a goal that leaves details open
        return wording.one(wording.BOOK_IT, rng)
    tickets = f"{book.get('people')} ticket{'s' * (book.get('people') != '1')}"
    return wording.one(wording.BOOKS[part.wish.domain], rng).format(**details, tickets=tickets)


def _joined(*said: str) -> str:
    return " ".join(text for text in said if text)
