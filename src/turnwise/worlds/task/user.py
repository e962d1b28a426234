"""The simulated user: an agenda over the domains of its goal (after Schatzmann et al. 2007, as in ConvLab).

The user states its constraints, answers questions, corrects misunderstandings, makes its requests and asks for
bookings. It goes on to the next domain when it has everything, and leaves after too many unhelpful replies. It
understands systems by keywords, so it can talk to any agent. It is a pure function of its goal, the dialogue so far
and the generator, which only chooses between wordings. It never asks for anything outside its goal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from turnwise.types import Turn
from turnwise.worlds.task import user_sentences
from turnwise.worlds.task.goal import Goal, Wish
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, canonical, slot_of
from turnwise.worlds.task.tables import Row, Tables
from turnwise.worlds.task.understanding import SystemActs, parse_system_turn, parse_user_turn

MAX_REPLIES = 20  # replies of the system in one dialogue, as in ConvLab (40 turns)
DRAWS = 5  # messages that are drawn to find another wording


@dataclass(slots=True)
class Progress:
    """The user's progress in one domain."""

    wish: Wish
    stated: dict[str, str] = field(
        default_factory=dict
    )  # slot -> the user's last value, in canonical spelling
    row: Row | None = None  # the current venue
    answers: dict[str, str] = field(default_factory=dict)  # slot -> value that the system told
    booked: Row | None = None  # the venue of the last booking
    details: dict[str, str] = field(default_factory=dict)  # details that the system confirmed
    taxi_state: dict[str, str] = field(default_factory=dict)  # the system's state when it named the taxi
    confirmed: bool = False  # the system gave a reference number
    fail_info_rejected: bool = False  # the system found nothing for `fail_info`
    started: bool = False  # the user has mentioned the domain
    stated_something_new: bool = False  # the user's last turn had a new value

    def current_value(self, slot: str) -> str | None:
        """The value of a slot that the user currently asks for; None if it has no preference.

        As long as the system has not rejected it, a value of `fail_info` comes before that of the goal.
        """
        wish = self.wish
        if not self.fail_info_rejected and slot in wish.fail_info:
            return wish.fail_info[slot]
        if slot in wish.info:
            value = wish.info[slot]
            return None if canonical(slot, value) == ANYTHING else value
        return None if wish.book is None else wish.book.get(slot)

    def wanted_value(self, slot: str) -> str | None:
        """The value of a slot in canonical spelling, from the goal or else as the user stated it (a taxi's places).

        None if the user has no preference.
        """
        value = canonical(slot, self.current_value(slot) or self.stated.get(slot, ANYTHING))
        return None if value == ANYTHING else value

    def unstated(self) -> list[str]:
        """The constraints of the goal that the user has not stated with their current value."""
        return [
            slot
            for slot in self.wish.info
            if self.stated.get(slot) != canonical(slot, self.current_value(slot) or ANYTHING)
        ]

    def contradicted_slots(self, system_acts: SystemActs) -> list[str]:
        """The slots for which the system stated a value against the goal.

        Booking details count only in a turn with a reference number.
        """
        details = (
            () if system_acts.reference else DOMAINS[self.wish.domain].books
        )  # before the booking they are open
        return [
            slot
            for slot, value in system_acts.informed.items()
            if slot not in details
            and (wanted := self.wanted_value(slot))
            and _contradicts(slot, value, wanted)
        ]

    def open_requests(self) -> list[str]:
        """The requested slots that the system has not told yet."""
        return [slot for slot in self.wish.requests if slot not in self.answers]

    @property
    def found(self) -> bool:
        """Whether there is a current venue; a taxi needs none."""
        return self.row is not None or self.wish.domain == "taxi"

    @property
    def done(self) -> bool:
        """Whether all constraints in this domain are stated and everything wanted was given, correct or not."""
        booked = self.wish.book is None or self.confirmed
        return self.found and not self.unstated() and not self.open_requests() and booked


