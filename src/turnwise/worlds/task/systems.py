"""Systems: one rule-based policy over a tracker and the tables, and the habits by which systems differ.

As the sellers of the booking world they are pure functions of what they see and of the generator. What a system
writes has placeholders; values are filled in as for any delexicalised policy, but from its own tracker, whose
errors are its own too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.types import Turn
from turnwise.worlds.play import AnnotatedReply
from turnwise.worlds.task import replies, wording
from turnwise.worlds.task.lexicalise import DELEXICALISED, Source, code_of, filled
from turnwise.worlds.task.schema import DOMAINS, TIMES
from turnwise.worlds.task.tables import UNKNOWN, Row
from turnwise.worlds.task.tracking import History, State, Tracker, mistracked, spelt, tracked

FEW = 4  # venues among which a system chooses without a further question


@dataclass(frozen=True, slots=True)
class Habits:
    """How a system errs. A share is the chance that it happens in a turn, where it can."""

    mishears: float = 0.0  # share of what the user said that is lost or taken for something else
    misnames: float = 0.0  # names another venue than the one that it describes
    misinforms: float = 0.0  # tells what was asked for of another venue
    omits: float = 0.0  # leaves out each thing that was asked for
    gives_up: float = 0.0  # says that there is nothing
    unbooked: float = 0.0  # does not book what it is told to
    repeats: float = 0.0  # asks for something that it was told
    stalls: float = 0.0  # asks to say that again
    strays: float = 0.0  # ends instead of answering
    hurries: float = 0.0  # offers at once, questions left
    questions: int = 1  # asked at once


@dataclass(frozen=True, slots=True)
class System:
    tracker: Tracker
    habits: Habits = Habits()
    name: str = "system"

    def state(self, turns: Sequence[Turn]) -> State:
        """What it believes the user to want, by now."""
        return self._state(self.tracker(turns), code_of(turns))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> AnnotatedReply:
        history, code = self.tracker(turns), code_of(turns)
        state = self._state(history, code)
        text, source = self._reply(history, state, code, rng)
        made = filled(text, {} if source is None else {source.domain: source}, history.domain or "")
        surface, acts = made or (replies.AGAIN, [])
        return AnnotatedReply(
            surface,
            state=spelt(state),
            acts=tuple(acts),
            extra={DELEXICALISED: text if made else replies.AGAIN},
        )

    def _state(self, history: History, code: int) -> State:
        if not self.habits.mishears:
            return tracked(history)
        key = f"{self.name}/{code}".encode()
        return mistracked(history, self.tracker.tables, share=self.habits.mishears, key=key)

    def _reply(
        self, history: History, state: State, code: int, rng: np.random.Generator
    ) -> tuple[str, Source | None]:
        """What is said, with placeholders, and what they are filled from."""
        habits, acts, domain = self.habits, history.last, history.domain
        stalls, gives_up, repeats, strays, hurries = rng.random(5).tolist()
        if strays < habits.strays or ("bye" in acts.words and not (acts.informs or acts.requests)):
            return replies.BYE, None
        if domain is None:
            return replies.HELP, None
        if stalls < habits.stalls:
            return replies.AGAIN, None
        if gives_up < habits.gives_up:
            return replies.NONE[domain], None
        known = state.get(domain, {})
        facts = DOMAINS[domain]
        said = [slot for slot in (*facts.asks, *facts.books) if slot in known]
        if said and repeats < habits.repeats:
            return replies.QUESTIONS[said[int(rng.random() * len(said))]], None
        if domain == "taxi":
            missing = _missing(known, facts.asks)
            return (self._asking(missing), None) if missing else self._ride(known, code)
        rows = self.tracker.tables.matching(domain, known)
        named = history.rows.get(domain)
        if acts.requests and (row := named or next(iter(rows), None)) is not None:
            return self._telling(row, acts.requests, Source(domain, row.values, known, code, len(rows)), rng)
        if facts.books and ("book" in acts.words or any(slot in acts.informs for slot in facts.books)):
            return self._booking(named if named else next(iter(rows), None), known, code, domain, rng)
        missing = _missing(known, facts.asks)
        if missing and len(rows) > FEW and hurries >= habits.hurries:
            return self._asking(missing), None
        if not rows:
            return replies.NONE[domain], None
        row = named if named in rows else rows[0]
        return self._offer(row, Source(domain, row.values, known, code, len(rows)), rng)

    def _asking(self, missing: Sequence[str]) -> str:
        return " ".join(replies.QUESTIONS[slot] for slot in missing[: self.habits.questions])

    def _offer(self, row: Row, source: Source, rng: np.random.Generator) -> tuple[str, Source]:
        if rng.random() < self.habits.misnames:
            offer = DOMAINS[row.domain].offer
            other = self._other(row, rng)
            source = _changed(source, {offer: other.values[offer]})
        text = replies.OFFERS[row.domain]
        for slot in DOMAINS[row.domain].informs:
            if source.value(slot) is None:
                text = _without(text, f"[{row.domain}_{slot}]")
        return f"{text} {replies.OFFERED[row.domain]}", source

    def _telling(
        self, row: Row, requests: Sequence[str], source: Source, rng: np.random.Generator
    ) -> tuple[str, Source]:
        told = [slot for slot in requests if rng.random() >= self.habits.omits]
        sentences = []
        for slot in told:
            if rng.random() < self.habits.misinforms:
                source = _changed(source, {slot: self._other(row, rng).values.get(slot, UNKNOWN)})
            template = replies.TOLD if source.value(slot) is not None else replies.UNTOLD
            offer = DOMAINS[row.domain].offer
            sentences.append(
                template.format(noun=wording.noun(slot), domain=row.domain, offer=offer, slot=slot)
                if slot != offer
                else f"It is [{row.domain}_{slot}]."
            )
        return " ".join([*sentences, replies.FURTHER]), source

    def _booking(
        self, row: Row | None, known: Mapping[str, str], code: int, domain: str, rng: np.random.Generator
    ) -> tuple[str, Source | None]:
        if row is None:
            return replies.NONE[domain], None
        missing = _missing(known, DOMAINS[domain].books)
        if missing:
            return " ".join(replies.QUESTIONS[slot] for slot in missing), None
        source = Source(domain, row.values, known, code, 1)
        if rng.random() < self.habits.unbooked:
            return f"{replies.UNBOOKED} {replies.FURTHER}", source
        return f"{replies.BOOKED[domain]} {replies.FURTHER}", source

    def _ride(self, known: Mapping[str, str], code: int) -> tuple[str, Source]:
        return replies.BOOKED["taxi"], Source("taxi", {}, known, code)

    def _other(self, row: Row, rng: np.random.Generator) -> Row:
        rows = self.tracker.tables.rows[row.domain]
        return rows[int(rng.random() * len(rows))]


def _changed(source: Source, values: Mapping[str, str]) -> Source:
    return Source(source.domain, {**source.values, **values}, source.known, source.code, source.count)


def _missing(known: Mapping[str, str], slots: Sequence[str]) -> list[str]:
    """What was not told; of the two times of a journey one is enough."""
    timed = any(slot in known for slot in TIMES)
    return [slot for slot in slots if slot not in known and not (slot in TIMES and timed)]


def _without(text: str, placeholder: str) -> str:
    """A sentence without a placeholder for which there is no value, and without the words that lead to it."""
    for words in (
        f" in the {placeholder}",
        f" with {placeholder} stars,",
        f", {placeholder}",
        f" and {placeholder}",
    ):
        text = text.replace(words, "")
    return text.replace(f"{placeholder} ", "").replace(placeholder, "place")
