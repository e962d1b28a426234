"""A judge behind an OpenAI-compatible address.

An answer without a verdict is asked for once more. With the form `schema` the server is asked to enforce the form
of the answer; one that rejects `response_format` is asked without it, and the prompt still asks for the same object.

With `weighted`, the score is the mean of the scale by the probabilities of its values at the place of the verdict
(G-Eval, Liu et al. 2023), from the log-probabilities that the server returns with the answer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from turnwise.errors import setting
from turnwise.llm.chat import Chat, ChatError, Denied, TooLong
from turnwise.llm.function import FunctionChat
from turnwise.llm.response import Completion, TokenChoice
from turnwise.metrics.judge.cost import Price, estimated_tokens
from turnwise.metrics.judge.judgement import CUT, FORMLESS, REFUSED, Answer
from turnwise.metrics.judge.prompt import VERDICT, Message, Question
from turnwise.metrics.judge.verdict import Verdict, verdict

_NEW_KEY = "max_completion_tokens"  # some servers require this key instead of max_tokens
_EXAMPLE = f'{{"max_tokens": null, "{_NEW_KEY}": 2000, "temperature": null}}'
_REMEDY = f"give judge[parameters=FILE.json] a file with {_EXAMPLE}"
_SHORTER = "judge[window=CHARACTERS] shows less of long conversations, and judges whole dialogues in parts"
_SCHEMA = ("response_format", "json_schema", "structured output")
_TOP = 20  # most probable tokens that are asked for at each place


class Spending:
    """Counts what a judge's answers cost, and allows no further question beyond a cap."""

    def __init__(self, price: Price, cap: float) -> None:
        self.price, self.cap, self.spent = price, cap, 0.0

    def check(self) -> None:
        """Raise `Denied` if the cap is reached."""
        if self.spent >= self.cap:
            raise Denied(
                f"the answers have cost {self.spent:.4g}, and {setting('--max-cost')} allows {self.cap:.4g}"
            )

    def add(self, body: bytes, answer: Completion) -> None:
        """Count an answer, by the server's tokens or else by the number of characters."""
        tokens_in = answer.tokens_in if answer.tokens_in is not None else estimated_tokens(len(body))
        tokens_out = (
            answer.tokens_out if answer.tokens_out is not None else estimated_tokens(len(answer.text))
        )
        self.spent += self.price.of(tokens_in, tokens_out)


