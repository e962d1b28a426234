"""A language model as a judge, at any OpenAI-compatible address (Zheng et al. 2023; Liu et al. 2023, G-Eval).

The model is sent a dialogue with its last reply and gives an integer on a scale; the score is the mean over replies,
and higher is better. The temperature is 0. The answer is parsed strictly (see `verdict`), and an answer without a
verdict is asked for once more.

How we differ from the papers. G-Eval weighs each score by its probability, or averages 20 samples at temperature 1;
here the default is one sample at temperature 0, because few servers return probabilities (see `samples` and
`temperature`).

The signature contains the model's name and a digest of the complete prompt. It does not contain the address: the same
model at another address is the same judge, and an address may contain secrets. The name is all that a server discloses
about its weights, so other weights need another name. Verdicts are cached on disk by signature and question, including
the absence of a verdict, so that a question is paid for only once. Errors are not cached.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from turnwise.encode import Cache
from turnwise.errors import UsageError
from turnwise.llm.chat import Chat, ChatError, Completion
from turnwise.metrics.rows import Ratio
from turnwise.metrics.unreferenced.cost import Cost, Price
from turnwise.metrics.unreferenced.prompt import Prompt, Question, criteria
from turnwise.metrics.unreferenced.verdict import verdict
from turnwise.types import Card, Floats, Item, Level, Need, Signature, digest

# Environment variables that set the address, the model and the price of tokens.
ADDRESS, MODEL, PRICE = "TURNWISE_JUDGE_ADDRESS", "TURNWISE_JUDGE_MODEL", "TURNWISE_JUDGE_PRICE"

_NEW_KEY = "max_completion_tokens"  # some servers require this key instead of max_tokens
_EXAMPLE = f'{{"max_tokens": null, "{_NEW_KEY}": 2000, "temperature": null}}'
_REMEDY = f"give judge[parameters=FILE.json] a file with {_EXAMPLE}"


@dataclass(frozen=True, slots=True)
class Judge(Ratio):
    """`judge`: the verdict of a language model on a reply."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "the judge refused, or gave no verdict in the required form"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="A language model's verdict on a reply in its context; mean over replies.",
        range="the scale, 1-5 unless another is given",
        limits="A judge prefers long replies, replies like its own and, in pairs, one of the two positions; the reply "
        "can manipulate it. Scores of different models or prompts cannot be compared. Check it with "
        "`turnwise meta` on your own ratings, and print `length` beside it.",
        citation="Zheng et al. 2023, Judging LLM-as-a-judge with MT-Bench and Chatbot Arena",
    )

    chat: Chat | None
    model: str
    prompt: Prompt
    samples: int = 1  # verdicts that are averaged for one item
    temperature: float = 0.0
    longest: int = 512  # largest number of tokens of an answer
    # Further keys of a request; the value None removes a key.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    price: Price | None = field(default=None, compare=False)
    cache: Cache | None = field(default=None, repr=False, compare=False)
    # Results, by question code, of a batch in which some items failed. The runner then scores the items one by one,
    # and takes the results from here, so that no answer is paid for twice.
    partial: dict[str, float | ChatError] = field(init=False, default_factory=dict, repr=False, compare=False)

    @property
    def signature(self) -> Signature:
        """Model, dimension, scale, digest of the prompt, and how it is asked; `UsageError` without a model's name.

        It needs no address, so cached verdicts can be used without one.
        """
        if not self.model:
            raise self._not_configured()
        low, high = self.prompt.scale
        settings = {
            "model": self.model,
            "dimension": self.prompt.dimension,
            "scale": f"{low}-{high}",
            "prompt": self.prompt.digest,
            "samples": str(self.samples),
            "temperature": str(self.temperature),
            "longest": str(self.longest),
        }
        if self.parameters:
            settings["parameters"] = digest(json.dumps(self.parameters, sort_keys=True))
        return Signature("judge", tuple(settings.items()))

    @property
    def verdicts(self) -> tuple[int]:
        """The highest value of the scale, alone in a tuple; an attack tries to make the judge give it."""
        return (self.prompt.scale[1],)

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the verdict and 1; NaN without a verdict. Raises `ChatError` if the server fails."""
        rows = np.ones((len(items), 2))
        if items:
            rows[:, 0] = self._scores(items)
        return rows

    def cost(self, items: Sequence[Item], /) -> Cost:
        """The cost of scoring the items: of the different questions whose verdicts are not cached.

        Reminders after an answer without a verdict are not counted.
        """
        questions = {question.code: question for question in map(self.prompt.grade, items)}
        cached = self._cached(list(questions.values()))
        new = [question for code, question in questions.items() if code not in cached]
        characters = sum(len(message["content"]) for question in new for message in question.messages)
        requests = len(new) * self.samples
        return Cost.of(characters * self.samples, requests, longest=self.longest, price=self.price)

    def _scores(self, items: Sequence[Item]) -> list[float]:
        """The score of each item, from `partial`, the cache or the server; raises the first `ChatError`."""
        questions = [self.prompt.grade(item) for item in items]
        known = dict(self.partial) if len(items) == 1 else {}
        known |= self._cached([question for question in questions if question.code not in known])
        new = {question.code: question for question in questions if question.code not in known}
        known |= self._scores_from_server(new)
        scores = [known[question.code] for question in questions]
        failure = next((score for score in scores if isinstance(score, ChatError)), None)
        if len(items) > 1:
            self.partial.clear()
        if failure is None:
            return [score for score in scores if not isinstance(score, ChatError)]
        if len(items) > 1:
            self.partial.update(known)
        else:
            # Report an error once; the next call asks the server again.
            self.partial.pop(questions[0].code, None)
        raise failure

    def _cached(self, questions: Sequence[Question]) -> dict[str, float]:
        """Cached scores by question code; NaN for a cached answer without a verdict. Empty without a cache."""
        if self.cache is None or not self.model or not questions:
            return {}
        codes = {_cache_key(question): question.code for question in questions}
        found = self.cache.read(str(self.signature), list(codes))
        return {codes[key]: float(value[0]) for key, value in found.items()}

    def _scores_from_server(self, questions: Mapping[str, Question]) -> dict[str, float | ChatError]:
        """Scores from the server by question code; all except errors are written to the cache."""
        if not questions:
            return {}
        scores = dict(zip(questions, self._mean_scores(list(questions.values())), strict=True))
        if self.cache is not None:
            to_cache = {
                _cache_key(questions[code]): np.array([score])
                for code, score in scores.items()
                if not isinstance(score, ChatError)
            }
            self.cache.write(str(self.signature), to_cache)
        return scores

    def _mean_scores(self, questions: Sequence[Question]) -> list[float | ChatError]:
        """The mean verdict of each question over `samples` requests.

        NaN without a verdict, the error where a sample failed.
        """
        verdicts = self._ask_server(
            [(question, sample) for question in questions for sample in range(self.samples)]
        )
        starts = range(0, len(verdicts), self.samples)
        return [_mean_verdict(verdicts[start : start + self.samples]) for start in starts]

    def _ask_server(self, requests: Sequence[tuple[Question, int]]) -> list[str | ChatError | None]:
        """The verdict on each (question, sample) from the server; None if there is no verdict even after one reminder.

        A request that failed gives its `ChatError`. Raises `UsageError` without an address or a model.
        """
        if self.chat is None or not self.model:
            raise self._not_configured()
        rng = np.random.default_rng()  # only for the waiting times between retries; no score depends on it
        bodies = [self._body(question.messages, sample) for question, sample in requests]
        answers = self.chat.ask(bodies, rng=rng)
        verdicts = [
            _verdict_of(question, answer) for (question, _), answer in zip(requests, answers, strict=True)
        ]
        reminders = {
            index: requests[index][0].reminder(answer.text)
            for index, answer in enumerate(answers)
            if isinstance(answer, Completion) and not answer.refused and verdicts[index] is None
        }
        bodies = [self._body(messages, requests[index][1]) for index, messages in reminders.items()]
        for index, answer in zip(reminders, self.chat.ask(bodies, rng=rng), strict=True):
            verdicts[index] = _verdict_of(requests[index][0], answer)
        return verdicts

    def _not_configured(self) -> UsageError:
        """The error that names the missing environment variables."""
        needed = {f"{ADDRESS} (like https://HOST/v1)": self.chat, MODEL: self.model}
        missing = " and ".join(name for name, value in needed.items() if not value)
        return UsageError(f"the judge needs the address and the name of a model: set {missing}")

    def _body(self, messages: Sequence[Mapping[str, str]], sample: int) -> dict[str, Any]:
        """The JSON object of a request; `sample` is its seed if there are several samples."""
        body = {
            "model": self.model,
            "messages": messages,
            "temperature": self.temperature,
            "max_tokens": self.longest,
            "seed": sample if self.samples > 1 else None,  # not every server supports this key
            **self.parameters,
        }
        return {key: value for key, value in body.items() if value is not None}


def judge(
    *,
    address: str | None = None,
    model: str | float | None = None,
    prompt: str | None = None,
    dimension: str = "overall",
    scale: str = "1-5",
    concurrency: int = 8,
    samples: int = 1,
    temperature: float = 0.0,
    longest: int = 512,
    parameters: Mapping[str, Any] | str | None = None,
    price: str | float | None = None,
    cache: bool = True,
) -> Judge:
    """Create a judge from its settings; nothing is sent until it scores.

    `prompt` is a file with the meaning of the dimension. `parameters` are further keys of a request, or a JSON file
    with them. Address, model and price default to environment variables. A wrong setting is a `UsageError`.
    """
    address = address or os.environ.get(ADDRESS)
    price = os.environ.get(PRICE) if price is None else price
    if not (_is_number(temperature) and 0 <= temperature < math.inf):
        raise UsageError(f"a judge takes a temperature of 0 or more, not `{temperature}`")
    for name, count in (("samples", samples), ("longest", longest), ("concurrency", concurrency)):
        if not (_is_number(count) and count == int(count) >= 1):
            raise UsageError(f"a judge takes a whole number of `{name}`, 1 or more, not `{count}`")
    return Judge(
        chat=Chat(address=address, concurrency=int(concurrency)) if address else None,
        model=str(model or os.environ.get(MODEL, "")),
        prompt=Prompt(str(dimension), criteria(str(dimension), prompt), _parse_scale(str(scale))),
        samples=int(samples),
        temperature=float(temperature),
        longest=int(longest),
        parameters=_parameters_from_file(parameters) if isinstance(parameters, str) else parameters or {},
        price=Price.parse(str(price)) if price not in (None, "") else None,
        cache=Cache() if cache else None,
    )


def _parameters_from_file(path: str) -> Mapping[str, Any]:
    """The request parameters in a JSON file; `UsageError` if it cannot be read or is no object."""
    try:
        parameters = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"the judge's parameters {path} cannot be read: {error}") from error
    if not isinstance(parameters, dict):
        raise UsageError(f"the judge's parameters {path} are no JSON object")
    return parameters


def _cache_key(question: Question) -> bytes:
    """The digest of the question's messages, as bytes."""
    return digest(*(message["content"] for message in question.messages)).encode()


