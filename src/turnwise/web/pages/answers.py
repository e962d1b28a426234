"""From a form's fields to an answer, or to what is wrong with it in words for the rater."""

from collections.abc import Mapping
from typing import Any

from turnwise.web.study.definition import Question, Study
from turnwise.web.study.ledger import Slot
from turnwise.web.study.offensive import offensive

LONGEST = 10_000  # characters of what somebody writes
PREFERENCES = {"first": 1.0, "tie": 0.5, "second": 0.0}  # of what is shown first


class NotAnswered(Exception):
    """The form lacks something; the message says what, field by field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


def answered(study: Study, slot: Slot, form: Mapping[str, str]) -> dict[str, Any]:
    """The body of an `answered` event."""
    if study.mode == "write":
        return _written(study, slot, form)
    understood = not (study.understood and form.get("confused") == "yes")
    values: dict[str, float] = {}
    problems: dict[str, str] = {}
    for place, question in enumerate(study.questions):
        given = form.get(f"q{place}", "")
        value = _preference(slot, given) if study.mode == "pairwise" else _value(question, given)
        if value is None:
            problems[f"q{place}"] = _asked(study, question)
        else:
            values[question.name] = value
    if problems:
        raise NotAnswered(problems)
    return {"values": values, "understood": understood}


def _asked(study: Study, question: Question) -> str:
    what = question.text or question.name
    if study.mode == "pairwise":
        return f"“{what}” wants one of the three answers."
    low, high = question.scale
    return f"“{what}” wants an answer from {low:g} to {high:g}."


def _value(question: Question, given: str) -> float | None:
    try:
        return question.nearest(float(given))
    except ValueError:
        return None


def _preference(slot: Slot, given: str) -> float | None:
    """1 where the first reply of the task is better, whichever was shown first."""
    value = PREFERENCES.get(given)
    return None if value is None else 1 - value if slot.flipped else value


def chosen(slot: Slot, value: float) -> str:
    """The field's value that an earlier preference is shown as."""
    shown = 1 - value if slot.flipped else value
    return next(name for name, number in PREFERENCES.items() if number == shown)


def _written(study: Study, slot: Slot, form: Mapping[str, str]) -> dict[str, Any]:
    text = said(form.get("text", ""))
    words = len(text.split())
    wanted = 1 if slot.task.password else study.write.least_words  # a check asks for three words and no more
    if words < wanted:
        raise NotAnswered({"text": f"Please write at least {wanted} words; there are {words}."})
    return {"values": {}, "text": text, "held": offensive(text, study.write.blocked)}


def said(text: str) -> str:
    """A message as it is kept: with plain line ends, and not longer than is allowed."""
    text = text.replace("\r\n", "\n").replace("\0", "").strip()
    if len(text) > LONGEST:
        raise NotAnswered({"text": f"That is {len(text):,} characters; {LONGEST:,} are allowed."})
    return text
