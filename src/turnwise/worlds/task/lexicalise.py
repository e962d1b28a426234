"""Placeholders to values: how a delexicalised policy meets a user.

`[restaurant_name]`, `[value_name]` and `[name]` are filled from the venue in hand (the one last named where it
still meets what the user said, else the first that does), from the tracked state, and for a reference number
from the booking, once all of its details are known. `[value_count]`, `[value_time]` and `[value_place]`, which
MultiWOZ's corpus writes for everything of their kind, mean what the words around them say. As in Lubis et al. 2022
(section 5.4), a reply of which a placeholder cannot be filled is replaced by "I'm sorry, could you say that again?":
the action is masked, neither punished nor rewarded.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from turnwise.types import Agent, Reply, Turn
from turnwise.worlds.play import AnnotatedReply
from turnwise.worlds.task.hearing import read, within
from turnwise.worlds.task.lexicon import CUES, UNIT
from turnwise.worlds.task.replies import AGAIN
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, SPELT, Domain, placeholder_slot, words
from turnwise.worlds.task.tables import CARS, UNKNOWN, Tables
from turnwise.worlds.task.tracking import History, State, Tracker, spelt, tracked
from turnwise.worlds.task.wording import shown

DELEXICALISED = "delexicalised"  # beside a reply, what its policy wrote
PLACEHOLDER = re.compile(r"(\ba )?\[([^\[\]]+)\]")  # with its article, which the value decides
HELD = "held"  # minutes for which a table is kept: 15, wherever MultiWOZ says it
_DESK = re.compile(
    r"(?:the )?\[value_place\] towninfo(?: \[value_area\])?"
)  # what MultiWOZ's systems call themselves
_FOLLOWS = re.compile(r" ([A-Za-z]+)")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@dataclass(frozen=True, slots=True)
class Source:
    """From which the placeholders of one reply are filled."""

    domain: str
    values: Mapping[str, str]  # of the venue in hand; empty without one
    known: Mapping[str, str]  # what the user said in this domain
    code: int  # of the conversation
    count: int = 0  # venues that meet what the user said

    def value(self, slot: str) -> str | None:
        facts = DOMAINS[self.domain]
        if slot == HELD:
            return "15"
        if slot == "reference":
            ready = all(detail in self.known for detail in facts.books)
            return reference(self.code, self.domain) if facts.books and self.values and ready else None
        if self.domain == "taxi" and slot in ("type", "phone"):
            return ride(self.code)[slot]
        if slot == "count":
            return str(self.count) if self.count else None
        if slot in facts.books and self.known.get(slot, ANYTHING) != ANYTHING:
            return self.known[slot]
        if self.values.get(slot, UNKNOWN) != UNKNOWN:
            return self.values[slot]
        said = self.known.get(slot, ANYTHING)
        return None if said == ANYTHING else said


def reference(code: int, domain: str) -> str:
    """The number of a booking: eight letters and digits, of both some."""
    number = crc32(domain.encode(), code)
    letters = "".join(_LETTERS[number >> 5 * place & 31] for place in range(6))
    return f"{_LETTERS[number % 24]}{letters}{2 + number % 8}"


def ride(code: int) -> dict[str, str]:
    number = crc32(b"taxi", code)
    return {"type": CARS[number % len(CARS)], "phone": f"07{number % 10**9:09d}"}


def filled(text: str, sources: Mapping[str, Source], current: str) -> tuple[str, list[list[str]]] | None:
    """The text with values, and what it thereby tells; None where a placeholder cannot be filled."""
    text = _DESK.sub("the information desk", text)
    acts: list[list[str]] = []
    missing = False

    def fill(found: re.Match[str]) -> str:
        nonlocal missing
        follows = _FOLLOWS.match(text, found.end())
        after = follows[1].lower() if follows else ""
        domain, slot = placed(found[2], current, before=text[: found.start()], after=after)
        value = sources[domain].value(slot) if domain in sources else None
        if value is None:
            missing = True
            return found[0]
        acts.append([f"{domain.capitalize()}-Inform", SPELT.get(slot, slot), value])
        article = "" if found[1] is None else "an " if value[0] in "aeiou" else "a "
        return article + (_bare(value) if after in UNIT else shown(slot, value))

    surface = PLACEHOLDER.sub(fill, text)
    return None if missing else (surface[:1].upper() + surface[1:], acts)


def placed(inside: str, current: str, *, before: str = "", after: str = "") -> tuple[str, str]:
    """`restaurant_name`, `value_name`, `name` -> the domain, else the current one, and the slot."""
    domain, bar, slot = inside.lower().strip().partition("_")
    if not (bar and domain in DOMAINS):
        domain, slot = current, slot if bar and domain == "value" else inside
    if domain not in DOMAINS:
        return domain, placeholder_slot(slot)
    facts = DOMAINS[domain]
    return domain, within(facts, _meant(placeholder_slot(slot), facts, before, after))


def _meant(slot: str, facts: Domain, before: str, after: str) -> str:
    """What a number, a time or a place stands for, by the words around it: `from [value_place] to [value_place]`."""
    if slot not in ("count", "time", "place"):
        return slot
    said = words(before.rpartition(". ")[2])
    last = said[-1] if said else ""
    if slot == "count":
        people = "people" in facts.books and last in ("for", "of")
        meant = UNIT.get(after, "people" if people else slot)
        return HELD if meant == "duration" and meant not in facts.requests else meant
    if slot == "place":
        return "departure" if last == "from" or CUES.get(last) == "leaveat" else "destination"
    cue = next((CUES[word] for word in reversed(said) if word in CUES), slot)
    return cue if cue in facts.informs else slot


def _bare(value: str) -> str:
    """The number of a value whose unit the text has already: `50` of `50 minutes`."""
    number = re.match(r"£?\d+(?:\.\d+)?(?= |$)", value)
    return number[0] if number else value


def code_of(turns: Sequence[Turn]) -> int:
    """A number of the conversation, by its first turn."""
    return crc32(turns[0].text.encode())


@dataclass(frozen=True, slots=True)
class Lexicalised:
    """Any agent, as the user meets it: with values for placeholders, tracked by rules."""

    agent: Agent
    tracker: Tracker

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> AnnotatedReply:
        reply = self.agent(turns, rng)
        if isinstance(reply, AnnotatedReply):
            return reply
        return lexicalised(reply, self.tracker(turns), self.tracker.tables, code=code_of(turns))


class Met(Protocol):
    """An agent as the user meets it."""

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> AnnotatedReply: ...


@dataclass(frozen=True, slots=True)
class Placeholders:
    """An agent whose replies stand in a log as its policy wrote them."""

    agent: Met

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        answer = self.agent(turns, rng)
        return Reply(answer.extra.get(DELEXICALISED, answer.content))


def lexicalised(reply: Reply, history: History, tables: Tables, *, code: int) -> AnnotatedReply:
    state = tracked(history)
    current = history.domain
    text = reply.content
    extra: dict[str, Any] = {}
    if PLACEHOLDER.search(text):
        made = None if current is None else filled(text, _sources(history, state, tables, code), current)
        extra = {DELEXICALISED: text if made else AGAIN}
        surface, acts = made or (AGAIN, [])
    else:
        surface, acts = text, _acts(text, current, tables)
    return AnnotatedReply(surface, state=spelt(state), acts=tuple(acts), extra=extra)


def _sources(history: History, state: State, tables: Tables, code: int) -> dict[str, Source]:
    found = {}
    for domain in DOMAINS:
        known = state.get(domain, {})
        if domain not in tables.rows:
            found[domain] = Source(domain, {}, known, code)
            continue
        if not known:  # nothing was said of it: whatever was found would be made up
            continue
        rows = tables.matching(domain, known)
        row = history.rows.get(domain)
        chosen = row if row in rows else (rows[0] if rows else None)
        found[domain] = Source(domain, chosen.values if chosen else {}, known, code, len(rows))
    return found


def _acts(text: str, domain: str | None, tables: Tables) -> list[list[str]]:
    """What surface text tells, as its reader understands it."""
    if domain is None:
        return []
    reading = read(tables, text, domain)
    told = dict(reading.told) | ({"reference": reading.reference} if reading.reference else {})
    return [[f"{domain.capitalize()}-Inform", SPELT.get(slot, slot), value] for slot, value in told.items()]
