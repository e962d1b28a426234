"""A language model as the judge, behind any OpenAI-compatible address (Zheng et al. 2023; Liu et al. 2023, G-Eval).

The model is shown a conversation and its last reply and gives an integer on a scale; the number is the mean over
replies. Temperature is 0 and an answer is read strictly (verdict.py); one that has no verdict is reminded once. Pairs
are asked in both orders. Differences: G-Eval weighs each score by its probability, or averages 20 samples at
temperature 1 (here `samples` and `temperature`, with one sample at 0 as the default, because few servers give
probabilities); Zheng et al. count a pair whose two orders disagree as a tie, here it is called what it is.

The signature has the model's name and a digest of every word that is asked, and not the address: the same model behind
another address is the same judge, and an address may hold what is nobody's business. A name is all that a server tells
of its weights, so one that serves other weights under an old name should be given another name. What was decided is
kept on disk by this signature and the question, also that there was no verdict: the same question is paid for once.
Errors are not kept.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from turnwise.encode import Cache
from turnwise.errors import UsageError
from turnwise.llm.chat import Answer, Chat, ChatError
from turnwise.metrics.rows import Ratio
from turnwise.metrics.unreferenced.cost import Cost, Price
from turnwise.metrics.unreferenced.prompt import Prompt, Question, criteria
from turnwise.metrics.unreferenced.verdict import verdict
from turnwise.types import Card, Floats, Item, Level, Need, Signature, digest

ADDRESS, MODEL, PRICE = "TURNWISE_JUDGE_ADDRESS", "TURNWISE_JUDGE_MODEL", "TURNWISE_JUDGE_PRICE"
Reading: TypeAlias = Literal["first", "second", "tie"]
_SHOWN: Mapping[str, Reading] = {"A": "first", "B": "second", "TIE": "tie"}
_SWAPPED: Mapping[str, Reading] = {"A": "second", "B": "first", "TIE": "tie"}

_OTHER_WORD = "max_completion_tokens"  # what some servers want in place of max_tokens
_WANTED = f'{{"max_tokens": null, "{_OTHER_WORD}": 2000, "temperature": null}}'
_REMEDY = f"give judge[parameters=FILE.json] a file with {_WANTED}"


class Preference(NamedTuple):
    """Which of two replies is better, asked twice with the order swapped."""

    better: Reading | Literal["inconsistent", "no verdict"]
    in_order: Reading | None  # the first was shown first; None: no verdict
    swapped: Reading | None


@dataclass(frozen=True, slots=True)
class Judge(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "the judge refused, or gave no verdict in the required form"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="A language model's verdict on a reply in its context; mean over replies.",
        range="the scale, 1-5 unless another is given",
        limits="A judge favours what is long, what it would have said itself and, in pairs, a place in the order; "
        "it can be talked round by the reply. Its number means nothing across models or prompts. Check it with "
        "`turnwise meta` on your own ratings, and print `length` beside it.",
        citation="Zheng et al. 2023, Judging LLM-as-a-judge with MT-Bench and Chatbot Arena",
    )

    chat: Chat | None
    model: str
    prompt: Prompt
    samples: int = 1  # verdicts averaged for one item
    temperature: float = 0.0
    longest: int = 512  # tokens of an answer
    # Further keys of a request; None takes one out.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    price: Price | None = field(default=None, compare=False)
    cache: Cache | None = field(default=None, repr=False, compare=False)
    # Of a list that failed in part: the runner asks again item by item, and nothing is to be paid twice.
    held: dict[str, float | ChatError] = field(init=False, default_factory=dict, repr=False, compare=False)

    @property
    def signature(self) -> Signature:
        """Needs no address: what is in the store can be read without one."""
        if not self.model:
            raise self._untold()
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
        """The best that it can give: what a reply that talks it round would say."""
        return (self.prompt.scale[1],)

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the verdict and 1; NaN where there is none. A server that fails is an error."""
        rows = np.ones((len(items), 2))
        if items:
            rows[:, 0] = self._values(items)
        return rows

    def cost(self, items: Sequence[Item], /) -> Cost:
        """Of the different questions whose verdicts are not kept."""
        questions = {question.code: question for question in map(self.prompt.grade, items)}
        kept = self._kept(list(questions.values()))
        asked = [question for code, question in questions.items() if code not in kept]
        letters = sum(len(message["content"]) for question in asked for message in question.messages)
        requests = len(asked) * self.samples
        return Cost.of(letters * self.samples, requests, longest=self.longest, price=self.price)

    def prefer(self, first: Item, second: Item) -> Preference:
        """Which of two replies to the same context is better, by asking in both orders."""
        orders = [self.prompt.compare(first, second), self.prompt.compare(second, first)]
        decisions = self._decide([(question, 0) for question in orders])
        readings = []
        for decision, names in zip(decisions, (_SHOWN, _SWAPPED), strict=True):
            if isinstance(decision, ChatError):
                raise decision
            readings.append(None if decision is None else names[decision])
        return _agreed(readings[0], readings[1])

    def _values(self, items: Sequence[Item]) -> list[float]:
        questions = [self.prompt.grade(item) for item in items]
        known = dict(self.held) if len(items) == 1 else {}
        known |= self._kept([question for question in questions if question.code not in known])
        fresh = {question.code: question for question in questions if question.code not in known}
        known |= self._asked(fresh)
        values = [known[question.code] for question in questions]
        failure = next((value for value in values if isinstance(value, ChatError)), None)
        if len(items) > 1:
            self.held.clear()
        if failure is None:
            return [value for value in values if not isinstance(value, ChatError)]
        if len(items) > 1:
            self.held.update(known)
        else:
            self.held.pop(questions[0].code, None)  # it is told once: who asks again means it
        raise failure

    def _kept(self, questions: Sequence[Question]) -> dict[str, float]:
        """Verdicts of earlier runs, by code; NaN where there was none."""
        if self.cache is None or not self.model or not questions:
            return {}
        codes = {_key(question): question.code for question in questions}
        found = self.cache.read(str(self.signature), list(codes))
        return {codes[key]: float(value[0]) for key, value in found.items()}

    def _asked(self, questions: Mapping[str, Question]) -> dict[str, float | ChatError]:
        """Fresh verdicts by code; what was decided is kept."""
        if not questions:
            return {}
        values = dict(zip(questions, self._means(list(questions.values())), strict=True))
        if self.cache is not None:
            decided = {
                _key(questions[code]): np.array([value])
                for code, value in values.items()
                if not isinstance(value, ChatError)
            }
            self.cache.write(str(self.signature), decided)
        return values

    def _means(self, questions: Sequence[Question]) -> list[float | ChatError]:
        places = range(len(questions))
        asked = [(questions[place], sample) for place in places for sample in range(self.samples)]
        decisions = self._decide(asked)
        return [_mean(decisions[place * self.samples :][: self.samples]) for place in places]

    def _decide(self, asked: Sequence[tuple[Question, int]]) -> list[str | ChatError | None]:
        """The decision of each question and sample; None: no verdict, even after a reminder."""
        if self.chat is None or not self.model:
            raise self._untold()
        rng = np.random.default_rng()  # spreads waits in time; no number depends on it
        bodies = [self._body(question.messages, sample) for question, sample in asked]
        answers = self.chat.ask(bodies, rng=rng)
        decisions = [_read(question, answer) for (question, _), answer in zip(asked, answers, strict=True)]
        again = {
            place: asked[place][0].reminder(answer.text)
            for place, answer in enumerate(answers)
            if isinstance(answer, Answer) and not answer.refused and decisions[place] is None
        }
        bodies = [self._body(messages, asked[place][1]) for place, messages in again.items()]
        for place, answer in zip(again, self.chat.ask(bodies, rng=rng), strict=True):
            decisions[place] = _read(asked[place][0], answer)
        return decisions

    def _untold(self) -> UsageError:
        needed = {f"{ADDRESS} (like https://HOST/v1)": self.chat, MODEL: self.model}
        lacking = " and ".join(name for name, there in needed.items() if not there)
        return UsageError(f"the judge is a model behind an address, and was not told which: set {lacking}")

    def _body(self, messages: Sequence[Mapping[str, str]], sample: int) -> dict[str, Any]:
        body = {
            "model": self.model,
            "messages": messages,
            "temperature": self.temperature,
            "max_tokens": self.longest,
            "seed": sample if self.samples > 1 else None,  # not every server knows the word
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
    """A judge by its options; `prompt` is a file that says what is judged, and `parameters` may be one of JSON.

    Nothing is sent until it scores.
    """
    address = address or os.environ.get(ADDRESS)
    price = os.environ.get(PRICE) if price is None else price
    if not (_number(temperature) and 0 <= temperature < math.inf):
        raise UsageError(f"a judge takes a temperature of 0 or more, not `{temperature}`")
    for name, count in (("samples", samples), ("longest", longest), ("concurrency", concurrency)):
        if not (_number(count) and count == int(count) >= 1):
            raise UsageError(f"a judge takes a whole number of `{name}`, 1 or more, not `{count}`")
    return Judge(
        chat=Chat(address=address, concurrency=int(concurrency)) if address else None,
        model=str(model or os.environ.get(MODEL, "")),
        prompt=Prompt(str(dimension), criteria(str(dimension), prompt), _scale(str(scale))),
        samples=int(samples),
        temperature=float(temperature),
        longest=int(longest),
        parameters=_from_file(parameters) if isinstance(parameters, str) else parameters or {},
        price=Price.parse(str(price)) if price not in (None, "") else None,
        cache=Cache() if cache else None,
    )


def _from_file(path: str) -> Mapping[str, Any]:
    try:
        read = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"the judge's parameters {path} cannot be read: {error}") from error
    if not isinstance(read, dict):
        raise UsageError(f"the judge's parameters {path} are no JSON object")
    return read


