"""Parses the fields of a form into an answer, or into error messages for the rater."""

import re
from collections.abc import Mapping
from typing import Any

from turnwise.web.study.definition import Question, Study
from turnwise.web.study.ledger import Slot
from turnwise.web.study.messages import Texts, texts
from turnwise.web.study.offensive import is_offensive

MAX_CHARACTERS = 10_000  # most characters of a text
# Scripts that write no spaces between words (Chinese, Japanese, Thai and others): each character counts as a word.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
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
        value = _preference(slot, given) if study.compares else _value(question, given)
        if value is None:
            problems[f"q{index}"] = _problem_message(study, question)
        else:
            values[question.name] = value
    if problems:
        raise InvalidAnswer(problems)
    return {"values": values, "understood": understood}


def _problem_message(study: Study, question: Question) -> str:
    """The message to the rater that asks for a valid answer to this question."""
    t, what = texts(study.language), question.text or question.name
    if study.compares:
        return t.fill("question.needs_choice", question=what)
    low, high = question.scale
    return t.fill("question.needs_value", question=what, low=low, high=high)


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
    t = texts(study.language)
    text = clean_text(form.get("text", ""), t)
    words = count_words(text)
    wanted = 1 if slot.task.password else study.write.least_words  # an attention check asks for three words
    if words < wanted:
        raise InvalidAnswer({"text": t.fill("question.too_few_words", least=wanted, n=words)})
    return {"values": {}, "text": text, "held": is_offensive(text, study.write.blocked)}


def count_words(text: str) -> int:
    """The number of words; of scripts without spaces between words, the number of characters."""
    return len(_UNSPACED.sub(" x ", text).split())


def clean_text(text: str, t: Texts) -> str:
    """The text stripped, with Unix line ends and without NUL; raises `InvalidAnswer` beyond 10,000 characters."""
    text = text.replace("\r\n", "\n").replace("\0", "").strip()
    if len(text) > MAX_CHARACTERS:
        raise InvalidAnswer({"text": t.fill("question.too_long", n=len(text), most=MAX_CHARACTERS)})
    return text
