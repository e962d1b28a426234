"""Answers as ratings of tasks: what agreement is measured on, and raters are screened by."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from turnwise.types import Rating
from turnwise.web.study.definition import Question
from turnwise.web.study.ledger import Answer, Ledger, Rater, Slot

CHECK, REPEAT = "expected", "repeat"  # keys of a rating's extra
WRITTEN = "written"  # the dimension of a check in which people write


def judgements(ledger: Ledger) -> list[Rating]:
    """Every answer's values. Repeats come before the rest: of two answers to one task the first is the judgement."""
    found = [rating for rater, slot in ledger.slots for rating in _of(ledger, rater, slot)]
    return sorted(found, key=lambda rating: REPEAT not in rating.extra)


def _of(ledger: Ledger, rater: Rater, slot: Slot) -> Iterator[Rating]:
    answer = slot.answer
    if answer is None:
        return
    if slot.task.password:  # a check in which people write: 1 where the words are there
        passed = float(slot.task.password in answer.text.casefold())
        yield Rating(slot.task.id, WRITTEN, passed, rater.name, scale=(0, 1), extra={CHECK: 1.0})
    for question in ledger.study.questions:
        yield rating(slot, question, answer, rater=rater)


def rating(slot: Slot, question: Question, answer: Answer, *, rater: Rater) -> Rating:
    turn = slot.task.items[0].turn if len(slot.task.items) == 1 else None
    return Rating(
        item=unit(slot, rater),
        dimension=question.name,
        value=answer.values[question.name],
        rater=rater.name,
        turn=turn,
        scale=question.scale,
        direction=question.direction,
        extra=_extra(slot, question, answer),
    )


def unit(slot: Slot, rater: Rater) -> str:
    """What a slot's answer is about: the task, or the conversation that this rater held on it."""
    return f"{slot.task.id}/{rater.name}" if slot.task.source else slot.task.id


def _extra(slot: Slot, question: Question, answer: Answer) -> dict[str, Any]:
    """When it was said and how long it took, and what was said before it was corrected."""
    extra: dict[str, Any] = {"at": when(answer.at), "seconds": round(slot.seconds or 0.0, 1)}
    earlier = [{"value": old.values[question.name], "at": when(old.at)} for old in slot.answers[:-1]]
    if earlier:
        extra["was"] = earlier
    if not answer.understood:
        extra["understood"] = False
    if question.name in slot.task.expected:
        extra[CHECK] = slot.task.expected[question.name]
    if slot.purpose == "repeat":
        extra[REPEAT] = True
    return extra


def when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
