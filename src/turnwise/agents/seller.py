"""A trained seller of the booking world (ENIGMA, appendix C): a transformer with heads for intent, flight and name.

It reads the dialogue with values replaced by slots. At its turn the intent head takes an action: to go on talking, to
offer a flight, or one of the five decisions. The language head then writes a reply that begins with this action. Where
the reply names a flight the flight head chooses one from the table, or the pseudo flight `none`, which turns a booking
into the decision that there is no flight. The name head says whether the customer's name is known. Replies are the most
likely ones, so a seller says the same whenever it is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.agents.trained_speaker import ACTIONS, MOST, TrainedSpeaker, Words
from turnwise.networks.transformer import CHOICE, Example, Mark
from turnwise.types import Dialogue, Reply, Turn
from turnwise.worlds.booking.flights import DATES, Flight, Tables, parse_tables, tables_from_briefing
from turnwise.worlds.booking.parsing import offered_flight, parse_decision
from turnwise.worlds.booking.tokens import SLOTS, flight_features, seller_pieces, written

HEADS = {"intent": len(ACTIONS), "name": 2}
_MADE = ("booked", "changed")  # decisions that need a flight


@dataclass(frozen=True, eq=False)
class TrainedSeller(TrainedSpeaker):
    """A seller that a network makes."""

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        table = tables_from_briefing(turns[0])
        context = seller_context(turns, table, self.words)
        action = ACTIONS[self.reader.class_of("intent", context)]
        flight = self._flight(context, table, turns) if action in ("offer", *_MADE) else None
        if flight is None and action in ("offer", *_MADE):
            action = "no_flight"
        said = self.reader.text([*context, self.words[f"<{action}>"]], self.words["<end>"], MOST)
        pieces = [self.words.all[number] for number in said]
        if flight is None and "NUMBER" in pieces:
            flight = self._flight(context, table, turns)
        return Reply(written(pieces, self._values(context, turns, flight)))

    def _flight(self, context: Sequence[int], table: Tables, turns: Sequence[Turn]) -> Flight | None:
        """The flight that the flight head chooses; None for the pseudo flight."""
        chosen = self.reader.choice(context, flight_features(table, turns))
        return table.flights[chosen] if chosen < len(table.flights) else None

    def _values(self, context: Sequence[int], turns: Sequence[Turn], flight: Flight | None) -> dict[str, str]:
        """Slot -> the value that the reply states."""
        said = [found for turn in turns if turn.role == "user" for found in SLOTS["NAME"].findall(turn.text)]
        known = self.reader.class_of("name", context) == 1 and said
        values = {"NAME": said[-1] if known else "you"}
        if flight is not None:
            values |= {
                "NUMBER": str(flight.number),
                "DATE": DATES[flight.leaves],
                "CABIN": flight.cabin,
                "PRICE": f"${flight.price}",
            }
        return values


def seller_context(turns: Sequence[Turn], table: Tables, words: Words) -> list[int]:
    """The tokens of a dialogue up to the seller's next turn, the mark of which is last."""
    found = [words["<none>" if table.reservation is None else "<reservation>"]]
    for turn in turns:
        if turn.role == "user":
            found += [words["<user>"], *words.numbers(seller_pieces(turn.text))]
        elif turn.role == "assistant":
            found += [words["<seller>"], words[f"<{action_of(turn.text)}>"]]
            found += [*words.numbers(seller_pieces(turn.text)), words["<end>"]]
    return [*found, words["<seller>"]]


def action_of(text: str) -> str:
    """The action of a seller's reply, by what it says."""
    decision = parse_decision(text)
    if decision is not None and decision.status is not None:
        return decision.status
    return "talk" if offered_flight(text) is None else "offer"


def seller_example(dialogue: Dialogue, words: Words) -> Example:
    """A logged dialogue as a training text: the seller's words are predicted, and the heads trained at its turns."""
    table = parse_tables(str(dialogue.meta["briefing"]))
    turns = [turn for turn in dialogue.turns if turn.content is not None]
    last = max(index for index, turn in enumerate(turns) if turn.role == "assistant")
    tokens: list[int] = []
    predicted: list[bool] = []
    marks = []
    for index, turn in enumerate(turns[: last + 1]):
        if turn.role != "assistant":
            continue
        before = seller_context(turns[:index], table, words)
        predicted += [False] * (len(before) - len(tokens))
        tokens = before
        marks.append(_mark(turns[:index], turn, table, len(before) - 1))
        said = [*words.numbers(seller_pieces(turn.text)), words["<end>"]]
        tokens = [*tokens, words[f"<{action_of(turn.text)}>"], *said]
        predicted += [False, *([True] * len(said))]
    return Example(tokens, predicted, tuple(marks))


def _mark(before: Sequence[Turn], turn: Turn, table: Tables, at: int) -> Mark:
    """The right classes at a seller's turn; the flight is chosen where one is offered or decided about."""
    action, decision = action_of(turn.text), parse_decision(turn.text)
    classes: dict[str, int] = {"intent": ACTIONS.index(action)}
    if decision is not None:
        classes["name"] = int(bool(decision.name))
    number = offered_flight(turn.text) if decision is None else decision.flight
    if number is None and action != "no_flight":
        return Mark(at, classes)
    names = [flight.number for flight in table.flights]
    choice = names.index(number) if number in names else len(names)
    return Mark(at, classes, flight_features(table, before), choice)


def seller_weights(*, intent: float, flight: float, name: float) -> Mapping[str, float]:
    """The weights of the heads in the loss."""
    return {"intent": intent, CHOICE: flight, "name": name}
