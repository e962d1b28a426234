"""Rule-based dialogue-state tracking, without and with errors.

Results are cached by the texts of a dialogue, so that many systems at the same point track it once. The errors of
a system are persistent: an error depends on the system's name, the dialogue and the turn of the mention, so a
value that was tracked wrongly stays wrong until the user states it again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from turnwise.types import Turn
from turnwise.worlds.task.schema import DOMAINS, LOG_NAME, canonical
from turnwise.worlds.task.tables import Row, Tables
from turnwise.worlds.task.understanding import UserActs, parse_system_turn, parse_user_turn

State = dict[str, dict[str, str]]  # domain -> slot -> value, in canonical spelling
CRC_RANGE = 1 << 32  # number of values of a CRC-32
NOTHING = UserActs(None, {}, (), frozenset())


class Mention(NamedTuple):
    """A value that the user stated; `turn` is the number of texts of both sides up to and including it."""

    turn: int
    domain: str
    slot: str
    value: str


@dataclass(frozen=True, slots=True)
class Tracked:
    """What was said in a dialogue up to a user's turn.

    `last` is the meaning of that turn, `rows` has by domain the venue that the system named last, and `booked` the
    domains with a reference number.
    """

    mentions: tuple[Mention, ...]
    last: UserActs  # acts of the user's last turn
    rows: Mapping[str, Row]  # domain -> the venue that the system named last
    booked: frozenset[str]  # domains with a reference number

    @property
    def domain(self) -> str | None:
        """The domain of the user's last turn, or else the last one named before; None if none was named."""
        return self.last.domain


class Tracker:
    """Tracks dialogues with the lexicon of the tables, and caches the results."""

    def __init__(self, tables: Tables, *, size: int = 50_000) -> None:
        self.tables = tables
        self._size = size
        self._known: dict[tuple[str, ...], Tracked] = {}

    def __call__(self, turns: Sequence[Turn]) -> Tracked:
        """Track a dialogue up to its last turn, which must be the user's; the briefing is ignored."""
        return self.track(tuple([turn.text for turn in turns if turn.role in ("user", "assistant")]))

    def track(self, texts: tuple[str, ...]) -> Tracked:
        """Track a dialogue given as the texts of user and system in turn, the last one the user's."""
        found = self._known.get(texts)
        if found is None:
            if len(self._known) >= self._size:
                self._known.clear()
            found = self._known[texts] = self._track(texts)
        return found

    def _track(self, texts: tuple[str, ...]) -> Tracked:
        """Track the last two turns on top of the cached result for the turns before."""
        if len(texts) < 2:
            before = Tracked((), NOTHING, {}, frozenset())
        else:
            before = self._after_reply(self.track(texts[:-2]), texts[-2])
        acts = parse_user_turn(self.tables, texts[-1], before.domain)
        mentions = tuple(
            Mention(len(texts), acts.domain or "", slot, value) for slot, value in acts.informs.items()
        )
        return Tracked(before.mentions + mentions, acts, before.rows, before.booked)

    def _after_reply(self, before: Tracked, text: str) -> Tracked:
        """The history after a turn of the system, with the venue that it named and the booking that it confirmed."""
        if before.domain is None:
            return before
        system_acts = parse_system_turn(self.tables, text, before.domain)
        row = system_acts.row(before.rows.get(before.domain))
        rows = before.rows if row is None else {**before.rows, before.domain: row}
        booked = before.booked | {before.domain} if system_acts.reference else before.booked
        return Tracked(before.mentions, before.last, rows, booked)


def belief_state(tracked: Tracked) -> State:
    """The belief state, domain -> slot -> value: the last value that the user stated for each slot."""
    state: State = {}
    for mention in tracked.mentions:
        state.setdefault(mention.domain, {})[mention.slot] = mention.value
    return state


def noisy_belief_state(tracked: Tracked, tables: Tables, *, share: float, key: bytes) -> State:
    """As `belief_state`, but `share` of the mentions are wrong: half of these are lost, half get another value.

    `key` fixes which ones: the same key and dialogue give the same errors.
    """
    state: State = {}
    for mention in tracked.mentions:
        drawn = crc32(f"{mention.turn}/{mention.domain}/{mention.slot}".encode(), crc32(key))
        chance, value = drawn / CRC_RANGE, mention.value
        if chance < share / 2:
            continue
        if chance < share:
            values = possible_values(tables, mention.domain, mention.slot)
            others = [one for text in values if (one := canonical(mention.slot, text)) != mention.value]
            if not others:
                continue
            value = others[crc32(b"instead", drawn) % len(others)]
        state.setdefault(mention.domain, {})[mention.slot] = value
    return state


def possible_values(tables: Tables, domain: str, slot: str) -> Sequence[str]:
    """Values with which a slot can be confused, the true one included; for a taxi's places names of attractions."""
    if slot in ("people", "stay"):
        return tuple("12345678" if slot == "people" else "12345")
    if slot == "day":
        return ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    if slot in ("time", "leaveat", "arriveby"):
        return tuple(f"{hour:02d}:{quarter}" for hour in range(6, 22) for quarter in ("00", "15", "30", "45"))
    if domain == "taxi":
        return tables.values("attraction", "name")
    return tables.values(domain, slot)


def with_log_names(state: State) -> dict[str, dict[str, str]]:
    """The state with the slot names of logs; booking slots become `book people` and the like."""
    found = {}
    for domain, slots in state.items():
        books = DOMAINS[domain].books
        found[domain] = {
            (f"book {slot}" if slot in books else LOG_NAME.get(slot, slot)): value
            for slot, value in slots.items()
        }
    return found