@dataclass(slots=True)
class UserView:
    """The dialogue so far, as the user understands it."""

    parts: list[Progress]  # one for each domain of the goal
    current: int = 0  # index of the domain under discussion
    unhelpful_replies: int = 0  # number of unhelpful replies
    system_acts: SystemActs | None = None  # meaning of the system's last turn
    contradicted: list[str] = field(default_factory=list)  # slots that it contradicts
    last: str = ""  # text of the user's last turn
    turns: list[Turn] = field(default_factory=list)  # processed so far

    @property
    def asked_again(self) -> bool:
        """Whether the system's last turn asked the user to say it again."""
        return self.system_acts is not None and "again" in self.system_acts.keywords

    @property
    def part(self) -> Progress | None:
        """The progress in the current domain; None if the goal is finished."""
        return self.parts[self.current] if self.current < len(self.parts) else None


@dataclass(frozen=True, slots=True)
class User:
    """A simulated user with a goal, who leaves after more than `patience` unhelpful replies."""

    goal: Goal
    tables: Tables
    patience: int = 3  # unhelpful replies that the user accepts before it leaves
    _known: list[UserView] = field(default_factory=list, kw_only=True, repr=False, compare=False)

    def view(self, turns: Sequence[Turn]) -> UserView:
        """The user's view of a dialogue, computed from the texts; `turns` start with the user's first.

        If the dialogue is a continuation of the one in the last call, only the new turns are processed.
        """
        view = self._known[0] if self._known else None
        seen = [] if view is None else view.turns
        if (
            view is None
            or len(seen) > len(turns)
            or any(a is not b for a, b in zip(seen, turns[: len(seen)], strict=True))
        ):
            view = UserView([Progress(wish) for wish in self.goal])
            self._known[:] = [view]
        for turn in turns[len(view.turns) :]:
            view.turns.append(turn)
            if turn.role == "user":
                self._after_user_turn(view, turn.text)
            elif turn.role == "assistant":
                self._after_system_turn(view, turn)
        return view

    def _after_user_turn(self, view: UserView, text: str) -> None:
        """Update the view after a turn of the user."""
        view.last = text
        if (part := view.part) is not None:
            before = dict(part.stated)
            part.stated.update(parse_user_turn(self.tables, text, part.wish.domain).informs)
            part.started, part.stated_something_new = True, part.stated != before

    def _after_system_turn(self, view: UserView, turn: Turn) -> None:
        """Update the view after a turn of the system, and go on to the next domain if this one is done."""
        part = view.part
        if part is None:
            return
        domain = part.wish.domain
        view.system_acts = system_acts = parse_system_turn(self.tables, turn.text, domain)
        view.contradicted = part.contradicted_slots(system_acts)
        if not self._update_progress(part, system_acts) or view.contradicted:
            view.unhelpful_replies += 1
        if domain not in self.tables.rows and any(
            slot in system_acts.informed for slot in DOMAINS[domain].requests
        ):
            known = part.stated if turn.state is None else turn.state.get(domain, {})
            part.taxi_state = {
                (slot := slot_of(name)): canonical(slot, str(value)) for name, value in known.items()
            }
        if any(slot in DOMAINS[domain].informs for slot in view.contradicted):
            part.row = None  # it does not meet the constraints
            part.answers.clear()
        if part.done and not view.contradicted:
            view.current += 1

    def _update_progress(self, part: Progress, system_acts: SystemActs) -> bool:
        """Update the progress on one domain of the goal after a turn of the system; return whether it made any."""
        wish = part.wish
        before = (part.row, len(part.answers), part.confirmed, part.fail_info_rejected, dict(part.details))
        part.row = system_acts.row(part.row)
        if part.row is not before[0]:
            part.answers.clear()  # they belong to another venue
        values = dict(system_acts.informed) | dict.fromkeys(system_acts.unknown, "?")
        facts = DOMAINS[wish.domain]
        if part.found:
            part.answers |= {slot: value for slot, value in values.items() if slot in facts.requests}
        if system_acts.reference and wish.book is not None:
            part.booked, part.confirmed = part.row, True
            part.details = {slot: value for slot, value in values.items() if slot in facts.books}
        if "none" in system_acts.keywords and not system_acts.rows and wish.fail_info:
            part.fail_info_rejected = True
        after = (part.row, len(part.answers), part.confirmed, part.fail_info_rejected, dict(part.details))
        useful = any(slot not in part.stated for slot in system_acts.asked)
        return useful or after != before or (part.stated_something_new and bool(system_acts.rows))

    def first_message(self, rng: np.random.Generator) -> str:
        """The message with which the user starts the dialogue."""
        return self._start_domain(UserView([Progress(wish) for wish in self.goal]), rng)

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        """The user's reply to the last of `turns`, or None if the user has said goodbye."""
        view = self.view(turns)
        if "bye" in parse_user_turn(self.tables, view.last, None).keywords:
            return None
        replies = sum(turn.role == "assistant" for turn in turns)
        part = view.part
        if part is None:
            return user_sentences.pick(user_sentences.DONE, rng)
        if view.unhelpful_replies > self.patience or replies >= MAX_REPLIES - 1:
            return user_sentences.pick(user_sentences.LEAVING, rng)
        if view.asked_again:
            return self._say_again(view, rng)
        return self._choose_message(view, part, rng)

    def _say_again(self, view: UserView, rng: np.random.Generator) -> str:
        """Another message at the point of the user's last one, in other words if the wordings allow it.

        As with ConvLab's users, the wording is drawn anew: a policy that did not understand the same words once would
        never understand them.
        """
        turns = view.turns[: max(place for place, turn in enumerate(view.turns) if turn.role == "user")]
        before = User(self.goal, self.tables, self.patience)  # its view is of the dialogue up to then
        for _ in range(DRAWS):
            said = self._message_at(before.view(turns), rng)
            if said != view.last:
                break
        return said

    def _message_at(self, view: UserView, rng: np.random.Generator) -> str:
        """The message by the agenda at this point of the dialogue, whatever the user's patience."""
        if view.asked_again:
            return self._say_again(view, rng)
        part = view.part
        return view.last if part is None else self._choose_message(view, part, rng)

    def _choose_message(self, view: UserView, part: Progress, rng: np.random.Generator) -> str:
        """The next message by the agenda: correct, answer, state constraints, request or book."""
        system_acts = view.system_acts
        if not part.started or system_acts is None:
            return self._start_domain(view, rng)
        if view.contradicted:
            return _join(
                user_sentences.pick(user_sentences.CORRECTIONS, rng),
                self._state_slots(view, part, view.contradicted, rng),
            )
        if system_acts.asked:
            return self._answer_questions(view, part, system_acts.asked, rng)
        unstated = part.unstated()
        if "none" in system_acts.keywords and part.fail_info_rejected and unstated:
            return _join(
                user_sentences.pick(user_sentences.CHANGES, rng), self._state_slots(view, part, unstated, rng)
            )
        if unstated:
            return self._state_slots(view, part, unstated[: 1 + (rng.random() < 0.5)], rng)
        opener = user_sentences.pick(user_sentences.OPENERS, rng)
        if not part.found:
            slots = list(part.wish.info)
            return _join(
                user_sentences.pick(user_sentences.COMPLAINTS, rng), self._state_slots(view, part, slots, rng)
            )
        requests, book = part.open_requests(), part.wish.book
        if book is not None and not part.confirmed and not (requests and rng.random() < 0.5):
            if rng.random() < 0.3 and not part.stated.keys() & book.keys():
                return user_sentences.pick(user_sentences.BOOKING_REQUESTS_WITHOUT_DETAILS, rng)
            return _join(opener, _booking_request(part, rng))
        nouns = user_sentences.join_with_and([user_sentences.noun(slot) for slot in requests])
        return _join(opener, user_sentences.pick(user_sentences.SLOT_REQUESTS, rng).format(nouns))

    def _start_domain(self, view: UserView, rng: np.random.Generator) -> str:
        """The first message on the current domain, with up to three of its constraints (taxi: all, and its route)."""
        part = view.parts[view.current]
        slots = {slot: value for slot in part.wish.info if (value := part.current_value(slot)) is not None}
        if part.wish.domain == "taxi":
            slots |= _taxi_route(view)
            return user_sentences.pick(
                user_sentences.FURTHER_TAXI_REQUESTS if view.current else user_sentences.FIRST_TAXI_REQUESTS,
                rng,
            ).format(user_sentences.modifiers(slots))
        count = max(1, min(len(slots), 1 + int(rng.random() * 3)))
        chosen = dict(list(slots.items())[:count])
        leads = user_sentences.FURTHER_REQUESTS if view.current else user_sentences.FIRST_REQUESTS
        said = user_sentences.pick(leads, rng).format(user_sentences.noun_phrase(part.wish.domain, chosen))
        return _join(said, user_sentences.pick(user_sentences.LAST_SENTENCES, rng))

    def _answer_questions(
        self, view: UserView, part: Progress, asked: Sequence[str], rng: np.random.Generator
    ) -> str:
        """The answer to the system's questions, with a reminder if all of it was stated before."""
        slots = [_slot_to_answer(part.wish, slot) for slot in asked]
        reminds = all(slot in part.stated for slot in slots)
        said = self._state_slots(view, part, list(dict.fromkeys(slots)), rng)
        return _join(user_sentences.pick(user_sentences.REMINDERS, rng), said) if reminds else said

    def _state_slots(
        self, view: UserView, part: Progress, slots: Sequence[str], rng: np.random.Generator
    ) -> str:
        """Sentences that state the current values of `slots`, in order, or that the user has no preference."""
        route = _taxi_route(view) if part.wish.domain == "taxi" else {}
        return " ".join(
            user_sentences.statement(slot, part.current_value(slot) or route.get(slot), rng) for slot in slots
        )


