"""Dialogue-state tracking by rules, and by rules that mishear.

A conversation is remembered by its texts, so that sixteen systems that look at the same point track it once. What
a system mishears is its own, and it keeps to it: an error is drawn from the system's name, the conversation and
the turn, so that the same words in the same conversation are misheard in the same way at every later turn,
until the user says them anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from turnwise.types import Turn
from turnwise.worlds.task.hearing import Acts, heard, read
from turnwise.worlds.task.schema import DOMAINS, SPELT, canonical
from turnwise.worlds.task.tables import Row, Tables

State = dict[str, dict[str, str]]  # domain -> slot -> value, in one spelling
CHANCES = 1 << 32
NOTHING = Acts(None, {}, (), frozenset())


class Mention(NamedTuple):
    turn: int
    domain: str
    slot: str
    value: str


@dataclass(frozen=True, slots=True)
class History:
    """A conversation up to a user's turn."""

    mentions: tuple[Mention, ...]
    last: Acts
    rows: Mapping[str, Row]  # domain -> the venue that was last named
    booked: frozenset[str]

    @property
    def domain(self) -> str | None:
        return self.last.domain


class Tracker:
    """Remembers the conversations that it has been asked about."""

    def __init__(self, tables: Tables, *, size: int = 50_000) -> None:
        self.tables = tables
        self._size = size
        self._known: dict[tuple[str, ...], History] = {}

    def __call__(self, turns: Sequence[Turn]) -> History:
        return self.history(tuple([turn.text for turn in turns if turn.role in ("user", "assistant")]))

    def history(self, texts: tuple[str, ...]) -> History:
        """Of texts of user and system in turn, the last one the user's."""
        found = self._known.get(texts)
        if found is None:
            if len(self._known) >= self._size:
                self._known.clear()
            found = self._known[texts] = self._extended(texts)
        return found

    def _extended(self, texts: tuple[str, ...]) -> History:
        if len(texts) < 2:
            before = History((), NOTHING, {}, frozenset())
        else:
            before = self._answered(self.history(texts[:-2]), texts[-2])
        acts = heard(self.tables, texts[-1], before.domain)
        mentions = tuple(
            Mention(len(texts), acts.domain or "", slot, value) for slot, value in acts.informs.items()
        )
        return History(before.mentions + mentions, acts, before.rows, before.booked)

    def _answered(self, before: History, text: str) -> History:
        if before.domain is None:
            return before
        reading = read(self.tables, text, before.domain)
        row = reading.row(before.rows.get(before.domain))
        rows = before.rows if row is None else {**before.rows, before.domain: row}
        booked = before.booked | {before.domain} if reading.reference else before.booked
        return History(before.mentions, before.last, rows, booked)


def tracked(history: History) -> State:
    """What the user has said; what was said last stands."""
    state: State = {}
    for mention in history.mentions:
        state.setdefault(mention.domain, {})[mention.slot] = mention.value
    return state


def mistracked(history: History, tables: Tables, *, share: float, key: bytes) -> State:
    """As `tracked`, with so large a share of what was said lost or taken for something else."""
    state: State = {}
    for mention in history.mentions:
        drawn = crc32(f"{mention.turn}/{mention.domain}/{mention.slot}".encode(), crc32(key))
        chance, value = drawn / CHANCES, mention.value
        if chance < share / 2:
            continue
        if chance < share:
            values = plausible(tables, mention.domain, mention.slot)
            others = [one for text in values if (one := canonical(mention.slot, text)) != mention.value]
            if not others:
                continue
            value = others[crc32(b"instead", drawn) % len(others)]
        state.setdefault(mention.domain, {})[mention.slot] = value
    return state


def plausible(tables: Tables, domain: str, slot: str) -> Sequence[str]:
    """Values that a slot might have had."""
    if slot in ("people", "stay"):
        return tuple("12345678" if slot == "people" else "12345")
    if slot == "day":
        return ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    if slot in ("time", "leaveat", "arriveby"):
        return tuple(f"{hour:02d}:{quarter}" for hour in range(6, 22) for quarter in ("00", "15", "30", "45"))
    if domain == "taxi":
        return tables.values("attraction", "name")
    return tables.values(domain, slot)


def spelt(state: State) -> dict[str, dict[str, str]]:
    """The state as a log writes it: details of a booking as `book people` and the like."""
    found = {}
    for domain, slots in state.items():
        books = DOMAINS[domain].books
        found[domain] = {
            (f"book {slot}" if slot in books else SPELT.get(slot, slot)): value
            for slot, value in slots.items()
        }
    return found
