"""Lexicalisation: replaces the placeholders in a delexicalised reply with values, so that a user can read it.

`[restaurant_name]`, `[value_name]` and `[name]` are filled from the current venue (the last one named if it still
matches the user's constraints, otherwise the first match) and from the tracked state. A reference number exists once
all details of the booking are known. MultiWOZ writes `[value_count]`, `[value_time]` and `[value_place]` for every
number, time and place; the words around them decide which slot is meant. As in Lubis et al. 2022 (section 5.4), a
reply with a placeholder that cannot be filled is replaced by "I'm sorry, could you say that again?": the action is
masked, neither punished nor rewarded.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from turnwise.types import Agent, Reply, Turn
from turnwise.worlds.play import AnnotatedReply
from turnwise.worlds.task.lexicon import SLOT_OF_UNIT, TIME_CUES
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, LOG_NAME, Domain, placeholder_slot, tokenize
from turnwise.worlds.task.system_sentences import REPEAT_PLEASE
from turnwise.worlds.task.tables import CARS, UNKNOWN, Tables
from turnwise.worlds.task.tracking import State, Tracked, Tracker, belief_state, with_log_names
from turnwise.worlds.task.understanding import parse_system_turn, slot_in_domain
from turnwise.worlds.task.user_sentences import value_in_words

DELEXICALISED = "delexicalised"  # key in `extra` of a reply: its text with placeholders
PLACEHOLDER = re.compile(
    r"(\ba )?\[([^\[\]]+)\]"
)  # with its article, because `a` or `an` depends on the value
HELD = "held"  # slot: minutes for which a table is reserved; always 15 in MultiWOZ
_DESK = re.compile(
    r"(?:the )?\[value_place\] towninfo(?: \[value_area\])?"
)  # the name of the information desk in MultiWOZ
_FOLLOWS = re.compile(r" ([A-Za-z]+)")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@dataclass(frozen=True, slots=True)
class SlotValues:
    """The values for the placeholders of one reply, in one domain.

    `values` are those of the current venue and `known` the tracked state, both by slot; `code` identifies the dialogue,
    and `count` is the number of venues that match.
    """

    domain: str
    values: Mapping[str, str]  # values of the current venue; empty without one
    known: Mapping[str, str]  # the tracked state in this domain
    code: int  # code of the dialogue, from which numbers are generated
    count: int = 0  # venues that match the state

    def value(self, slot: str) -> str | None:
        """The value of a slot for a placeholder, or None if it is not known.

        Booking details come from the state first, other slots from the venue first; `dontcare` is no value. A booking's
        reference and the details of a taxi are generated from `code`.
        """
        facts = DOMAINS[self.domain]
        if slot == HELD:
            return "15"
        if slot == "reference":
            ready = all(detail in self.known for detail in facts.books)
            return reference(self.code, self.domain) if facts.books and self.values and ready else None
        if self.domain == "taxi" and slot in ("type", "phone"):
            return taxi_details(self.code)[slot]
        if slot == "count":
            return str(self.count) if self.count else None
        if slot in facts.books and self.known.get(slot, ANYTHING) != ANYTHING:
            return self.known[slot]
        if self.values.get(slot, UNKNOWN) != UNKNOWN:
            return self.values[slot]
        said = self.known.get(slot, ANYTHING)
        return None if said == ANYTHING else said


def reference(code: int, domain: str) -> str:
    """The reference number of a booking: eight characters, fixed by the dialogue's code and the domain."""
    number = crc32(domain.encode(), code)
    letters = "".join(_LETTERS[number >> 5 * index & 31] for index in range(6))
    return f"{_LETTERS[number % 24]}{letters}{2 + number % 8}"


def taxi_details(code: int) -> dict[str, str]:
    """The car (`type`) and the `phone` number of a taxi, fixed by the dialogue's code."""
    number = crc32(b"taxi", code)
    return {"type": CARS[number % len(CARS)], "phone": f"07{number % 10**9:09d}"}


def fill_placeholders(
    text: str, sources: Mapping[str, SlotValues], current: str
) -> tuple[str, list[list[str]]] | None:
    """The text with values, and its dialogue acts as [act, slot, value]; None if a placeholder cannot be filled.

    `sources` has the values by domain; placeholders without a domain are of the domain `current`.
    """
    text = _DESK.sub("the information desk", text)
    acts: list[list[str]] = []
    missing = False

    def fill(found: re.Match[str]) -> str:
        """The value of one placeholder, and its act is recorded.

        Without a value the placeholder itself, recorded as missing.
        """
        nonlocal missing
        follows = _FOLLOWS.match(text, found.end())
        after = follows[1].lower() if follows else ""
        domain, slot = parse_placeholder(found[2], current, before=text[: found.start()], after=after)
        value = sources[domain].value(slot) if domain in sources else None
        if value is None:
            missing = True
            return found[0]
        acts.append([f"{domain.capitalize()}-Inform", LOG_NAME.get(slot, slot), value])
        article = "" if found[1] is None else "an " if value[0] in "aeiou" else "a "
        return article + (_without_unit(value) if after in SLOT_OF_UNIT else value_in_words(slot, value))

    surface = PLACEHOLDER.sub(fill, text)
    return None if missing else (surface[:1].upper() + surface[1:], acts)