def _contradicts(slot: str, stated: str, wanted: str) -> bool:
    """Whether a stated value contradicts the wanted one; a train may leave later and arrive earlier."""
    if slot == "leaveat":
        return stated < wanted
    return stated > wanted if slot == "arriveby" else stated not in (wanted, ANYTHING)


def _slot_to_answer(wish: Wish, slot: str) -> str:
    """The slot to answer a question with: asked for its departure time, a user with an arrival time states that."""
    other = slot == "leaveat" and slot not in wish.info and "arriveby" in wish.info
    return "arriveby" if other else slot


def _taxi_route(view: UserView) -> dict[str, str]:
    """`departure` and `destination` if the taxi's goal does not name them: the first and the second venue found.

    A place is left out as long as its venue is not found.
    """
    names = [part.row.values["name"].lower() for part in view.parts if part.row and "name" in part.row.values]
    info = view.parts[view.current].wish.info
    ends = ("departure", "destination")[: len(names)]
    return {slot: name for slot, name in zip(ends, names[: len(ends)], strict=True) if slot not in info}


def _booking_request(part: Progress, rng: np.random.Generator) -> str:
    """The request for a booking with its details; without details if the goal lacks some."""
    book = part.wish.book or {}
    details = {slot: user_sentences.value_in_words(slot, value) for slot, value in book.items()}
    if set(details) != set(DOMAINS[part.wish.domain].books):  # the goal lacks some details
        return user_sentences.pick(user_sentences.BOOKING_REQUESTS_WITHOUT_DETAILS, rng)
    tickets = f"{book.get('people')} ticket{'s' * (book.get('people') != '1')}"
    return user_sentences.pick(user_sentences.BOOKING_REQUESTS[part.wish.domain], rng).format(
        **details, tickets=tickets
    )


def _join(*texts: str) -> str:
    """The non-empty texts, joined with spaces."""
    return " ".join(text for text in texts if text)