@dataclass(frozen=True, slots=True)
class JudgeServer:
    """Asks a model at an address."""

    chat: Chat | FunctionChat
    model: str
    samples: int = 1
    temperature: float = 0.0
    longest: int = 512  # largest number of tokens of an answer
    parameters: Mapping[str, Any] = field(default_factory=dict)  # the value None removes a key
    weighted: bool = False
    spending: Spending | None = field(default=None, compare=False, repr=False)

    def ask(self, questions: Sequence[Question]) -> list[list[Answer] | ChatError]:
        """The samples of each question, or the error of one of them."""
        requests = [(question, sample) for question in questions for sample in range(self.samples)]
        answers = self._answers(requests)
        found: list[list[Answer] | ChatError] = []
        for start in range(0, len(answers), self.samples):
            mine = answers[start : start + self.samples]
            errors = [one for one in mine if isinstance(one, ChatError)]
            found.append(errors[0] if errors else [one for one in mine if isinstance(one, Answer)])
        return found

    def _answers(self, requests: Sequence[tuple[Question, int]]) -> list[Answer | ChatError]:
        """The answer to each request, after one reminder where the first answer has no verdict."""
        first = self._ask([self._body(question, question.messages, sample) for question, sample in requests])
        found = [self._read(question, answer) for (question, _), answer in zip(requests, first, strict=True)]
        again = [
            at
            for at, (one, answer) in enumerate(zip(found, first, strict=True))
            if isinstance(one, Answer) and one.verdict is None and not _refused(answer)
        ]
        bodies = []
        for at in again:
            (question, sample), answer = requests[at], first[at]
            text = answer.text if isinstance(answer, Completion) else ""
            bodies.append(self._body(question, question.reminder(text), sample))
        for at, answer in zip(again, self._ask(bodies), strict=True):
            before, second = found[at], self._read(requests[at][0], answer)
            found[at] = _both(before, second) if isinstance(before, Answer) else second
        return found

    def _ask(self, bodies: Sequence[dict[str, Any]]) -> list[Completion | ChatError]:
        """Send the bodies; those whose `response_format` the server rejects are sent once more without it."""
        rng = np.random.default_rng()  # only for the waiting times between retries; no score depends on it
        answers = self.chat.ask(bodies, rng=rng, meter=self.spending)
        plain = {
            at: {key: value for key, value in body.items() if key != "response_format"}
            for at, (body, answer) in enumerate(zip(bodies, answers, strict=True))
            if "response_format" in body
            and isinstance(answer, ChatError)
            and any(word in str(answer) for word in _SCHEMA)
        }
        for at, answer in zip(
            plain, self.chat.ask(list(plain.values()), rng=rng, meter=self.spending), strict=True
        ):
            answers[at] = answer
        return answers

    def _body(self, question: Question, messages: Sequence[Message], sample: int) -> dict[str, Any]:
        """The JSON object of a request; `sample` is its seed if there are several samples."""
        body = {
            "model": self.model,
            "messages": messages,
            "temperature": self.temperature,
            "max_tokens": self.longest,
            "seed": sample if self.samples > 1 else None,  # not every server supports this key
            "logprobs": True if self.weighted else None,
            "top_logprobs": _TOP if self.weighted else None,
            "response_format": question.schema if question.form == "schema" else None,
            **self.parameters,
        }
        return {key: value for key, value in body.items() if value is not None}

    def _read(self, question: Question, answer: Completion | ChatError) -> Answer | ChatError:
        """The verdict of an answer or why it has none; an error gets a remedy where we know one."""
        if isinstance(answer, ChatError):
            if isinstance(answer, TooLong):
                return TooLong(f"{answer}; {_SHORTER}")
            return type(answer)(f"{answer}; {_REMEDY}") if _NEW_KEY in str(answer) else answer
        # A cut answer has no verdict: its last digit may be the first of a longer number.
        usable = not (answer.refused or answer.cut)
        found = verdict(answer.text, question) if usable else None
        why = "" if found else REFUSED if answer.refused else CUT if answer.cut else FORMLESS
        expected = None
        if self.weighted and found is not None:
            expected = _expected(found, answer.tokens, question)
            if expected is None:
                return ChatError(
                    "the server returned no log-probabilities of the verdict; leave `weighted` out, or ask a server "
                    "that supports `logprobs`"
                )
        return Answer(
            found,
            why,
            expected,
            tokens_in=answer.tokens_in or 0,
            tokens_out=answer.tokens_out or 0,
            seconds=answer.seconds,
        )


def _refused(answer: Completion | ChatError) -> bool:
    """Whether the judge refused."""
    return isinstance(answer, Completion) and answer.refused


def _both(first: Answer, second: Answer | ChatError) -> Answer | ChatError:
    """The second answer, with what the first one took added."""
    if isinstance(second, ChatError):
        return second
    return second._replace(
        requests=first.requests + second.requests,
        tokens_in=first.tokens_in + second.tokens_in,
        tokens_out=first.tokens_out + second.tokens_out,
        seconds=first.seconds + second.seconds,
    )


def _expected(found: Verdict, tokens: Sequence[TokenChoice], question: Question) -> float | None:
    """The mean of the scale by the probabilities of its values at the token of the verdict; None if they are not there.

    The token is the last one that begins where the value of the verdict begins, or with a space before it.
    """
    blank = next(one for one in question.blanks if one.label == VERDICT)
    value = found.values[VERDICT]
    place = next(
        (one for one in reversed(tokens) if one.text.strip().strip('"') == value and value in blank.allowed),
        None,
    )
    if place is None:
        return None
    weights: dict[str, float] = {}
    for text, log_probability in place.alternatives.items():
        plain = text.strip().strip('"')
        if plain in blank.allowed:
            weights[plain] = weights.get(plain, 0.0) + math.exp(log_probability)
    total = sum(weights.values())
    return sum(float(one) * weight for one, weight in weights.items()) / total if total > 0 else None
