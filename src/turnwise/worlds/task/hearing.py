"""What a turn means, given the domain that is talked about: a user's acts, a system's offers, answers and questions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from turnwise.worlds.task.lexicon import DOMAIN, KEPT, NOUN, UNTOLD, WORD, Found
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, Domain
from turnwise.worlds.task.tables import Row, Tables


@dataclass(frozen=True, slots=True)
class Acts:
    """Of a user."""

    domain: str | None
    informs: Mapping[str, str]  # constraints and details of a booking, in one spelling
    requests: tuple[str, ...]
    words: frozenset[str]  # book, bye, yes, no


@dataclass(frozen=True, slots=True)
class Reading:
    """Of a system's turn."""

    rows: tuple[Row, ...]  # of the last name in it; several where they share a name
    told: Mapping[str, str]
    untold: frozenset[str]  # slots of which it says that it does not know
    asked: tuple[str, ...]
    words: frozenset[str]  # none, booked, again, bye
    reference: str | None

    def row(self, before: Row | None) -> Row | None:
        """The venue in hand after this turn: of those that share a name the one that it describes."""
        if len(self.rows) < 2:
            return self.rows[0] if self.rows else before
        return max(
            self.rows,
            key=lambda row: (sum(row.canon.get(s) == v for s, v in self.told.items()), row is before),
        )


@lru_cache(maxsize=KEPT)
def heard(tables: Tables, text: str, before: str | None) -> Acts:
    """A user's turn; `before` is the domain that was talked about until then."""
    found = [one for sentence in tables.lexicon.said(text) for one in sentence.found]
    domain = next((one.value for one in found if one.kind == DOMAIN), before)
    words = frozenset(one.value for one in found if one.kind == WORD)
    if domain is None:
        return Acts(None, {}, (), words)
    facts = DOMAINS[domain]
    known = (*facts.informs, *facts.books)
    informs: dict[str, str] = {}
    for slot, value in _slots(found, facts):
        if slot in known and (slot != "name" or value == ANYTHING or tables.knows(domain, value)):
            informs[slot] = value
    requests = dict.fromkeys(slot for slot in _nouns(found, facts) if slot in facts.requests)
    return Acts(domain, informs, tuple(requests), words)


@lru_cache(maxsize=KEPT)
def read(tables: Tables, text: str, domain: str) -> Reading:
    """A system's turn, as one understands it who talks about `domain`."""
    facts = DOMAINS[domain]
    rows: tuple[Row, ...] = ()
    reference = None
    told: dict[str, str] = {}
    asked: dict[str, None] = {}
    untold, words = set(), set()
    for sentence in tables.lexicon.said(text):
        for slot, value in _slots(sentence.found, facts):
            if slot == facts.offer:
                rows = tables.called(domain, value) or rows
            if not sentence.question:
                told[slot] = value
        for kind, value in sentence.found:
            if kind == WORD:
                words.add(value)
            elif kind == UNTOLD:
                untold.add(value)
            elif kind == "reference":
                reference = value
        if sentence.question:
            asked |= dict.fromkeys(_nouns(sentence.found, facts))
    answers = tuple(slot for slot in asked if slot in facts.informs or slot in facts.books)
    return Reading(rows, told, frozenset(untold), answers, frozenset(words), reference)


def _slots(found: list[Found] | tuple[Found, ...], facts: Domain) -> Iterator[tuple[str, str]]:
    for kind, value in found:
        if kind not in (NOUN, DOMAIN, WORD, UNTOLD, "reference"):
            yield within(facts, kind), value


def _nouns(found: list[Found] | tuple[Found, ...], facts: Domain) -> Iterator[str]:
    return (within(facts, value) for kind, value in found if kind == NOUN)


def within(facts: Domain, slot: str) -> str:
    """What a bare time, or a price, means in a domain."""
    if slot == "time" and "time" not in facts.books:
        return "leaveat"
    if slot == "price" and "fee" in facts.requests:
        return "fee"
    return slot
