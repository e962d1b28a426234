"""Converts the answers of a study to ratings of tasks, and screens the raters by them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from turnwise.ratings import Screened, screen
from turnwise.types import Rating
from turnwise.web.study.definition import Question
from turnwise.web.study.ledger import Answer, Ledger, Rater, Slot

CHECK, REPEAT = "expected", "repeat"  # keys of a rating's extra
SHOWN = "shown"  # key of a rating's extra: where the first of two compared items was shown
WRITTEN = "written"  # dimension of an attention check in the mode `write`


def collected_ratings(ledger: Ledger) -> list[Rating]:
    """The ratings of the answer that counts in every slot, checks included; those of repeats come first.

    In a rating matrix the last rating of a task counts, which thus is that before the repeat.
    """
    found = [rating for rater, slot in ledger.slots for rating in _slot_ratings(ledger, rater, slot)]
    return sorted(found, key=lambda rating: REPEAT not in rating.extra)


def screen_raters(ledger: Ledger, ratings: Sequence[Rating]) -> Screened | None:
    """Screen the raters on the first question that has ratings; None before the first rating."""
    if not ratings:
        return None
    quality = ledger.study.quality
    rated = {rating.dimension for rating in ratings}
    first = next((q.name for q in ledger.study.questions if q.name in rated), ratings[0].dimension)
    return screen(ratings, first, stable_raters=True, kappa=quality.kappa, min_shared=quality.min_shared)


def _slot_ratings(ledger: Ledger, rater: Rater, slot: Slot) -> Iterator[Rating]:
    """The ratings of the slot's answer that counts, one per question; none without an answer.

    A check in the mode `write` is a rating of 1 or 0 on the dimension `written`.
    """
    answer = slot.answer
    if answer is None:
        return
    if slot.task.password:  # a check in the mode `write`: 1 if the text has the requested words
        passed = float(slot.task.password in answer.text.casefold())
        yield Rating(slot.task.id, WRITTEN, passed, rater.name, scale=(0, 1), extra={CHECK: 1.0})
    for question in ledger.study.questions:
        yield rating(slot, question, answer, rater=rater)


def rating(slot: Slot, question: Question, answer: Answer, *, rater: Rater) -> Rating:
    """The rating that an answer gives to the slot's task on one question; `turn` is set if a single reply was rated."""
    turn = slot.task.items[0].turn if len(slot.task.items) == 1 else None
    return Rating(
        item=rated_id(slot, rater),
        dimension=question.name,
        value=answer.values[question.name],
        rater=rater.name,
        turn=turn,
        scale=question.scale,
        direction=question.direction,
        extra=_extra(slot, question, answer),
    )


def rated_id(slot: Slot, rater: Rater) -> str:
    """The id of what a slot rates: the task, or the live dialogue of this rater."""
    return f"{slot.task.id}/{rater.name}" if slot.task.source else slot.task.id


def _extra(slot: Slot, question: Question, answer: Answer) -> dict[str, Any]:
    """The `extra` of a rating: time `at`, `seconds`, and as they apply `was`, `understood`, `expected`, `repeat`.

    `was` has the corrected values, `expected` the right answer of an attention check.
    """
    extra: dict[str, Any] = {"at": iso_time(answer.at), "seconds": round(slot.seconds or 0.0, 1)}
    before = slot.answers[: slot.answers.index(answer)]
    earlier = [{"value": old.values[question.name], "at": iso_time(old.at)} for old in before]
    if earlier:
        extra["was"] = earlier
    if not answer.understood:
        extra["understood"] = False
    if question.name in slot.task.expected:
        extra[CHECK] = slot.task.expected[question.name]
    if slot.purpose == "repeat":
        extra[REPEAT] = True
    if len(slot.task.agents) > 1:
        extra[SHOWN] = "second" if slot.flipped else "first"
    return extra


def iso_time(at: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC with milliseconds, such as `2024-05-01T12:00:00.000Z`."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
