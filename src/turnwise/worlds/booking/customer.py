"""The customer: answers what is asked, in its own way of saying things, and judges what is offered.

A pure function of its intent and of the conversation so far. It reads the seller by words (`reading`), so that
any seller can be put before it; where it understands nothing it waits, or says something that was not asked.
It leaves when asked the same too often, when too much was offered that it does not want, and at the end of the
longest conversation.
"""

from collections.abc import Sequence

import numpy as np

from turnwise.types import Turn
from turnwise.worlds.booking import wording
from turnwise.worlds.booking.flights import DATES, Tables, unmet
from turnwise.worlds.booking.intent import Intent
from turnwise.worlds.booking.reading import asked, heard, offered

T_MAX = 10  # replies of the seller; the last of them ends the conversation whatever it says
OFFERS = 3  # that a customer listens to
_TOPIC_OF = {slot: topic for topic, slots in wording.TOPICS.items() for slot in slots}


def opening(wanted: Intent) -> str:
    said = [wording.OPENINGS[wanted.goal][wanted.words]]
    if wanted.talkative and wanted.goal != "cancel":
        said += [answer(wanted, topic) for topic in ("route", "dates")]
    return " ".join(said)


def reaction(wanted: Intent, tables: Tables, turns: Sequence[Turn], rng: np.random.Generator) -> str:
    """What the customer says to the last of `turns`, a seller's that decided nothing."""
    replies = [turn.text for turn in turns if turn.role == "assistant"]
    text, before = replies[-1], replies[:-1]
    number = offered(text)
    if number is not None:
        said = _judged(wanted, tables, number, rng)
        gone = sum(offered(reply) is not None for reply in before) >= OFFERS - 1 and said[:2] == "No"
    else:
        said, repeated = _answers(wanted, turns, text, rng)
        gone = repeated and _repetitions(turns) > wanted.patience
    if gone or len(replies) >= T_MAX - 1:
        said = f"{said} {wording.LEAVING[wanted.words]}"
    return said


def answer(wanted: Intent, topic: str) -> str:
    """What the customer says on one topic."""
    if topic == "goal":
        return wording.OPENINGS[wanted.goal][wanted.words]
    wishes = wanted.wishes
    said = wording.ANSWERS[topic][wanted.words].format(
        name=wanted.name,
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


def _judged(wanted: Intent, tables: Tables, number: int, rng: np.random.Generator) -> str:
    """Yes or no to an offer; a careful customer names a condition that it fails."""
    flight = tables.flight(number)
    failed = [] if flight is None else unmet(flight, wanted.wishes)
    if flight is not None and (not failed or not wanted.careful) and wanted.goal != "cancel":
        return wording.AGREED[wanted.words]
    refusal = wording.REFUSED[wanted.words]
    if not failed or wanted.goal == "cancel":
        return f"{refusal} {answer(wanted, 'goal')}"
    return f"{refusal} {answer(wanted, _TOPIC_OF[failed[int(rng.random() * len(failed))]])}"


def _answers(wanted: Intent, turns: Sequence[Turn], text: str, rng: np.random.Generator) -> tuple[str, bool]:
    """The answers to what `text` asks, and whether any of it had been said before."""
    topics = asked(text)
    known = heard(turns)
    repeated = any(_known(topic, known) for topic in topics)
    if topics:
        said = " ".join(answer(wanted, topic) for topic in topics)
        return (f"{wording.REMINDED[wanted.words]} {said}" if repeated else said), repeated
    silent = [topic for topic in wording.TOPICS if not _known(topic, known)]
    if silent and wanted.goal != "cancel" and rng.random() < 0.3:
        return answer(wanted, silent[0]), False
    return wording.WAITING[wanted.words], False


def _known(topic: str, known: dict[str, object]) -> bool:
    return all(slot in known for slot in wording.TOPICS[topic])


def _repetitions(turns: Sequence[Turn]) -> int:
    """Replies of the seller that asked for something it had been told."""
    return sum(
        any(_known(topic, heard(turns[:place])) for topic in asked(turn.text))
        for place, turn in enumerate(turns)
        if turn.role == "assistant"
    )
