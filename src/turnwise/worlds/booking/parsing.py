"""Parsing of turns: facts that customers state; questions, offers and decisions of sellers.

The rules look for keywords and not for the sentences of `wording`, because the customer must understand any agent,
for example a language model. Results depend on the text alone and are cached by text, because all agents of a family
parse the same turns.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from turnwise.types import Turn
from turnwise.worlds.booking.flights import AIRLINES, DAY_OF_YEAR, MONTHS
from turnwise.worlds.booking.intent import FIRST_NAMES, LAST_NAMES, Decision, Status
from turnwise.worlds.booking.wording import LEAVING

CACHE_SIZE = 1 << 12  # texts whose parse is cached

_NAME = rf"\b(?:{'|'.join(FIRST_NAMES)}) (?:{'|'.join(LAST_NAMES)})\b"
_FACTS = re.compile(
    r"(?P<origin>\b[A-Z]{3}) to (?P<destination>[A-Z]{3}\b)"
    rf"|(?P<date>\b(?:{'|'.join(MONTHS)}) \d{{1,2}}\b)"
    r"|\$(?P<price>\d+)"
    r"|(?P<cabin>(?i:economy|business|any class))"
    r"|(?P<stops>direct|one connection|any number of connections)"
    rf"|\b(?P<airline>{'|'.join(AIRLINES)}|(?i:any airline))\b"
    r"|(?P<time>morning|afternoon|evening|any time)"
    rf"|(?P<name>{_NAME})"
    r"|\b(?P<goal>book|change|cancel)\b"
)
_STOPS = {"direct": 0, "one connection": 1}
_DATES = ("leaves", "returns")

_SENTENCES = re.compile(r"[^.!?]+[.!?]*")
_TOPICS = {
    "goal": re.compile(r"\bhelp|assist|do for you|your request", re.IGNORECASE),
    "name": re.compile(r"\bname\b", re.IGNORECASE),
    "route": re.compile(r"\bwhere\b|airport|destination|\broute\b|\bcity\b|\bcities\b", re.IGNORECASE),
    "dates": re.compile(r"\bwhen\b|\bdates?\b|\bwhat days?\b", re.IGNORECASE),
    "price": re.compile(r"budget|\bprice|\bspend\b|\bpay\b|\bhow much\b", re.IGNORECASE),
    "cabin": re.compile(r"\bclass\b|connections?\b|\bstops?\b|\bdirect\b", re.IGNORECASE),
    "carrier": re.compile(r"airline|\bcarrier|time of day|particular time|\bhours?\b", re.IGNORECASE),
}
_WANTS_TO_KNOW = re.compile(
    r"\?|\bplease (?:tell|give|provide|state)|\blet me know|\bI need\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\b1\d{3}\b")
_DECISIONS: tuple[tuple[Status, re.Pattern[str]], ...] = (
    ("no_reservation", re.compile(r"\bno (?:\w+ )?reservation\b", re.IGNORECASE)),
    ("no_flight", re.compile(r"\bno (?:\w+ )?flights?\b", re.IGNORECASE)),
    ("cancelled", re.compile(r"\bcancell?ed\b", re.IGNORECASE)),
    ("changed", re.compile(r"\bchanged\b", re.IGNORECASE)),
    ("booked", re.compile(r"\bbooked\b", re.IGNORECASE)),
)
_PERSON = re.compile(_NAME)


@lru_cache(maxsize=CACHE_SIZE)
def parse_facts(text: str) -> Mapping[str, Any]:
    """The facts in a customer's turn, by slot; None where the customer says that it has no preference.

    The first date is the departure, the second the return, both as days of the year. Of several goals the first counts.
    """
    facts: dict[str, Any] = {}
    dates = iter(_DATES)
    for found in _FACTS.finditer(text):
        slot, value = found.lastgroup or "", found[found.lastgroup or 0]
        if slot == "destination":
            facts["origin"] = found["origin"]
            facts["destination"] = value
        elif slot == "date":
            facts[next(dates, _DATES[1])] = DAY_OF_YEAR[value]
        elif slot == "price":
            facts[slot] = int(value)
        elif slot == "stops":
            facts[slot] = _STOPS.get(value)
        elif slot == "goal":
            facts.setdefault(slot, value)
        elif slot == "cabin":
            facts[slot] = None if value.lower() == "any class" else value.lower()
        else:
            facts[slot] = None if value.lower().startswith("any") else value
    return facts


def known_facts(turns: Sequence[Turn]) -> dict[str, Any]:
    """All facts that the customer has stated: the last value of each slot, but the first goal."""
    facts: dict[str, Any] = {}
    for turn in turns:
        if turn.role == "user":
            goal = facts.get("goal")
            facts.update(parse_facts(turn.text))
            if goal is not None:
                facts["goal"] = goal
    return facts


def is_leaving(text: str) -> bool:
    """Whether the customer's turn ends with one of the goodbye sentences `wording.LEAVING`."""
    return text.endswith(LEAVING)


@lru_cache(maxsize=CACHE_SIZE)
def asked_topics(text: str) -> tuple[str, ...]:
    """The topics that the questions and requests of a seller's turn are about, in the order of `_TOPICS`."""
    questions = [sentence for sentence in _SENTENCES.findall(text) if _WANTS_TO_KNOW.search(sentence)]
    return tuple(
        topic for topic, words in _TOPICS.items() if any(words.search(question) for question in questions)
    )


@lru_cache(maxsize=CACHE_SIZE)
def offered_flight(text: str) -> int | None:
    """The first number from 1000 to 1999 in a seller's turn with a question mark and no decision; None otherwise."""
    number = _NUMBER.search(text)
    return int(number[0]) if number and "?" in text and parse_decision(text) is None else None


@lru_cache(maxsize=CACHE_SIZE)
def parse_decision(text: str) -> Decision | None:
    """The decision that a seller's turn announces outside of questions, or None; the name is "" if it names nobody.

    A booking or change without a flight number is no decision. Other decisions have no flight, even if one is named.
    """
    statements = " ".join(sentence for sentence in _SENTENCES.findall(text) if not sentence.endswith("?"))
    for status, words in _DECISIONS:
        if words.search(statements):
            number = _NUMBER.search(statements)
            if status in ("booked", "changed") and number is None:
                continue
            name = _PERSON.search(text)
            flight = int(number[0]) if number and status in ("booked", "changed") else None
            return Decision(status, flight, name[0] if name else "")
    return None
