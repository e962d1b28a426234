"""What a metric said about a score: a judge's reason, its verdict on each criterion, and the prompt that it was sent.

A run keeps the digest of each prompt, not its text. The prompt is made again from the dialogue and the metric's name,
and shown if its digest is the same.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from turnwise.errors import TurnwiseError
from turnwise.logs.items.selection import recorded_selection
from turnwise.metrics import resolve
from turnwise.protocols import Asks
from turnwise.report.lines import Explanation
from turnwise.report.runs import Run
from turnwise.types import Dialogue, Item, Metric, NeedsFitting

# Shown in their own place, or beside the number.
_SHOWN = frozenset({"reason", "why", "criteria", "score"})


class Said(NamedTuple):
    """One text about a score."""

    label: str
    text: str
    plain: bool = True  # False: JSON or another text of a program


def explanation(
    run: Run, metric: str, said: Any, dialogue: Dialogue | None, turn: int | None
) -> Iterator[Said]:
    """The texts of one explanation in a line of items.jsonl.

    `dialogue` is None if the score is not about what was logged but about another agent's words: these are not here.
    """
    if not isinstance(said, Mapping):
        return
    known = msgspec.convert(said, Explanation)
    for key, text in (("reason", known.reason), ("why", known.why)):
        if text:
            yield Said(f"{metric}, {key}", str(text))
    if isinstance(known.criteria, Mapping) and known.criteria:
        verdicts = ", ".join(f"{name}: {answer}" for name, answer in known.criteria.items())
        yield Said(f"{metric}, criteria", verdicts)
    if rest := {key: value for key, value in said.items() if key not in _SHOWN}:
        yield Said(f"{metric}, details", _indented(rest), plain=False)
    if isinstance(known.prompt, str) and dialogue is not None:
        yield Said(f"{metric}, prompt", _prompt(run, metric, known.prompt, dialogue, turn), plain=False)


def _prompt(run: Run, metric: str, digest: str, dialogue: Dialogue, turn: int | None) -> str:
    """The prompt with this digest; or why it cannot be shown."""
    try:
        made = _metric(metric, run.document.origin.settings.model)
    except TurnwiseError as error:
        return f"cannot be shown: {error}"
    if not isinstance(made, Asks):
        return "cannot be shown: this metric is no judge any more"
    role = recorded_selection(run.document.origin).role
    turns = dialogue.turns if turn is None else dialogue.turns[: turn + 1]
    item = Item(dialogue.id, dialogue.id, dialogue.agent, turns, turn, "", "", role=role)
    questions = made.questions(item)
    if questions[0].digest != digest:
        return "cannot be shown: the rubric, its settings or the dialogue have changed since"
    return "\n\n".join(
        f"--- {message['role']} ---\n{_text(message['content'])}"
        for one in questions
        for message in one.messages
    )


def _indented(value: Mapping[str, Any]) -> str:
    """An object as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


@lru_cache(maxsize=16)
def _metric(name: str, model: str | None) -> Metric | NeedsFitting:
    """The metric of this name."""
    return resolve(name, model=model)


def _text(content: Any) -> str:
    """The content of a message as text; of an attachment only its type."""
    if isinstance(content, str):
        return content
    return "\n".join(
        part["text"] if part["type"] == "text" else f"[attached: {part['type']}]" for part in content
    )
