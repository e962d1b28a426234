"""The rights of raters over their data: to withdraw, to be exported without identity, to be forgotten after a time.

Withdrawal removes the content of all events of a rater; numbers, times and kinds stay, under the name `withdrawn-1`,
and an event `withdrawn` says so. After `retention_days` without an action the identity is erased: name, link and the
parameters of the platform. The answers stay, under the name `forgotten-1`.
"""

import hmac
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from turnwise.types import Dialogue, Preference, Rating
from turnwise.web.storage.events import REDACTED, Event
from turnwise.web.storage.log import Redaction, open_log
from turnwise.web.study.export import PREFERENCES_APART, SET_APART
from turnwise.web.study.ledger import Ledger, Rater
from turnwise.web.study.recorder import Recorder

_IDENTITIES = ("rater", "joined", "renewed")  # events that say who a rater is
_DAY = 24 * 60 * 60.0
_TIMES = (
    "at",
    "seconds",
)  # keys of a rating by which a person could be found in a server's or platform's log


def withdraw(recorder: Recorder, rater: Rater) -> None:
    """Remove a rater and the content of the rater's events. It waits for the disk; an error changes nothing."""
    alias = f"withdrawn-{recorder.ledger.n_withdrawn + 1}"
    recorder.flush()
    mine = _events(recorder, rater.name)
    recorder.redact([Redaction(one.seq, alias, {REDACTED: "withdrawn"}) for one in mine])
    recorder.ledger.remove(rater)
    recorder.record("withdrawn", alias)
    recorder.flush()


def forget(recorder: Recorder) -> int:
    """Erase the identity of raters whose last action is older than `retention_days`; returns their number."""
    ledger = recorder.ledger
    if ledger.study.retention_days is None:
        return 0
    before = recorder.clock() - ledger.study.retention_days * _DAY
    old = [
        rater
        for rater in ledger.raters.values()
        if max(rater.seen_at, rater.link_at) < before and (rater.token or rater.joined)
    ]
    for rater in old:
        alias = f"forgotten-{ledger.n_forgotten + 1}"
        recorder.flush()
        recorder.redact(
            [
                Redaction(one.seq, alias, {REDACTED: "forgotten"} if one.kind in _IDENTITIES else one.body)
                for one in _events(recorder, rater.name)
            ]
        )
        ledger.forget(rater, alias)
        recorder.record("forgotten", alias)
        recorder.flush()
    return len(old)


def _events(recorder: Recorder, name: str) -> list[Event]:
    """The stored events of a rater."""
    log = open_log(recorder.store, writable=False)
    try:
        return [event for event in log.replay() if event.rater == name]
    finally:
        log.close()


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
        key: [_timeless(one) for one in value] if key in (SET_APART, PREFERENCES_APART) else value
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
