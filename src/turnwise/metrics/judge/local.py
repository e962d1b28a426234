"""A language model on this machine as a judge, without a server.

The model does not write an answer. For each line that an answer must have, the log-probability of the line with each
allowed value is computed, so every answer has the required form however small the model is. The score is the mean of
the scale by these probabilities (G-Eval's, Liu et al. 2023); a criterion gets its most probable answer. There is no
reason, because none is written.

A question that is longer than the model's context loses its beginning; the number of such texts is reported as for
every other metric with a language model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from turnwise.encode import TextInContext
from turnwise.llm.chat import ChatError
from turnwise.metrics import models
from turnwise.metrics.judge.judgement import Answer
from turnwise.metrics.judge.prompt import VERDICT, Question
from turnwise.metrics.judge.verdict import Verdict
from turnwise.types import Signature, Turn


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """Computes the probabilities of verdicts with a language model."""

    model: str

    @property
    def signature(self) -> Signature:
        """The signature of the language model."""
        return models.language_model(self.model).signature

    def ask(self, questions: Sequence[Question]) -> list[list[Answer] | ChatError]:
        """One answer to each question."""
        start = monotonic()
        lines = [
            (
                at,
                label,
                value,
                TextInContext(f"{label} {question.code}: {value}", _turns(question), "assistant"),
            )
            for at, question in enumerate(questions)
            for label, allowed, _ in question.blanks
            for value in allowed
        ]
        rows = models.language_model(self.model).score([text for *_, text in lines])
        seconds = (monotonic() - start) / max(1, len(questions))
        known = {
            (at, label, value): float(row[0]) for (at, label, value, _), row in zip(lines, rows, strict=True)
        }
        return [
            [_answer(question, at, known)._replace(seconds=seconds)] for at, question in enumerate(questions)
        ]


def _turns(question: Question) -> tuple[Turn, ...]:
    """The messages of a question as the turns of a dialogue; what is attached is left out."""
    return tuple(
        Turn(
            message["role"],
            message["content"] if isinstance(message["content"], str) else message["content"][0]["text"],
        )
        for message in question.messages
    )


def _answer(question: Question, at: int, known: dict[tuple[int, str, str], float]) -> Answer:
    """The most probable values of a question's lines, and the mean of its scale."""
    values: dict[str, str] = {}
    expected = None
    for label, allowed, _ in question.blanks:
        logs = np.array([known[at, label, value] for value in allowed])
        chances = np.exp(logs - logs.max())
        chances /= chances.sum()
        values[label] = allowed[int(chances.argmax())]
        if label == VERDICT and all(value.isdigit() for value in allowed):
            expected = float(chances @ np.array([float(value) for value in allowed]))
    return Answer(Verdict(values, ""), expected=expected, requests=0)
