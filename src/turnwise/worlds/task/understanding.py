"""Parsing of turns in a domain: the acts of users; the offers, answers and questions of systems."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from turnwise.worlds.task.lexicon import CACHE_SIZE, DOMAIN, KEYWORD, SLOT_NAME, UNKNOWN_SLOT, Match
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, Domain
from turnwise.worlds.task.tables import Row, Tables


@dataclass(frozen=True, slots=True)
class UserActs:
    """The meaning of a user's turn: domain, slots with values that it states, slots that it asks for, and keywords."""

    domain: str | None
    informs: Mapping[str, str]  # constraints and booking details, in canonical spelling
    requests: tuple[str, ...]  # slots that the user asks for
    keywords: frozenset[str]  # those of book, bye, yes and no that occur


@dataclass(frozen=True, slots=True)
class SystemActs:
    """The meaning of a system's turn: the venues of the last name in it, and the slots with the values that it states.

    Also slots whose value it says it does not know, slots that it asks for, keywords, and the reference number of a
    booking.
    """

    rows: tuple[Row, ...]  # venues of the last name in it; several if they share the name
    informed: Mapping[str, str]  # slots and values that it states
    unknown: frozenset[str]  # slots whose value it says it does not know
    asked: tuple[str, ...]  # slots that it asks for
    keywords: frozenset[str]  # those of none, booked, again and bye that occur
    reference: str | None  # reference number of a booking

    def row(self, before: Row | None) -> Row | None:
        """The venue under discussion after this turn: `before`, which may be None, if it names none.

        Among venues of the same name it is the one that the turn describes best.
        """
        if len(self.rows) < 2:
            return self.rows[0] if self.rows else before
        return max(
            self.rows,
            key=lambda row: (sum(row.canon.get(s) == v for s, v in self.informed.items()), row is before),
        )


@lru_cache(maxsize=CACHE_SIZE)
def parse_user_turn(tables: Tables, text: str, before: str | None) -> UserActs:
    """Parse a user's turn; `before` is the domain of the dialogue before it, and stays if the turn names none.

    Without any domain only keywords are recognised.
    """
    found = [one for sentence in tables.lexicon.parse(text) for one in sentence.found]
    domain = next((one.value for one in found if one.kind == DOMAIN), before)
    keywords = frozenset(one.value for one in found if one.kind == KEYWORD)
    if domain is None:
        return UserActs(None, {}, (), keywords)
    facts = DOMAINS[domain]
    known = (*facts.informs, *facts.books)
    informs: dict[str, str] = {}
    for slot, value in _slot_values(found, facts):
        if slot in known and (slot != "name" or value == ANYTHING or tables.is_known_name(domain, value)):
            informs[slot] = value
    requests = dict.fromkeys(slot for slot in _named_slots(found, facts) if slot in facts.requests)
    return UserActs(domain, informs, tuple(requests), keywords)


@lru_cache(maxsize=CACHE_SIZE)
def parse_system_turn(tables: Tables, text: str, domain: str) -> SystemActs:
    """Parse a system's turn in a dialogue about `domain`.

    Values in its questions do not count as stated, but a venue that is named there is found.
    """
    facts = DOMAINS[domain]
    rows: tuple[Row, ...] = ()
    reference = None
    informed: dict[str, str] = {}
    asked: dict[str, None] = {}
    unknown, keywords = set(), set()
    for sentence in tables.lexicon.parse(text):
        for slot, value in _slot_values(sentence.found, facts):
            if slot == facts.offer:
                rows = tables.rows_named(domain, value) or rows
            if not sentence.question:
                informed[slot] = value
        for kind, value in sentence.found:
            if kind == KEYWORD:
                keywords.add(value)
            elif kind == UNKNOWN_SLOT:
                unknown.add(value)
            elif kind == "reference":
                reference = value
        if sentence.question:
            asked |= dict.fromkeys(_named_slots(sentence.found, facts))
    answers = tuple(slot for slot in asked if slot in facts.informs or slot in facts.books)
    return SystemActs(rows, informed, frozenset(unknown), answers, frozenset(keywords), reference)


def _slot_values(found: list[Match] | tuple[Match, ...], facts: Domain) -> Iterator[tuple[str, str]]:
    """(slot, value) of each match that is the value of a slot, except booking references.

    `time` and `price` are renamed as the domain calls them. The slot need not be one of the domain's.
    """
    for kind, value in found:
        if kind not in (SLOT_NAME, DOMAIN, KEYWORD, UNKNOWN_SLOT, "reference"):
            yield slot_in_domain(facts, kind), value


def _named_slots(found: list[Match] | tuple[Match, ...], facts: Domain) -> Iterator[str]:
    """The slots that are named without a value; `time` and `price` are renamed as the domain calls them.

    The slot need not be one of the domain's.
    """
    return (slot_in_domain(facts, value) for kind, value in found if kind == SLOT_NAME)


def slot_in_domain(facts: Domain, slot: str) -> str:
    """The slot of a domain that a plain `time` or `price` stands for; other slots unchanged."""
    if slot == "time" and "time" not in facts.books:
        return "leaveat"
    if slot == "price" and "fee" in facts.requests:
        return "fee"
    return slot
