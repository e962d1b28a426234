"""Rule-based systems: one policy over a tracker and the tables, with parameters (habits) by which systems differ.

Like the sellers of the booking world they are pure functions of the turns so far and the generator. A system writes
replies with placeholders. They are filled as for any delexicalised policy, but from the system's own tracked state
with its errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.types import Turn
from turnwise.worlds.play import AnnotatedReply
from turnwise.worlds.task import system_sentences, user_sentences
from turnwise.worlds.task.lexicalise import DELEXICALISED, SlotValues, dialogue_code, fill_placeholders
from turnwise.worlds.task.schema import DOMAINS, TIMES
from turnwise.worlds.task.tables import UNKNOWN, Row
from turnwise.worlds.task.tracking import (
    State,
    Tracked,
    Tracker,
    belief_state,
    noisy_belief_state,
    with_log_names,
)

FEW_MATCHES = 4  # with at most this many matches a system offers one without a further question


@dataclass(frozen=True, slots=True)
class Habits:
    """The parameters of a system; numbers are the probabilities that it does this where it could, with two exceptions.

    `mishears` is the share of the user's values that are tracked wrongly, and `questions` the number of questions in
    one turn.
    """

    mishears: float = 0.0  # share of the user's values that the tracker loses or confuses
    misnames: float = 0.0  # offers a venue under the name of another
    misinforms: float = 0.0  # answers a request with the value of another venue
    omits: float = 0.0  # leaves a request unanswered
    gives_up: float = 0.0  # reports that nothing matches
    unbooked: float = 0.0  # declines to book
    repeats: float = 0.0  # asks for a slot that the user has stated
    stalls: float = 0.0  # asks the user to repeat
    strays: float = 0.0  # says goodbye too early
    hurries: float = 0.0  # makes an offer although questions remain
    questions: int = 1  # number of questions in one turn


@dataclass(frozen=True, slots=True)
class System:
    """An agent that follows rules, with the given habits."""

    tracker: Tracker
    habits: Habits = Habits()
    name: str = "system"

    def state(self, turns: Sequence[Turn]) -> State:
        """The system's tracked state after `turns`, with its errors."""
        return self._state(self.tracker(turns), dialogue_code(turns))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> AnnotatedReply:
        tracked, code = self.tracker(turns), dialogue_code(turns)
        state = self._state(tracked, code)
        text, source = self._reply(tracked, state, code, rng)
        filled_in = fill_placeholders(
            text, {} if source is None else {source.domain: source}, tracked.domain or ""
        )
        surface, acts = filled_in or (system_sentences.REPEAT_PLEASE, [])
        return AnnotatedReply(
            surface,
            state=with_log_names(state),
            acts=tuple(acts),
            extra={DELEXICALISED: text if filled_in else system_sentences.REPEAT_PLEASE},
        )

    def _state(self, tracked: Tracked, code: int) -> State:
        """The tracked state (domain -> slot -> value), with errors by the system's name and the dialogue's code."""
        if not self.habits.mishears:
            return belief_state(tracked)
        key = f"{self.name}/{code}".encode()
        return noisy_belief_state(tracked, self.tracker.tables, share=self.habits.mishears, key=key)

    def _reply(
        self, tracked: Tracked, state: State, code: int, rng: np.random.Generator
    ) -> tuple[str, SlotValues | None]:
        """The reply with placeholders, and the source of their values; None only for a reply without placeholders."""
        habits, acts, domain = self.habits, tracked.last, tracked.domain
        stalls, gives_up, repeats, strays, hurries = rng.random(5).tolist()
        if strays < habits.strays or ("bye" in acts.keywords and not (acts.informs or acts.requests)):
            return system_sentences.BYE, None
        if domain is None:
            return system_sentences.HELP, None
        if stalls < habits.stalls:
            return system_sentences.REPEAT_PLEASE, None
        if gives_up < habits.gives_up:
            return system_sentences.NO_MATCH[domain], None
        known = state.get(domain, {})
        facts = DOMAINS[domain]
        said = [slot for slot in (*facts.asks, *facts.books) if slot in known]
        if said and repeats < habits.repeats:
            return system_sentences.QUESTIONS[said[int(rng.random() * len(said))]], None
        if domain == "taxi":
            missing = _missing(known, facts.asks)
            return (self._ask(missing), None) if missing else self._book_taxi(known, code)
        rows = self.tracker.tables.matching(domain, known)
        named = tracked.rows.get(domain)
        if acts.requests and (row := named or next(iter(rows), None)) is not None:
            return self._answer(
                row, acts.requests, SlotValues(domain, row.values, known, code, len(rows)), rng
            )
        if facts.books and ("book" in acts.keywords or any(slot in acts.informs for slot in facts.books)):
            return self._book(named if named else next(iter(rows), None), known, code, domain, rng)
        missing = _missing(known, facts.asks)
        if missing and len(rows) > FEW_MATCHES and hurries >= habits.hurries:
            return self._ask(missing), None
        if not rows:
            return system_sentences.NO_MATCH[domain], None
        row = named if named in rows else rows[0]
        return self._offer(row, SlotValues(domain, row.values, known, code, len(rows)), rng)

    def _ask(self, missing: Sequence[str]) -> str:
        """The questions for the first `habits.questions` of the missing slots."""
        return " ".join(system_sentences.QUESTIONS[slot] for slot in missing[: self.habits.questions])

    def _offer(self, row: Row, source: SlotValues, rng: np.random.Generator) -> tuple[str, SlotValues]:
        """The offer of a venue, without the slots whose value is unknown, and the source of its values.

        With probability `habits.misnames` it gives the name of a random venue.
        """
        if rng.random() < self.habits.misnames:
            offer = DOMAINS[row.domain].offer
            other = self._random_row(row, rng)
            source = _with_values(source, {offer: other.values[offer]})
        text = system_sentences.OFFERS[row.domain]
        for slot in DOMAINS[row.domain].informs:
            if source.value(slot) is None:
                text = _drop_placeholder(text, f"[{row.domain}_{slot}]")
        return f"{text} {system_sentences.OFFER_QUESTIONS[row.domain]}", source

    def _answer(
        self, row: Row, requests: Sequence[str], source: SlotValues, rng: np.random.Generator
    ) -> tuple[str, SlotValues]:
        """Answers to the user's requests about a venue, some omitted or wrong by the habits, and their source."""
        given = [slot for slot in requests if rng.random() >= self.habits.omits]
        sentences = []
        for slot in given:
            if rng.random() < self.habits.misinforms:
                source = _with_values(source, {slot: self._random_row(row, rng).values.get(slot, UNKNOWN)})
            template = (
                system_sentences.VALUE_STATEMENT
                if source.value(slot) is not None
                else system_sentences.VALUE_UNKNOWN
            )
            offer = DOMAINS[row.domain].offer
            sentences.append(
                template.format(noun=user_sentences.noun(slot), domain=row.domain, offer=offer, slot=slot)
                if slot != offer
                else f"It is [{row.domain}_{slot}]."
            )
        return " ".join([*sentences, system_sentences.ANYTHING_ELSE]), source

    def _book(
        self, row: Row | None, known: Mapping[str, str], code: int, domain: str, rng: np.random.Generator
    ) -> tuple[str, SlotValues | None]:
        """A confirmed booking of a venue, or questions for all missing details, or by the habits a refusal to book.

        Without a row it says that there is no match. Returns the text and, once no detail is missing, the source of its
        values (else None).
        """
        if row is None:
            return system_sentences.NO_MATCH[domain], None
        missing = _missing(known, DOMAINS[domain].books)
        if missing:
            return " ".join(system_sentences.QUESTIONS[slot] for slot in missing), None
        source = SlotValues(domain, row.values, known, code, 1)
        if rng.random() < self.habits.unbooked:
            return f"{system_sentences.BOOKING_DECLINED} {system_sentences.ANYTHING_ELSE}", source
        return f"{system_sentences.BOOKED[domain]} {system_sentences.ANYTHING_ELSE}", source

    def _book_taxi(self, known: Mapping[str, str], code: int) -> tuple[str, SlotValues]:
        """The confirmation of a taxi, and the source of its values."""
        return system_sentences.BOOKED["taxi"], SlotValues("taxi", {}, known, code)

    def _random_row(self, row: Row, rng: np.random.Generator) -> Row:
        """A random venue of the same domain, which may be `row` itself."""
        rows = self.tracker.tables.rows[row.domain]
        return rows[int(rng.random() * len(rows))]


def _with_values(source: SlotValues, values: Mapping[str, str]) -> SlotValues:
    """The source with some values of the venue replaced or added."""
    return SlotValues(source.domain, {**source.values, **values}, source.known, source.code, source.count)


def _missing(known: Mapping[str, str], slots: Sequence[str]) -> list[str]:
    """Those of `slots` that are not in `known`, the slots with the values that the user stated.

    Of the two times of a journey one is enough.
    """
    timed = any(slot in known for slot in TIMES)
    return [slot for slot in slots if slot not in known and not (slot in TIMES and timed)]


def _drop_placeholder(text: str, placeholder: str) -> str:
    """A sentence without a placeholder that has no value, and without the words that belong to it.

    A bare placeholder at the end of its sentence becomes `place`.
    """
    for words in (
        f" in the {placeholder}",
        f" with {placeholder} stars,",
        f", {placeholder}",
        f" and {placeholder}",
    ):
        text = text.replace(words, "")
    return text.replace(f"{placeholder} ", "").replace(placeholder, "place")
