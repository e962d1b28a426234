"""Parses the fields of a form into an answer, or into error messages for the rater."""

from collections.abc import Mapping
from typing import Any

from turnwise.web.study.definition import Question, Study
from turnwise.web.study.ledger import Slot
from turnwise.web.study.offensive import is_offensive

MAX_CHARACTERS = 10_000  # most characters of a text
PREFERENCES = {"first": 1.0, "tie": 0.5, "second": 0.0}  # form value -> preference for the first shown


class InvalidAnswer(Exception):
    """A form with missing or invalid fields; `problems` maps the name of each such field to a message for the rater."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = dict(problems)


def parse_answer(study: Study, slot: Slot, form: Mapping[str, str]) -> dict[str, Any]:
    """The body of the event `answered` for a form (field -> text): `values` by question, and `understood`.

    In the mode `write` it has `text` and `held`, and no values. Raises `InvalidAnswer` with a message per wrong field.
    """
    if study.mode == "write":
        return _written(study, slot, form)
    understood = not (study.understood and form.get("confused") == "yes")
    values: dict[str, float] = {}
    problems: dict[str, str] = {}
    for index, question in enumerate(study.questions):
        given = form.get(f"q{index}", "")
        value = _preference(slot, given) if study.mode == "pairwise" else _value(question, given)
        if value is None:
            problems[f"q{index}"] = _problem_message(study, question)
        else:
            values[question.name] = value
    if problems:
        raise InvalidAnswer(problems)
    return {"values": values, "understood": understood}


def _problem_message(study: Study, question: Question) -> str:
    """The message to the rater that asks for a valid answer to this question."""
    what = question.text or question.name
    if study.mode == "pairwise":
        return f"“{what}” needs one of the three answers."
    low, high = question.scale
    return f"“{what}” needs an answer from {low:g} to {high:g}."


def _value(question: Question, given: str) -> float | None:
    """The point of the scale that the text of a field means; None if it is no number or not on the scale."""
    try:
        return question.to_point(float(given))
    except ValueError:
        return None


def _preference(slot: Slot, given: str) -> float | None:
    """The preference (1, .5 or 0) for the first reply of the task, whichever was shown first; None if invalid."""
    value = PREFERENCES.get(given)
    return None if value is None else 1 - value if slot.flipped else value


def preference_field(slot: Slot, value: float) -> str:
    """The form value (`first`, `tie`, `second`, as shown) of an earlier preference for the task's first reply."""
    shown = 1 - value if slot.flipped else value
    return next(name for name, number in PREFERENCES.items() if number == shown)


def _written(study: Study, slot: Slot, form: Mapping[str, str]) -> dict[str, Any]:
    """The body of the event `answered` for a written reply; `held` is True if it may be offensive.

    Raises `InvalidAnswer` for too few words, or a text that is too long.
    """
    text = clean_text(form.get("text", ""))
    words = len(text.split())
    wanted = 1 if slot.task.password else study.write.least_words  # an attention check asks for three words
    if words < wanted:
        raise InvalidAnswer({"text": f"Please write at least {wanted} words; there are {words}."})
    return {"values": {}, "text": text, "held": is_offensive(text, study.write.blocked)}


def clean_text(text: str) -> str:
    """The text stripped, with Unix line ends and without NUL; raises `InvalidAnswer` beyond 10,000 characters."""
    text = text.replace("\r\n", "\n").replace("\0", "").strip()
    if len(text) > MAX_CHARACTERS:
        raise InvalidAnswer({"text": f"That is {len(text):,} characters; {MAX_CHARACTERS:,} are allowed."})
    return text