def _key(question: Question) -> bytes:
    return digest(*(message["content"] for message in question.messages)).encode()


def _number(value: object) -> bool:
    """Settings come from a command line, where anything may stand."""
    return isinstance(value, int | float) and math.isfinite(value)


def _scale(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and int(low) < int(high) <= 1000):
        raise UsageError(f"the scale `{text}` is not LOW-HIGH, two whole numbers such as 1-5")
    return int(low), int(high)


def _read(question: Question, answer: Answer | ChatError) -> str | ChatError | None:
    if isinstance(answer, ChatError):
        return type(answer)(f"{answer}; {_REMEDY}") if _OTHER_WORD in str(answer) else answer
    # The end of an answer that was cut may be the beginning of another number.
    return None if answer.refused or answer.cut else verdict(answer.text, question.code, question.allowed)


def _mean(decisions: Sequence[str | ChatError | None]) -> float | ChatError:
    """The mean of the verdicts that were given; a sample that was lost on the way loses the item, for now."""
    values = []
    for decision in decisions:
        if isinstance(decision, ChatError):
            return decision
        if decision is not None:
            values.append(float(decision))
    return sum(values) / len(values) if values else math.nan


def _agreed(in_order: Reading | None, swapped: Reading | None) -> Preference:
    if in_order is None or swapped is None:
        return Preference("no verdict", in_order, swapped)
    return Preference(in_order if in_order == swapped else "inconsistent", in_order, swapped)
