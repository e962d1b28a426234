"""One task dialogue in our words: at every system turn what was mentioned, under which state, what was booked.

A scored system's own states count, where the log has them (`meta.predicted_states`); a policy that was given
the true state is judged with that. The logged words of people are surface text: what they mention is read
from their dialogue acts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.errors import DataError, counted
from turnwise.metrics.task.ontology import Mention, Ontology, State
from turnwise.types import Item, Turn

REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Move:
    """A system turn."""

    mentions: tuple[Mention, ...]
    state: Mapping[str, Mapping[str, str]]  # after the user's last message
    active: frozenset[str]  # domains that are talked about: those whose state moved last
    booked: frozenset[str]  # domains in which something has been booked by now

    def about(self, domain: str) -> set[str]:
        """The slots mentioned of a domain: of the active one, whatever the placeholder's prefix says.

        Prefixes are unreliable (a hotel's phone is often `[restaurant_phone]`), except that a reference
        number names the booking it is of.
        """
        return {
            slot
            for named, slot in self.mentions
            if domain in self.active or (named, slot) == (domain, REFERENCE)
        }


def moves(item: Item, ontology: Ontology, *, own: bool = True) -> list[Move]:
    """The system's turns of a whole dialogue, in order; under its `own` states, or under the true ones."""
    replies = [turn for turn in item.turns if turn.role == "assistant"]
    active: frozenset[str] = frozenset()
    last: Mapping[str, Any] = {}
    found = []
    bookings = _bookings(item, len(replies))
    states = [ontology.state(given) for given in _states(item, replies, own=own)]
    _check_spelling(item, states, ontology)
    for turn, state, booked in zip(replies, states, bookings, strict=True):
        if turn.content is not None or state:  # a call of a tool need not have a state
            moved = frozenset(domain for domain in state if state[domain] != last.get(domain))
            active, last = moved or active, state
        found.append(Move(tuple(_mentions(turn, ontology)), state, active, booked))
    return found


def _states(item: Item, replies: Sequence[Turn], *, own: bool) -> Sequence[Mapping[str, Any] | None]:
    by_agent: Mapping[str, Sequence[Mapping[str, Any]]] = item.meta.get("predicted_states", {})
    predicted = by_agent.get(item.agent) if own else None
    if predicted is None:
        return [turn.state for turn in replies]
    if len(predicted) != len(replies):
        raise DataError(
            f"dialogue {item.dialogue}: {len(predicted)} predicted states of `{item.agent}` "
            f"for {counted(len(replies), 'system turn')}"
        )
    return predicted


def _check_spelling(item: Item, states: Sequence[State], ontology: Ontology) -> None:
    """States of which nothing is known would find everything, or nothing: a number of theirs would mean nothing."""
    said = {(domain, slot) for state in states for domain, slots in state.items() for slot in slots}
    if said and not any(domain in ontology.domains and ontology.knows(slot) for domain, slot in said):
        names = ", ".join(sorted({f"{domain} {slot}" for domain, slot in said})[:3])
        raise DataError(
            f"dialogue {item.dialogue}: ontology `{ontology.name}` knows no domain and slot of the states of "
            f"`{item.agent}` (as {names}); their names can be mapped in a file: [ontology=FILE.toml]"
        )


def _bookings(item: Item, count: int) -> Iterator[frozenset[str]]:
    """By turn, the domains that have been booked; all of the goal's where the log does not keep them."""
    kept = item.meta.get("booked_domains")
    if kept is not None and len(kept) == count:
        yield from (frozenset(domains) for domains in kept)
        return
    made = [(entry.get("turn", 0), entry.get("domain")) for entry in item.meta.get("booked", ())]
    places = [place for place, turn in enumerate(item.turns) if turn.role == "assistant"]
    if made:
        yield from (frozenset(str(domain) for at, domain in made if at <= place) for place in places)
        return
    yield from [frozenset(item.goal or {})] * count


def _mentions(turn: Turn, ontology: Ontology) -> Iterator[Mention]:
    yield from ontology.mentions(turn.text)
    yield from acted(turn.acts or (), ontology)


def acted(acts: Sequence[Any], ontology: Ontology) -> Iterator[Mention]:
    """What dialogue acts mention: slots with a value, not those that are asked for."""
    for act, slot, value in _valued(acts):
        domain = act.partition("-")[0].lower()
        if value not in ("?", "none", "") and "request" not in act.lower():
            yield (domain if domain in ontology.domains else None), ontology.mention(slot)[1]


def delexicalised(text: str, acts: Sequence[Any], ontology: Ontology) -> str:
    """Surface text with the values of its dialogue acts replaced by placeholders, the longest first."""
    text = text.lower()
    valued = [(value.lower(), slot) for _, slot, value in _valued(acts) if value not in ("?", "none", "")]
    for value, slot in sorted(valued, key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<![\w\[]){re.escape(value)}(?![\w\]])", f"[{ontology.mention(slot)[1]}]", text)
    return text


def _valued(acts: Sequence[Any]) -> Iterator[tuple[str, str, str]]:
    yield from ((str(act[0]), str(act[1]), str(act[2])) for act in acts if len(act) == 3)
