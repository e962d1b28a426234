"""A language model as a judge, at an OpenAI-compatible address or on this machine (Zheng et al. 2023; Liu et al. 2023).

The model is sent a dialogue with its last reply, or a whole dialogue, and a rubric. It gives an integer on a scale, or
answers the questions of a checklist; the number of an agent is the mean over items. The answer is parsed strictly (see
`verdict`), and an answer without a verdict is asked for once more. What the judge returned is kept (see `judgement`).

How we differ from the papers. G-Eval weighs each score by its probability, or averages 20 samples at temperature 1;
here the default is one sample at temperature 0, because few servers return probabilities (see `weighted`, `samples`
and `temperature`).

The signature contains the model's name and a digest of the complete prompt. It does not contain the address: the same
model at another address is the same judge, and an address may contain secrets. The name is all that a server discloses
about its weights, so other weights need another name.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from turnwise.encode import Cache
from turnwise.errors import UsageError
from turnwise.llm.chat import ChatError
from turnwise.metrics.judge.cost import Cost, Price
from turnwise.metrics.judge.judgement import Answer, Judgement, combined, judged, spread, unpacked
from turnwise.metrics.judge.local import LocalJudge
from turnwise.metrics.judge.prompt import Prompt, Question
from turnwise.metrics.judge.server import JudgeServer
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature, digest

# Environment variables that set the address, the model and the price of tokens.
ADDRESS, MODEL, PRICE = "TURNWISE_JUDGE_ADDRESS", "TURNWISE_JUDGE_MODEL", "TURNWISE_JUDGE_PRICE"
_MOST_RECENT = 4096  # judgements of single items that are remembered


class Client(Protocol):
    """Asks a language model."""

    def ask(self, questions: Sequence[Question]) -> list[list[Answer] | ChatError]:
        """The samples of each question, or its error."""
        ...


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
        range="the scale, 1-5 unless the rubric has another; a checklist has 0-1",
        limits="A judge prefers long replies, replies like its own and, in pairs, one of the two positions; the reply "
        "can manipulate it. Scores of different models or prompts cannot be compared. Check it with "
        "`turnwise meta` on your own ratings, and print `length` beside it.",
        citation="Zheng et al. 2023, Judging LLM-as-a-judge with MT-Bench and Chatbot Arena",
    )

    client: JudgeServer | LocalJudge | None
    model: str
    prompt: Prompt
    samples: int = 1  # verdicts that are averaged for one item
    temperature: float = 0.0
    longest: int = 512  # largest number of tokens of an answer
    # Further keys of a request; the value None removes a key.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    weighted: bool = False
    price: Price | None = field(default=None, compare=False)
    cache: Cache | None = field(default=None, repr=False, compare=False)
    # Results, by the digest of the question, of a batch in which some items failed. The runner then scores the items
    # one by one, and takes the results from here, so that no answer is paid for twice.
    partial: dict[str, Judgement | ChatError] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )
    # Judgements of the items that were scored last, by the digest of their first question.
    recent: dict[str, Judgement] = field(init=False, default_factory=dict, repr=False, compare=False)

    @property
    def signature(self) -> Signature:
        """Model, rubric, scale, digest of the prompt, and how it is asked; `UsageError` without a model's name.

        It needs no address, so cached verdicts can be used without one.
        """
        if not self.model:
            raise self._not_configured()
        rubric = self.prompt.rubric
        settings = {
            "model": self.model,
            "dimension": rubric.name,
            "scale": "checklist" if rubric.scale is None else f"{rubric.scale[0]}-{rubric.scale[1]}",
            "prompt": self.prompt.digest,
        }
        if isinstance(self.client, LocalJudge):
            return Signature("judge", tuple(settings.items()), (self.client.signature,), version=2)
        settings |= {
            "samples": str(self.samples),
            "temperature": str(self.temperature),
            "longest": str(self.longest),
        }
        if self.weighted:
            settings["weighted"] = "yes"
        if self.parameters:
            settings["parameters"] = digest(json.dumps(self.parameters, sort_keys=True))
        return Signature("judge", tuple(settings.items()), version=2)

    @property
    def span(self) -> tuple[float, float]:  # type: ignore[override]  # it depends on the rubric
        """The lowest and the highest score."""
        return self.prompt.rubric.span

    @property
    def verdicts(self) -> tuple[float]:
        """The highest value of the scale, alone in a tuple; an attack tries to make the judge give it."""
        return (self.span[1],)

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the score and 1; NaN without a score. Raises `ChatError` if the server fails."""
        rows = np.ones((len(items), 2))
        if items:
            scores = [one.score for one in self._judgements(items)]
            rows[:, 0] = [math.nan if score is None else score for score in scores]
        return rows

    def explanations(self, items: Sequence[Item], /) -> list[Mapping[str, Any] | None]:
        """The judgement of each item that was scored last; None for others."""
        if not items or not self.model:
            return [None] * len(items)
        found = [self.recent.get(self.prompt.questions(item)[0].digest) for item in items]
        return [None if one is None else one.record() for one in found]

    def summary(self, explanations: Sequence[Mapping[str, Any]], /) -> dict[str, Any]:
        """What was spent on these judgements, and how far samples of one item differ."""
        found = spread([[one for one in said.get("samples", ()) if one is not None] for said in explanations])
        return spent(explanations) | (
            {"sample_sd": found.sd, "item_margin": found.margin} if found is not None else {}
        )

    def questions(self, item: Item, /) -> list[Question]:
        """What is sent for an item: one request, or several for the parts of a long dialogue."""
        return self.prompt.questions(item)

    def cost(self, items: Sequence[Item], /) -> Cost:
        """The cost of scoring the items: of the different questions whose verdicts are not cached.

        Reminders after an answer without a verdict are not counted.
        """
        return self.cost_of([one for item in items for one in self.prompt.questions(item)])

    def cost_of(self, questions: Sequence[Question], /) -> Cost:
        """The cost of the different ones of these questions that are not cached."""
        if isinstance(self.client, LocalJudge):
            return Cost()
        different = {one.digest: one for one in questions}
        cached = self._cached(list(different.values()))
        new = [question for key, question in different.items() if key not in cached]
        characters = sum(question.characters for question in new)
        requests = len(new) * self.samples
        return Cost.of(characters * self.samples, requests, longest=self.longest, price=self.price)

    def _judgements(self, items: Sequence[Item]) -> list[Judgement]:
        """The judgement of each item, from `partial`, the cache or the model; raises the first `ChatError`."""
        asked = [self.prompt.questions(item) for item in items]
        questions = [one for several in asked for one in several]
        known: dict[str, Judgement | ChatError] = dict(self.partial) if len(items) == 1 else {}
        known |= self.results([one for one in questions if one.digest not in known], self._score)
        failure = next((each for one in questions if isinstance(each := known[one.digest], ChatError)), None)
        if len(items) > 1:
            self.partial.clear()
        if failure is not None:
            if len(items) > 1:
                self.partial.update(known)
            else:
                # Report an error once; the next call asks the server again.
                for question in questions:
                    self.partial.pop(question.digest, None)
            raise failure
        found = []
        for several in asked:
            parts = [one for each in several if isinstance(one := known[each.digest], Judgement)]
            found.append(combined(parts, several, self.prompt.rubric))
        if len(items) > 1 or len(self.recent) > _MOST_RECENT:
            self.recent.clear()
        self.recent.update({several[0].digest: one for several, one in zip(asked, found, strict=True)})
        return found

    def results(
        self, questions: Sequence[Question], score: Callable[[Answer], float | None]
    ) -> dict[str, Judgement | ChatError]:
        """Judgements, or errors, by the digest of the question, from the cache or the model.

        `score` is the number of an answer.
        """
        known: dict[str, Judgement | ChatError] = {**self._cached(questions)}
        new = {one.digest: one for one in questions if one.digest not in known}
        return known | self._asked(new, score)

    def _score(self, answer: Answer) -> float | None:
        """The score of an answer by the rubric."""
        return answer.score(self.prompt.rubric)

    def _cached(self, questions: Sequence[Question]) -> dict[str, Judgement]:
        """Cached judgements by the digest of the question. Empty without a cache."""
        if self.cache is None or not self.model or not questions:
            return {}
        keys = {question.digest.encode(): question.digest for question in questions}
        found = self.cache.read(str(self.signature), list(keys))
        return {keys[key]: unpacked(value) for key, value in found.items()}

    def _asked(
        self, questions: Mapping[str, Question], score: Callable[[Answer], float | None]
    ) -> dict[str, Judgement | ChatError]:
        """Judgements from the model by the digest of the question; all except errors are written to the cache."""
        if not questions:
            return {}
        if self.client is None or not self.model:
            raise self._not_configured()
        found: dict[str, Judgement | ChatError] = {}
        for (key, question), answers in zip(
            questions.items(), self.client.ask(list(questions.values())), strict=True
        ):
            found[key] = (
                answers
                if isinstance(answers, ChatError)
                else judged(question, answers, self.prompt.rubric, score, model=self.model, price=self.price)
            )
        if self.cache is not None:
            made = {key.encode(): one.packed() for key, one in found.items() if isinstance(one, Judgement)}
            self.cache.write(str(self.signature), made)
        return found

    def _not_configured(self) -> UsageError:
        """The error that names the missing environment variables."""
        needed = {f"{ADDRESS} (like https://HOST/v1)": self.client, MODEL: self.model}
        missing = " and ".join(name for name, value in needed.items() if not value)
        provider = (
            "" if self.client else ", or name a model by its provider, such as judge[model=ollama/llama3.2]"
        )
        return UsageError(f"the judge needs the address and the name of a model: set {missing}{provider}")


def spent(judgements: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums over judgements as they are written: requests, tokens, seconds and, where the price is known, cost."""
    found: dict[str, float] = {}
    for said in judgements:
        for key in ("requests", "tokens_in", "tokens_out", "seconds", "cost"):
            if said.get(key):
                found[key] = found.get(key, 0) + said[key]
    return {"spent": {key: round(value, 6) for key, value in found.items()}} if found else {}


class DialogueJudge(Judge):
    """`judge` with a rubric for whole dialogues."""

    __slots__ = ()

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})
