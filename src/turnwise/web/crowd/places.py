"""The places of a crowd: who holds one, who has lost it by doing nothing, and when a person has finished.

A person holds a place from joining until they leave (no consent, screened out, failed the practice), do nothing for
`minutes`, or turn out to be unreliable. The place of a person who left is free for the next; somebody who comes back
gets a place again if one is free. So at most `quota` people finish whose answers count. The rules for tasks are the
same for invited raters: after `minutes` without an action an unfinished task needs another rater.
"""

import hmac

from turnwise.web.study.ledger import Ledger, Rater
from turnwise.web.study.recorder import Recorder

CODE_CHARACTERS = 10


def places_left(ledger: Ledger) -> int | None:
    """The number of free places; None if there is no limit."""
    crowd = ledger.study.crowd
    if crowd is None or crowd.quota is None:
        return None
    return max(0, crowd.quota - sum(holds_place(rater) for rater in ledger.raters.values()))


def holds_place(rater: Rater) -> bool:
    """Whether a person of a crowd takes part, or has finished with answers that count."""
    return rater.joined is not None and not rater.left and not rater.place_lost and rater.is_reliable


def may_continue(ledger: Ledger, rater: Rater) -> bool:
    """Whether a rater has a place, or can have it again."""
    return not rater.place_lost or places_left(ledger) != 0


def expire(recorder: Recorder) -> None:
    """Record the event `expired` for every rater who has done nothing for too long and has something to give up."""
    ledger = recorder.ledger
    before = recorder.clock() - ledger.study.minutes * 60
    for rater in ledger.raters.values():
        if max(rater.seen_at, rater.joined_at) >= before or rater.left or rater.completed_at is not None:
            continue
        slot = rater.current
        holds_task = slot is not None and not slot.expired and max(slot.at, rater.seen_at) < before
        if holds_task or holds_place(rater):
            recorder.record("expired", rater.name)


def finish(recorder: Recorder, rater: Rater) -> None:
    """Record that a person of a crowd has finished; nothing for others, and if it is recorded already."""
    if rater.joined is not None and rater.completed_at is None and not rater.left:
        recorder.record("completed", rater.name, code=completion_code(recorder.ledger, rater))


def close_study(recorder: Recorder, reason: str = "") -> None:
    """Close the study; people of a crowd who have answered something have finished, so that they get their code."""
    recorder.record("closed", **({"reason": reason} if reason else {}))
    for rater in list(recorder.ledger.raters.values()):
        if rater.done and not rater.place_lost:
            finish(recorder, rater)


def completion_code(ledger: Ledger, rater: Rater) -> str:
    """The study's code, or a code of the person's own that only this server can compute."""
    crowd = ledger.study.crowd
    if crowd is not None and crowd.code:
        return crowd.code
    secret = bytes.fromhex(ledger.study_event["secret"])
    digest = hmac.digest(secret, f"completed:{rater.name}".encode(), "sha256")
    return digest.hex()[:CODE_CHARACTERS].upper()


def final_code(ledger: Ledger, rater: Rater) -> str:
    """The code that a person gets at the end, also one who left; "" if there is none."""
    crowd = ledger.study.crowd
    if crowd is None or rater.joined is None:
        return ""
    if rater.left == "failed_training":
        return crowd.failed_code
    return crowd.screened_out_code if rater.left else rater.code