def _is_number(value: object) -> bool:
    """Whether a setting is a finite number; on a command line it can be any text."""
    return isinstance(value, int | float) and math.isfinite(value)


def _parse_scale(text: str) -> tuple[int, int]:
    """Parse `LOW-HIGH`, two whole numbers up to 1000; anything else is a `UsageError`."""
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and int(low) < int(high) <= 1000):
        raise UsageError(f"the scale `{text}` is not LOW-HIGH, two whole numbers such as 1-5")
    return int(low), int(high)


def _verdict_of(question: Question, answer: Completion | ChatError) -> str | ChatError | None:
    """The verdict of an answer; None without one; an error with a remedy added where we know it."""
    if isinstance(answer, ChatError):
        return type(answer)(f"{answer}; {_REMEDY}") if _NEW_KEY in str(answer) else answer
    # A truncated answer has no verdict: its last digit may be the first of a longer number.
    return None if answer.refused or answer.cut else verdict(answer.text, question.code, question.allowed)


def _mean_verdict(verdicts: Sequence[str | ChatError | None]) -> float | ChatError:
    """The mean of the verdicts that were given, NaN if there is none; if a sample failed, the first error instead."""
    values = []
    for each in verdicts:
        if isinstance(each, ChatError):
            return each
        if each is not None:
            values.append(float(each))
    return sum(values) / len(values) if values else math.nan
