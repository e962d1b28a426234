"""Rule-based sellers: one policy, with parameters (habits) by which sellers differ.

A seller is a pure function of the turns so far and the generator. It has no memory between turns: its errors are
drawn at every turn from the dialogue as it stands. So its reply at a logged point does not depend on which agent
gave the earlier replies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from turnwise.types import Reply, Turn
from turnwise.worlds.booking import mistakes
from turnwise.worlds.booking.flights import (
    DATES,
    Flight,
    Tables,
    matching_flights,
    tables_from_briefing,
    unmet_conditions,
)
from turnwise.worlds.booking.intent import Decision, Status
from turnwise.worlds.booking.parsing import is_leaving, known_facts, offered_flight
from turnwise.worlds.booking.wording import AGREED, TOPICS, WORDINGS

# Topics in the order in which a standard seller asks about them.
QUESTIONS = ("name", "route", "dates", "price", "cabin", "carrier")


@dataclass(frozen=True, slots=True)
class Habits:
    """The parameters of a seller; numbers are the probabilities that it does this in a turn, with three exceptions.

    `noise` is the share of the facts that are wrong when it decides, `mistakes` has the probability of each kind of
    mistake then, and `together` is the number of questions in one turn.
    """

    wording: str = "plain"
    asks: tuple[str, ...] = QUESTIONS  # topics that it asks about, in this order
    noise: float = 0.0  # share of the facts that are wrong when it decides
    mistakes: Mapping[str, float] = field(default_factory=dict)  # kind -> probability when it decides
    repeats: float = 0.0  # asks about a topic that the customer has answered
    remarks: float = 0.0  # makes a remark that does not advance the dialogue
    hurries: float = 0.0  # decides although questions remain
    gives_up: float = 0.0  # reports that there is no flight
    offers: float = 0.0  # offers the flight before it books it
    settles: float = 0.0  # takes the flight with the fewest unmet conditions where none meets all
    together: int = 1  # number of questions asked in one turn


@dataclass(frozen=True, slots=True)
class Seller:
    """An agent that sells flights by rules, with the given habits."""

    habits: Habits = Habits()

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        habits, words = self.habits, WORDINGS[self.habits.wording]
        table, known = tables_from_briefing(turns[0]), known_facts(turns)
        gives_up, remarks, repeats, hurries, offers, which = rng.random(6).tolist()
        if is_leaving(turns[-1].text):
            return self._closing_reply(self._decide(known, table, turns, rng))
        if "goal" not in known:
            return Reply(words["goal"])
        if gives_up < habits.gives_up:
            return self._closing_reply(Decision("no_flight", None, known.get("name", "")))
        if remarks < habits.remarks:
            return Reply(words["remark"])
        answered = [topic for topic in habits.asks if all(slot in known for slot in TOPICS[topic])]
        if answered and repeats < habits.repeats:
            return Reply(words[answered[int(which * len(answered))]])
        missing = [topic for topic in _needed_topics(known, table, habits.asks) if topic not in answered]
        if missing and hurries >= habits.hurries:
            return Reply(" ".join([words[topic] for topic in missing[: habits.together]]))
        decision = self._decide(known, table, turns, rng)
        flight = None if decision.flight is None else table.flight(decision.flight)
        if flight and offers < habits.offers and _accepted_flight(turns) is None:
            return Reply(words["offer"].format(**_offer_values(flight)))
        return self._closing_reply(decision)

    def _decide(
        self, known: mistakes.Facts, table: Tables, turns: Sequence[Turn], rng: np.random.Generator
    ) -> Decision:
        """Decide on the known facts, after applying this seller's noise and mistakes."""
        habits = self.habits
        facts = mistakes.mishear(known, rng, share=habits.noise) if habits.noise else known.copy()
        for kind, share in habits.mistakes.items():
            if rng.random() < share:
                mistakes.MISTAKES[kind](facts, rng)
        return decide(facts, table, accepted=_accepted_flight(turns), settles=rng.random() < habits.settles)

    def _closing_reply(self, decision: Decision) -> Reply:
        """The reply that announces a decision; `no_flight` if it has no status, and `you` if the name is unknown."""
        sentence = WORDINGS[self.habits.wording][decision.status or "no_flight"]
        return Reply(sentence.format(number=decision.flight, name=decision.name or "you"))


def decide(
    facts: mistakes.Facts, table: Tables, *, accepted: int | None = None, settles: bool = False
) -> Decision:
    """The decision that follows from the facts; `accepted` is the flight that the customer has agreed to.

    A `status` in the facts, which two mistakes set, is the decision. Otherwise `accepted` is taken for a booking or
    change, or the cheapest matching flight (the dearest after the mistake `price`). With `settles` and no match, it is
    the flight with the fewest unmet conditions.
    """
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
    found = matching_flights(table.flights, facts)
    if not found and settles:
        found = [min(table.flights, key=lambda flight: (len(unmet_conditions(flight, facts)), flight.price))]
    if not found:
        return Decision("no_flight", None, name)
    pick = max if facts.get("dearest") else min
    return Decision(status, pick(found, key=_price).number, name)


def _price(flight: Flight) -> int:
    """The price of a flight, as a key for `min` and `max`."""
    return flight.price


def _needed_topics(known: mistakes.Facts, table: Tables, asks: tuple[str, ...]) -> tuple[str, ...]:
    """The topics of `asks` that this dialogue needs, answered ones included.

    To cancel, or to change without a reservation, only the name is needed.
    """
    if known["goal"] == "cancel" or (known["goal"] == "change" and table.reservation is None):
        return tuple(topic for topic in asks if topic == "name")
    return asks


def _accepted_flight(turns: Sequence[Turn]) -> int | None:
    """The number of the flight that the customer's last turn accepts, from the offer before it.

    None if it accepts none.
    """
    if len(turns) > 2 and turns[-1].text.startswith(AGREED):
        return offered_flight(turns[-2].text)
    return None


def _offer_values(flight: Flight) -> dict[str, Any]:
    """The number, departure date (as text), cabin and price of a flight, by their names in the sentence of an offer."""
    return {
        "number": flight.number,
        "date": DATES[flight.leaves],
        "cabin": flight.cabin,
        "price": flight.price,
    }
