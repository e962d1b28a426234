"""The rights of raters over their data: to withdraw, to be exported without identity, to be forgotten after a time.

Withdrawal removes the content of all events of a rater; numbers, times and kinds stay, under the name `withdrawn-1`,
and an event `withdrawn` says so. After `retention_days` without an action the identity is erased: name, link and the
parameters of the platform. The answers stay, under the name `forgotten-1`. This happens when a server starts, and while
it runs.
"""

import asyncio
import hmac
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from turnwise.logs.scan import SET_APART
from turnwise.types import Dialogue, Preference, Rating
from turnwise.web.storage.events import REDACTED, Event
from turnwise.web.storage.log import Redaction, open_log
from turnwise.web.study.ledger import Ledger, Rater
from turnwise.web.study.recorder import Recorder

_IDENTITIES = ("rater", "joined", "renewed")  # events that say who a rater is
_DAY = 24 * 60 * 60.0
LONGEST_WAIT = 60 * 60.0  # seconds; the clock may be set, and raters act meanwhile
SHORTEST_WAIT = 1.0  # seconds
log = logging.getLogger(__name__)
_TIMES = (
    "at",
    "seconds",
)  # keys of a rating by which a person could be found in a server's or platform's log


def withdraw(recorder: Recorder, rater: Rater) -> None:
    """Remove a rater and the content of the rater's events. It waits for the disk; an error changes nothing."""
    alias = f"withdrawn-{recorder.ledger.n_withdrawn + 1}"
    recorder.flush()
    mine = _events(recorder, rater.name)[rater.name]
    recorder.redact([Redaction(one.seq, alias, {REDACTED: "withdrawn"}) for one in mine])
    recorder.ledger.remove(rater)
    recorder.record("withdrawn", alias)
    recorder.flush()


def forget(recorder: Recorder) -> int:
    """Erase the identity of raters whose last action is older than `retention_days`; returns their number.

    It waits for the disk; an error changes nothing.
    """
    ledger = recorder.ledger
    now = recorder.clock()
    old = {rater.name: rater for rater, due in _due(ledger) if due <= now}
    if not old:
        return 0
    recorder.flush()
    events = _events(recorder, *old)
    for name, rater in old.items():
        alias = f"forgotten-{ledger.n_forgotten + 1}"
        recorder.redact(
            [
                Redaction(one.seq, alias, {REDACTED: "forgotten"} if one.kind in _IDENTITIES else one.body)
                for one in events[name]
            ]
        )
        ledger.forget(rater, alias)
        recorder.record("forgotten", alias)
        recorder.flush()
    return len(old)


async def forget_when_due(
    recorder: Recorder, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> None:
    """Erase identities while the server runs, each when it is due; looks again at least every hour, without an end.

    What cannot be erased, because the store has an error, is tried again an hour later.
    """
    while True:
        due = min((at for _, at in _due(recorder.ledger)), default=math.inf)
        await sleep(min(max(due - recorder.clock(), SHORTEST_WAIT), LONGEST_WAIT))
        try:
            forget(recorder)
        except Exception as error:  # any error of the store; raters must be served on
            log.warning("identities could not be erased, which is tried again in an hour: %s", error)
            await sleep(LONGEST_WAIT)


def _due(ledger: Ledger) -> list[tuple[Rater, float]]:
    """The raters whose identity is known, and when it has to be erased; empty if it is kept for ever."""
    days = ledger.study.retention_days
    if days is None:
        return []
    return [
        (rater, max(rater.seen_at, rater.link_at) + days * _DAY)
        for rater in ledger.raters.values()
        if rater.token or rater.joined
    ]


def _events(recorder: Recorder, *names: str) -> dict[str, list[Event]]:
    """The stored events of each of these raters."""
    found: dict[str, list[Event]] = {name: [] for name in names}
    stored = open_log(recorder.store, writable=False)
    try:
        for event in stored.replay():
            if event.rater in found:
                found[event.rater].append(event)
    finally:
        stored.close()
    return found


def without_identities(ledger: Ledger) -> Ledger:
    """The same ledger with pseudonyms instead of the raters' names; equal in every export of the same study.

    A pseudonym cannot be computed without the secret of the store.
    """
    secret = bytes.fromhex(ledger.study_event["secret"])
    for rater in ledger.raters.values():
        rater.name = hmac.digest(secret, f"pseudonym:{rater.name}".encode(), "sha256").hex()[:12]
    return ledger


def without_times(dialogue: Dialogue) -> Dialogue:
    """The dialogue whose ratings and preferences do not say when they were given."""
    extra = {
        key: [_timeless(one) for one in value] if key in SET_APART else value
        for key, value in dialogue.extra.items()
    }

    def strip(one: Any) -> Any:
        """The rating or preference without times."""
        return replace(one, extra=_timeless(one.extra))

    ratings: tuple[Rating, ...] = tuple(map(strip, dialogue.ratings))
    preferences: tuple[Preference, ...] = tuple(map(strip, dialogue.preferences))
    return replace(dialogue, ratings=ratings, preferences=preferences, extra=extra)


def _timeless(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without times, also in earlier answers."""
    kept = {key: value for key, value in values.items() if key not in _TIMES}
    if "was" in kept:
        kept["was"] = [_timeless(old) for old in kept["was"]]
    return kept
