"""Strict parser of a judge's answer; an ambiguous answer has no verdict.

In the form `text` only the last lines count, and only if they are `LABEL CODE: VALUE` with the code of this question.
So numbers in the explanation, a verdict inside the scored reply, or a line copied from it are never taken for the
verdict. Asterisks and backquotes around a line are ignored, because chat models write Markdown. In the form `schema`
the answer is a JSON object with the code and a value for each label.
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.metrics.judge.prompt import Blank, Question


class Verdict(NamedTuple):
    """The values of an answer by label, and the reason before them."""

    values: dict[str, str]
    reason: str


def verdict(answer: str, question: Question) -> Verdict | None:
    """The verdict in an answer; None if it lacks a value, or has one that is not allowed or contradicted."""
    if question.form == "schema":
        return _from_object(answer, question)
    return _from_lines(answer, question.code, question.blanks)


def _from_lines(answer: str, code: str, blanks: Sequence[Blank]) -> Verdict | None:
    """The verdict in the last lines of an answer."""
    raw = [line for line in answer.splitlines() if line.strip().strip("*`").strip()]
    lines = [line.strip().strip("*`").strip() for line in raw]
    values: dict[str, str] = {}
    for place, blank in zip(range(-len(blanks), 0), blanks, strict=True):
        form = re.compile(rf"{re.escape(blank.label)} {re.escape(code)}: (\S+)")
        given = {found[1] for line in lines if (found := form.fullmatch(line))}
        if len(given) != 1 or len(lines) < len(blanks) or not form.fullmatch(lines[place]):
            return None
        (values[blank.label],) = given
        if values[blank.label] not in blank.allowed:
            return None
    return Verdict(values, "\n".join(raw[: -len(blanks)]).strip())


def _from_object(answer: str, question: Question) -> Verdict | None:
    """The verdict in a JSON object; a fence of Markdown around it is ignored."""
    text = re.sub(r"\A```(?:json)?\s*|\s*```\Z", "", answer.strip())
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("code") != question.code:
        return None
    values = {one.label: found.get(one.label) for one in question.blanks}
    allowed = all(values[one.label] in one.allowed for one in question.blanks)
    return (
        Verdict({key: str(value) for key, value in values.items()}, str(found.get("reason") or ""))
        if allowed
        else None
    )
