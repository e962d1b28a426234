"""The system turns of a task dialogue: the slots each one mentions, the dialogue state, and what has been booked.

The state is the scored system's own prediction where the log has it (`meta.predicted_states`), else the logged state.
Logged turns by people have no placeholders, so the slots that they mention are read from their dialogue acts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.errors import DataError, counted
from turnwise.metrics.task.ontology import Mention, Ontology, State
from turnwise.types import Item, Turn

REFERENCE = "reference"  # the slot of a booking's reference number
_NO_VALUE = ("?", "none", "")  # values of a dialogue act that say nothing about its slot


@dataclass(frozen=True, slots=True)
class SystemTurn:
    """One turn of the system, with the state at that point."""

    mentions: tuple[Mention, ...]
    state: Mapping[str, Mapping[str, str]]  # after the user's last message
    active: frozenset[str]  # the domains whose state changed last
    booked: frozenset[str]  # domains in which something has been booked by now

    def mentioned_slots(self, domain: str) -> set[str]:
        """The slots that the turn mentions of a domain.

        While a domain is active, every mentioned slot counts for it, whatever the placeholder's prefix: prefixes are
        unreliable (a hotel's phone is often `[restaurant_phone]`). The exception is a reference number, whose prefix
        also counts when the domain is not active.
        """
        return {
            slot
            for named, slot in self.mentions
            if domain in self.active or (named, slot) == (domain, REFERENCE)
        }


def system_turns(item: Item, ontology: Ontology, *, predicted_states: bool = True) -> list[SystemTurn]:
    """The system turns of a dialogue, in order, with the system's predicted states or with the logged ones.

    The logged states are used where the log has no predicted ones. A wrong number of predicted states, or states in
    which no name is known, is a `DataError`.
    """
    replies = [turn for turn in item.turns if turn.role == "assistant"]
    active: frozenset[str] = frozenset()
    last: Mapping[str, Any] = {}
    turns = []
    bookings = _bookings(item, len(replies))
    raw_states = predictions_of(item, len(replies)) if predicted_states else None
    states = [
        ontology.state(turn.state if raw_states is None else raw_states[number])
        for number, turn in enumerate(replies)
    ]
    _check_names(item, states, ontology)
    for turn, state, booked in zip(replies, states, bookings, strict=True):
        if (
            turn.content is not None or state
        ):  # a tool call may have no state, which must not deactivate a domain
            changed = frozenset(domain for domain in state if state[domain] != last.get(domain))
            active, last = changed or active, state
        turns.append(SystemTurn(tuple(_mentions(turn, ontology)), state, active, booked))
    return turns


def predictions_of(item: Item, count: int) -> Sequence[Mapping[str, Any]] | None:
    """The states that the system predicted, one for each of its `count` turns; None if the log has none.

    Another number of states is a `DataError`.
    """
    by_agent: Mapping[str, Sequence[Mapping[str, Any]]] = item.meta.get("predicted_states", {})
    predicted = by_agent.get(item.agent)
    if predicted is not None and len(predicted) != count:
        raise DataError(
            f"dialogue {item.dialogue}: {len(predicted)} predicted states of `{item.agent}` "
            f"for {counted(count, 'system turn')}"
        )
    return predicted


def _check_names(item: Item, states: Sequence[State], ontology: Ontology) -> None:
    """Raise `DataError` if the states have slots, but none known in a known domain: a search would be meaningless."""
    used = {(domain, slot) for state in states for domain, slots in state.items() for slot in slots}
    if used and not any(domain in ontology.domains and ontology.knows(slot) for domain, slot in used):
        names = ", ".join(sorted({f"{domain} {slot}" for domain, slot in used})[:3])
        raise DataError(
            f"dialogue {item.dialogue}: ontology `{ontology.name}` knows no domain and slot of the states of "
            f"`{item.agent}` (as {names}); their names can be mapped in a file: [ontology=FILE.toml]"
        )


def _bookings(item: Item, count: int) -> Iterator[frozenset[str]]:
    """The domains booked so far, for each system turn; all domains of the goal if the log does not record bookings."""
    by_turn = item.meta.get("booked_domains")
    if by_turn is not None and len(by_turn) == count:
        yield from (frozenset(domains) for domains in by_turn)
        return
    bookings = [(entry.get("turn", 0), entry.get("domain")) for entry in item.meta.get("booked", ())]
    system = [number for number, turn in enumerate(item.turns) if turn.role == "assistant"]
    if bookings:
        yield from (frozenset(str(domain) for at, domain in bookings if at <= number) for number in system)
        return
    yield from [frozenset(item.goal or {})] * count


def _mentions(turn: Turn, ontology: Ontology) -> Iterator[Mention]:
    """The slots that a turn mentions, by placeholders and by dialogue acts."""
    yield from ontology.mentions(turn.text)
    yield from mentions_in_acts(turn.acts or (), ontology)


def mentions_in_acts(acts: Sequence[Any], ontology: Ontology) -> Iterator[Mention]:
    """The (domain or None, slot) for which dialogue acts give a value; slots that are only requested do not count."""
    for act, slot, value in _act_triples(acts):
        domain = act.partition("-")[0].lower()
        if value not in _NO_VALUE and "request" not in act.lower():
            yield (domain if domain in ontology.domains else None), ontology.mention(slot)[1]


def delexicalised(text: str, acts: Sequence[Any], ontology: Ontology) -> str:
    """The text in lower case, with the values of its dialogue acts replaced by placeholders, the longest first."""
    text = text.lower()
    values = [(value.lower(), slot) for _, slot, value in _act_triples(acts) if value not in _NO_VALUE]
    for value, slot in sorted(values, key=lambda pair: -len(pair[0])):
        text = re.sub(rf"(?<![\w\[]){re.escape(value)}(?![\w\]])", f"[{ontology.mention(slot)[1]}]", text)
    return text


def _act_triples(acts: Sequence[Any]) -> Iterator[tuple[str, str, str]]:
    """The (act, slot, value) triples among dialogue acts; other acts are left out."""
    yield from ((str(act[0]), str(act[1]), str(act[2])) for act in acts if len(act) == 3)
