"""The simulated customer: answers the seller's questions and accepts or rejects its offers.

The customer is a pure function of its intent, the dialogue so far and the generator. It understands the seller by
keywords (`parsing`), so it can talk to any agent. When it recognises no question or offer, it waits or volunteers
information. It leaves after too many repeated questions, after too many unsuitable offers, or when the
dialogue has reached its maximum length.
"""

from collections.abc import Sequence

import numpy as np

from turnwise.types import Turn
from turnwise.worlds.booking import wording
from turnwise.worlds.booking.flights import DATES, Tables, unmet_conditions
from turnwise.worlds.booking.intent import Intent
from turnwise.worlds.booking.parsing import asked_topics, known_facts, offered_flight

MAX_REPLIES = 10  # replies of the seller in one dialogue; the last one ends it, whatever it says
MAX_OFFERS = 3  # a customer that rejects this many offers leaves
_TOPIC_OF = {slot: topic for topic, slots in wording.TOPICS.items() for slot in slots}


def first_message(intent: Intent) -> str:
    """The first message: the customer's goal; a talkative one adds route and dates unless it wants to cancel."""
    said = [wording.OPENINGS[intent.goal][intent.wording]]
    if intent.talkative and intent.goal != "cancel":
        said += [answer(intent, topic) for topic in ("route", "dates")]
    return " ".join(said)


def next_message(intent: Intent, tables: Tables, turns: Sequence[Turn], rng: np.random.Generator) -> str:
    """The customer's reply to the last of `turns`, a turn of the seller that contains no decision.

    It ends with a goodbye if the customer leaves.
    """
    replies = [turn.text for turn in turns if turn.role == "assistant"]
    text, before = replies[-1], replies[:-1]
    number = offered_flight(text)
    if number is not None:
        said = _respond_to_offer(intent, tables, number, rng)
        leaves = (
            sum(offered_flight(reply) is not None for reply in before) >= MAX_OFFERS - 1 and said[:2] == "No"
        )
    else:
        said, repeated = _answer_questions(intent, turns, text, rng)
        leaves = repeated and _count_repeated_questions(turns) > intent.patience
    if leaves or len(replies) >= MAX_REPLIES - 1:
        said = f"{said} {wording.LEAVING[intent.wording]}"
    return said


def answer(intent: Intent, topic: str) -> str:
    """The customer's answer to a question on one topic of `wording.TOPICS`, or on `goal`."""
    if topic == "goal":
        return wording.OPENINGS[intent.goal][intent.wording]
    wishes = intent.wishes
    said = wording.ANSWERS[topic][intent.wording].format(
        name=intent.name,
        origin=wishes["origin"],
        destination=wishes["destination"],
        leaves=DATES[wishes["leaves"]],
        returns=DATES[wishes["returns"]],
        price=wishes["price"],
        cabin=wording.VALUES["cabin"][wishes["cabin"]],
        stops=wording.VALUES["stops"][wishes["stops"]],
        airline=wishes["airline"] or "any airline",
        time=wording.VALUES["time"][wishes["time"]],
    )
    return said[:1].upper() + said[1:]


def _respond_to_offer(intent: Intent, tables: Tables, number: int, rng: np.random.Generator) -> str:
    """Accept or reject the offer of flight `number`; a rejection repeats a condition that the flight does not meet.

    A customer that is not careful accepts any flight that exists. One that wants to cancel accepts none. Without an
    unmet condition a rejection repeats the customer's goal.
    """
    flight = tables.flight(number)
    failed = [] if flight is None else unmet_conditions(flight, intent.wishes)
    if flight is not None and (not failed or not intent.careful) and intent.goal != "cancel":
        return wording.AGREED[intent.wording]
    refusal = wording.REFUSED[intent.wording]
    if not failed or intent.goal == "cancel":
        return f"{refusal} {answer(intent, 'goal')}"
    return f"{refusal} {answer(intent, _TOPIC_OF[failed[int(rng.random() * len(failed))]])}"


def _answer_questions(
    intent: Intent, turns: Sequence[Turn], text: str, rng: np.random.Generator
) -> tuple[str, bool]:
    """The answers to the questions in `text`, and whether any of them had been answered before.

    Without a question the customer waits, or with probability 0.3 states something that it has not said yet; a customer
    who wants to cancel always waits.
    """
    topics = asked_topics(text)
    known = known_facts(turns)
    repeated = any(_is_known(topic, known) for topic in topics)
    if topics:
        said = " ".join(answer(intent, topic) for topic in topics)
        return (f"{wording.REMINDED[intent.wording]} {said}" if repeated else said), repeated
    unmentioned = [topic for topic in wording.TOPICS if not _is_known(topic, known)]
    if unmentioned and intent.goal != "cancel" and rng.random() < 0.3:
        return answer(intent, unmentioned[0]), False
    return wording.WAITING[intent.wording], False


def _is_known(topic: str, known: dict[str, object]) -> bool:
    """Whether every slot of a topic has been stated, also as no preference."""
    return all(slot in known for slot in wording.TOPICS[topic])


def _count_repeated_questions(turns: Sequence[Turn]) -> int:
    """Number of the seller's replies that asked for something the customer had already said."""
    return sum(
        any(_is_known(topic, known_facts(turns[:index])) for topic in asked_topics(turn.text))
        for index, turn in enumerate(turns)
        if turn.role == "assistant"
    )
