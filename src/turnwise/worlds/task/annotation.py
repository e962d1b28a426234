"""Annotations of the user's last turn for policies that need more than its words.

Policies trained on MultiWOZ's delexicalised corpus read a belief state (`state`), thirty bits of the database
(`db_pointer`) and a turn in which values are placeholders (`delexicalised`): lower case, punctuation apart,
`[value_food]`, `[value_count]`. A rule-based tracker and the tables provide them here. The bits follow the corpus's
published script: for each table a one-hot code of six for the number of rows that match the state (0, 1, 2, 3, 4 or
more; for trains at most 0, 2, 5, 10, 40, or more), then two bits for each domain that can be booked. In the corpus a
booking can fail; here it is made as soon as its details are known.

A venue that the system named is not part of the state until the user names it. MultiWOZ's annotators added it as soon
as the user agreed to it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.logs.dialogue import POINTER
from turnwise.types import Agent, Reply, Turn
from turnwise.worlds.task.lexicalise import DELEXICALISED
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, tokenize
from turnwise.worlds.task.tables import Tables
from turnwise.worlds.task.tracking import State, Tracked, Tracker, belief_state, with_log_names

_WITH_TABLE = ("restaurant", "hotel", "attraction", "train")
_BOOKABLE = ("restaurant", "hotel", "train")
# Domain -> the largest counts of the first five bits.
_BUCKETS = dict.fromkeys(_WITH_TABLE, (0, 1, 2, 3, 4)) | {"train": (0, 2, 5, 10, 40)}
_TOKEN = re.compile(r"[a-z0-9£]+(?:[:'.][a-z0-9]+)*|[^\sa-z0-9]")
_NUMBERS = {"[value_time]": re.compile(r"\d{1,2}:\d{2}"), "[value_count]": re.compile(r"\d+")}
# Slot -> the name of its placeholder in the corpus; a venue's name gets the placeholder of its domain.
_PLACEHOLDERS = {slot: slot for slot in ("food", "pricerange", "area", "day", "name")} | dict.fromkeys(
    ("departure", "destination"), "place"
)


@dataclass(frozen=True, slots=True)
class StateAnnotatingAgent:
    """An agent wrapper that adds the state, the database bits and the delexicalised text to the user's last turn."""

    agent: Agent
    tracker: Tracker

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return self.agent(with_annotations(turns, self.tracker), rng)


def with_annotations(turns: Sequence[Turn], tracker: Tracker) -> list[Turn]:
    """The turns, the last one, which is the user's, with state, database bits and delexicalised text."""
    tracked = tracker(turns)
    state, last = belief_state(tracked), turns[-1]
    annotations = {
        # The state also here: a user's own function sees only the text and the extra keys of a turn.
        "state": with_log_names(state),
        POINTER: database_bits(state, tracker.tables),
        DELEXICALISED: delexicalise(last.text, tracked, tracker.tables),
    }
    return [*turns[:-1], replace(last, state=with_log_names(state), extra={**last.extra, **annotations})]


def database_bits(state: State, tables: Tables) -> str:
    """Thirty bits as text: for each of four tables a one-hot code of the number of rows that match the state.

    Then for each of three domains `01` if all booking details are known and a row matches, and `10` otherwise.
    """
    bits = ""
    for domain in _WITH_TABLE:
        count = len(tables.matching(domain, state.get(domain, {})))
        index = sum(count > most for most in _BUCKETS[domain])
        bits += "".join(str(int(bit == index)) for bit in range(6))
    for domain in _BOOKABLE:
        known = state.get(domain, {})
        ready = all(detail in known for detail in DOMAINS[domain].books) and tables.matching(domain, known)
        bits += "01" if ready else "10"
    return bits


def delexicalise(text: str, tracked: Tracked, tables: Tables) -> str:
    """The text of the user's last turn as in the delexicalised corpus: tokens in lower case, placeholders for values.

    Only values recognised in that turn, times and numbers are replaced.
    """
    tokens = _TOKEN.findall(text.lower())
    values = _placeholders(tracked, tables)
    found, index = [], 0
    while index < len(tokens):
        length = next((n for n in _lengths(values) if tuple(tokens[index : index + n]) in values), 0)
        if length:
            found.append(values[tuple(tokens[index : index + length])])
        else:
            found.append(_number_placeholder(tokens[index]))
        index += max(1, length)
    return " ".join(found)


def _placeholders(tracked: Tracked, tables: Tables) -> dict[tuple[str, ...], str]:
    """The placeholders of the user's last turn, by the tokens that they replace."""
    found = {}
    for slot, value in tracked.last.informs.items():
        kind = _PLACEHOLDERS.get(slot)
        if kind is not None and value != ANYTHING:
            venue = (
                _venue_placeholder(value, tables, first=tracked.domain) if kind in ("name", "place") else None
            )
            found[tuple(tokenize(value))] = venue or f"[value_{kind}]"
    return found


def _venue_placeholder(name: str, tables: Tables, *, first: str | None) -> str | None:
    """The placeholder of a venue's name, preferably of the domain `first`; None if no venue has this name."""
    domains = sorted((domain for domain in tables.rows if domain != "train"), key=lambda one: one != first)
    return next((f"[{domain}_name]" for domain in domains if tables.is_known_name(domain, name)), None)


def _lengths(values: Mapping[tuple[str, ...], str]) -> list[int]:
    """The different lengths in tokens of the keys of `values`, the largest first."""
    return sorted({len(value) for value in values}, reverse=True)


def _number_placeholder(token: str) -> str:
    """`[value_time]` for a time, `[value_count]` for a number; any other token unchanged."""
    return next((mark for mark, number in _NUMBERS.items() if number.fullmatch(token)), token)
