"""Sellers: one rule-based policy, and the habits by which sellers differ.

A seller is a pure function of what it sees and of the generator: its errors are drawn anew at every turn, from
the conversation as it stands and never from a memory of its own. So what it says at a logged point is what it
would have said there, whoever had spoken before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from turnwise.types import Reply, Turn
from turnwise.worlds.booking import mistakes
from turnwise.worlds.booking.flights import DATES, Flight, Tables, qualified, tables, unmet
from turnwise.worlds.booking.intent import Decision, Status
from turnwise.worlds.booking.reading import heard, leaves, offered
from turnwise.worlds.booking.wording import AGREED, TOPICS, WORDINGS

QUESTIONS = ("name", "route", "dates", "price", "cabin", "carrier")


@dataclass(frozen=True, slots=True)
class Habits:
    """How a seller talks and errs. A share is the chance that it happens in a turn."""

    wording: str = "plain"
    asks: tuple[str, ...] = QUESTIONS  # in this order; what is not here is never asked
    noise: float = 0.0  # share of what was said that is heard wrong when deciding
    mistakes: Mapping[str, float] = field(default_factory=dict)  # kind -> chance, when deciding
    repeats: float = 0.0  # asks for something that it was told
    remarks: float = 0.0  # says something that leads nowhere
    hurries: float = 0.0  # decides with what it knows, questions left
    gives_up: float = 0.0  # says that there is no flight
    offers: float = 0.0  # names the flight before it is booked
    settles: float = 0.0  # takes the nearest flight where none meets all that it knows
    together: int = 1  # questions asked at once


@dataclass(frozen=True, slots=True)
class Seller:
    habits: Habits = Habits()

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        habits, words = self.habits, WORDINGS[self.habits.wording]
        table, known = tables(turns[0]), heard(turns)
        gives_up, remarks, repeats, hurries, offers, which = rng.random(6).tolist()
        if leaves(turns[-1].text):
            return self._end(self._decision(known, table, turns, rng))
        if "goal" not in known:
            return Reply(words["goal"])
        if gives_up < habits.gives_up:
            return self._end(Decision("no_flight", None, known.get("name", "")))
        if remarks < habits.remarks:
            return Reply(words["remark"])
        told = [topic for topic in habits.asks if all(slot in known for slot in TOPICS[topic])]
        if told and repeats < habits.repeats:
            return Reply(words[told[int(which * len(told))]])
        missing = [topic for topic in _needed(known, table, habits.asks) if topic not in told]
        if missing and hurries >= habits.hurries:
            return Reply(" ".join([words[topic] for topic in missing[: habits.together]]))
        decision = self._decision(known, table, turns, rng)
        flight = None if decision.flight is None else table.flight(decision.flight)
        if flight and offers < habits.offers and _accepted(turns) is None:
            return Reply(words["offer"].format(**_shown(flight)))
        return self._end(decision)

    def _decision(
        self, known: mistakes.Facts, table: Tables, turns: Sequence[Turn], rng: np.random.Generator
    ) -> Decision:
        habits = self.habits
        facts = mistakes.misheard(known, rng, share=habits.noise) if habits.noise else known.copy()
        for kind, share in habits.mistakes.items():
            if rng.random() < share:
                mistakes.MISTAKES[kind](facts, rng)
        return decision(facts, table, accepted=_accepted(turns), settles=rng.random() < habits.settles)

    def _end(self, decision: Decision) -> Reply:
        sentence = WORDINGS[self.habits.wording][decision.status or "no_flight"]
        return Reply(sentence.format(number=decision.flight, name=decision.name or "you"))


def decision(
    facts: mistakes.Facts, table: Tables, *, accepted: int | None = None, settles: bool = False
) -> Decision:
    """What the facts, as they were heard, lead to."""
    name, goal = facts.get("name", ""), facts.get("goal", "book")
    if "status" in facts:
        return Decision(facts["status"], None, name)
    if goal != "book" and table.reservation is None:
        return Decision("no_reservation", None, name)
    if goal == "cancel":
        return Decision("cancelled", None, name)
    status: Status = "booked" if goal == "book" else "changed"
    if accepted is not None:
        return Decision(status, accepted, name)
    found = qualified(table.flights, facts)
    if not found and settles:
        found = [min(table.flights, key=lambda flight: (len(unmet(flight, facts)), flight.price))]
    if not found:
        return Decision("no_flight", None, name)
    pick = max if facts.get("dearest") else min
    return Decision(status, pick(found, key=_price).number, name)


def _price(flight: Flight) -> int:
    return flight.price


def _needed(known: mistakes.Facts, table: Tables, asks: tuple[str, ...]) -> tuple[str, ...]:
    """The questions that the goal makes necessary: a reservation is looked up by name alone."""
    if known["goal"] == "cancel" or (known["goal"] == "change" and table.reservation is None):
        return tuple(topic for topic in asks if topic == "name")
    return asks


def _accepted(turns: Sequence[Turn]) -> int | None:
    """The flight that the customer has just said yes to."""
    if len(turns) > 2 and turns[-1].text.startswith(AGREED):
        return offered(turns[-2].text)
    return None


def _shown(flight: Flight) -> dict[str, Any]:
    return {
        "number": flight.number,
        "date": DATES[flight.leaves],
        "cabin": flight.cabin,
        "price": flight.price,
    }