def parse_placeholder(inside: str, current: str, *, before: str = "", after: str = "") -> tuple[str, str]:
    """The domain and the slot of a placeholder such as `restaurant_name`, `value_name` or `name`.

    Without a domain of its own the placeholder is of the domain `current`. `before` is the text before it, `after` the
    word after it; they tell which number, time or place is meant.
    """
    domain, bar, slot = inside.lower().strip().partition("_")
    if not (bar and domain in DOMAINS):
        domain, slot = current, slot if bar and domain == "value" else inside
    if domain not in DOMAINS:
        return domain, placeholder_slot(slot)
    facts = DOMAINS[domain]
    return domain, slot_in_domain(facts, _resolve_slot(placeholder_slot(slot), facts, before, after))


def _resolve_slot(slot: str, facts: Domain, before: str, after: str) -> str:
    """The slot that a `count`, `time` or `place` means, by the words around it; other slots unchanged.

    `before` is the text before the placeholder, `after` the word after it. Without a cue a `place` is the destination,
    and `count` and `time` stay.
    """
    if slot not in ("count", "time", "place"):
        return slot
    said = tokenize(before.rpartition(". ")[2])
    last = said[-1] if said else ""
    if slot == "count":
        people = "people" in facts.books and last in ("for", "of")
        meant = SLOT_OF_UNIT.get(after, "people" if people else slot)
        return HELD if meant == "duration" and meant not in facts.requests else meant
    if slot == "place":
        return "departure" if last == "from" or TIME_CUES.get(last) == "leaveat" else "destination"
    cue = next((TIME_CUES[word] for word in reversed(said) if word in TIME_CUES), slot)
    return cue if cue in facts.informs else slot


def _without_unit(value: str) -> str:
    """A value without its unit, for a text that has the unit already: `50` of `50 minutes`."""
    number = re.match(r"£?\d+(?:\.\d+)?(?= |$)", value)
    return number[0] if number else value


def dialogue_code(turns: Sequence[Turn]) -> int:
    """A number that identifies the dialogue: the CRC-32 of the text of its first turn."""
    return crc32(turns[0].text.encode())


@dataclass(frozen=True, slots=True)
class LexicalisingAgent:
    """An agent wrapper that fills the placeholders in replies, with a state tracked by rules.

    Replies that are annotated already are not changed.
    """

    agent: Agent
    tracker: Tracker

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> AnnotatedReply:
        reply = self.agent(turns, rng)
        if isinstance(reply, AnnotatedReply):
            return reply
        return lexicalise(reply, self.tracker(turns), self.tracker.tables, code=dialogue_code(turns))


class AnnotatedAgent(Protocol):
    """An agent whose replies have state and acts, and no placeholders."""

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> AnnotatedReply: ...


@dataclass(frozen=True, slots=True)
class DelexicalisingAgent:
    """An agent wrapper that returns replies with their placeholders, for delexicalised logs."""

    agent: AnnotatedAgent

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        reply = self.agent(turns, rng)
        return Reply(reply.extra.get(DELEXICALISED, reply.content))


def lexicalise(reply: Reply, tracked: Tracked, tables: Tables, *, code: int) -> AnnotatedReply:
    """The reply with its placeholders filled, and with state and acts; `code` is that of the dialogue.

    If a placeholder cannot be filled, or the user has named no domain yet, the reply asks the user to say it again.
    Without placeholders the text is unchanged.
    """
    state = belief_state(tracked)
    current = tracked.domain
    text = reply.content
    extra: dict[str, Any] = {}
    if PLACEHOLDER.search(text):
        filled_in = (
            None
            if current is None
            else fill_placeholders(text, _values_by_domain(tracked, state, tables, code), current)
        )
        extra = {DELEXICALISED: text if filled_in else REPEAT_PLEASE}
        surface, acts = filled_in or (REPEAT_PLEASE, [])
    else:
        surface, acts = text, _acts_in_text(text, current, tables)
    return AnnotatedReply(surface, state=with_log_names(state), acts=tuple(acts), extra=extra)


def _values_by_domain(tracked: Tracked, state: State, tables: Tables, code: int) -> dict[str, SlotValues]:
    """The values by domain, for every domain that the user has mentioned and for domains without a table."""
    found = {}
    for domain in DOMAINS:
        known = state.get(domain, {})
        if domain not in tables.rows:
            found[domain] = SlotValues(domain, {}, known, code)
            continue
        if not known:  # the user has not mentioned the domain: any venue would be arbitrary
            continue
        rows = tables.matching(domain, known)
        row = tracked.rows.get(domain)
        chosen = row if row in rows else (rows[0] if rows else None)
        found[domain] = SlotValues(domain, chosen.values if chosen else {}, known, code, len(rows))
    return found


def _acts_in_text(text: str, domain: str | None, tables: Tables) -> list[list[str]]:
    """The acts of a text without placeholders, as the parser understands it in `domain`; empty without a domain."""
    if domain is None:
        return []
    system_acts = parse_system_turn(tables, text, domain)
    informs = dict(system_acts.informed) | (
        {"reference": system_acts.reference} if system_acts.reference else {}
    )
    return [
        [f"{domain.capitalize()}-Inform", LOG_NAME.get(slot, slot), value] for slot, value in informs.items()
    ]
