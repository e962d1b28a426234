"""What a policy is told of the user's last turn beside its words, by a tracker of rules and the tables.

Policies trained on MultiWOZ's delexicalised corpus read a belief state (`state`), thirty bits of the database
(`db_pointer`) and a turn in which values are placeholders (`delexicalised`): lower case, punctuation apart,
`[value_food]`, `[value_count]`. The bits are those of the corpus, by its published script: for each table six, one of
which says how many rows meet the state (0 to 4 or more; of trains 0, 2, 5, 10, 40 at most, or more), then a pair for
each domain that is booked. In the corpus a booking can fail; here it is made as soon as its details are known.

A venue that the system named is not part of the state until the user names it. MultiWOZ's annotators put it there
when the user agrees to it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.logs.conversation import POINTER
from turnwise.types import Agent, Reply, Turn
from turnwise.worlds.task.lexicalise import DELEXICALISED
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, words
from turnwise.worlds.task.tables import Tables
from turnwise.worlds.task.tracking import History, State, Tracker, spelt, tracked

_COUNTED = ("restaurant", "hotel", "attraction", "train")
_BOOKED = ("restaurant", "hotel", "train")
_BUCKETS = dict.fromkeys(_COUNTED, (0, 1, 2, 3, 4)) | {"train": (0, 2, 5, 10, 40)}
_TOKEN = re.compile(r"[a-z0-9£]+(?:[:'.][a-z0-9]+)*|[^\sa-z0-9]")
_NUMBERS = {"[value_time]": re.compile(r"\d{1,2}:\d{2}"), "[value_count]": re.compile(r"\d+")}
# Slots whose values are placeholders in the corpus, and what these are called; a venue's name has its domain's.
_KINDS = {slot: slot for slot in ("food", "pricerange", "area", "day", "name")} | dict.fromkeys(
    ("departure", "destination"), "place"
)


@dataclass(frozen=True, slots=True)
class Annotated:
    """An agent that is told the state, the database's bits and the words without values."""

    agent: Agent
    tracker: Tracker

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        history, tables = self.tracker(turns), self.tracker.tables
        state, last = tracked(history), turns[-1]
        told = {
            "state": spelt(state),  # of a turn a user's own function sees words and further keys alone
            POINTER: pointer(state, tables),
            DELEXICALISED: delexicalised(last.text, history, tables),
        }
        known = replace(last, state=spelt(state), extra={**last.extra, **told})
        return self.agent([*turns[:-1], known], rng)


def pointer(state: State, tables: Tables) -> str:
    """Thirty bits: what the tables hold of what the user said, and what can be booked of it."""
    bits = ""
    for domain in _COUNTED:
        count = len(tables.matching(domain, state.get(domain, {})))
        place = sum(count > most for most in _BUCKETS[domain])
        bits += "".join(str(int(bit == place)) for bit in range(6))
    for domain in _BOOKED:
        known = state.get(domain, {})
        ready = all(detail in known for detail in DOMAINS[domain].books) and tables.matching(domain, known)
        bits += "01" if ready else "10"
    return bits


def delexicalised(text: str, history: History, tables: Tables) -> str:
    """The user's last turn as the corpus writes it, with placeholders for the values that were heard in it."""
    tokens = _TOKEN.findall(text.lower())
    values = _values(history, tables)
    found, place = [], 0
    while place < len(tokens):
        length = next((n for n in _lengths(values) if tuple(tokens[place : place + n]) in values), 0)
        if length:
            found.append(values[tuple(tokens[place : place + length])])
        else:
            found.append(_number(tokens[place]))
        place += max(1, length)
    return " ".join(found)


def _values(history: History, tables: Tables) -> dict[tuple[str, ...], str]:
    found = {}
    for slot, value in history.last.informs.items():
        kind = _KINDS.get(slot)
        if kind is not None and value != ANYTHING:
            venue = _venue(value, tables, first=history.domain) if kind in ("name", "place") else None
            found[tuple(words(value))] = venue or f"[value_{kind}]"
    return found


def _venue(name: str, tables: Tables, *, first: str | None) -> str | None:
    domains = sorted((domain for domain in tables.rows if domain != "train"), key=lambda one: one != first)
    return next((f"[{domain}_name]" for domain in domains if tables.knows(domain, name)), None)


def _lengths(values: Mapping[tuple[str, ...], str]) -> list[int]:
    return sorted({len(value) for value in values}, reverse=True)


def _number(token: str) -> str:
    return next((mark for mark, number in _NUMBERS.items() if number.fullmatch(token)), token)
