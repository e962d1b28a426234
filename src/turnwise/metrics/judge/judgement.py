"""What a judge returned about one item: the score with its reason, and what it took to get it.

Judgements are written to `items.jsonl`, and are kept in the cache on disk by signature and question, so that a question
is paid for only once. An answer without a verdict is kept too. Errors are not.
"""

import math
from collections.abc import Callable, Sequence
from statistics import variance
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from turnwise.metrics.judge.cost import Price
from turnwise.metrics.judge.prompt import VERDICT, Question
from turnwise.metrics.judge.rubric import INAPPLICABLE, YES, Rubric
from turnwise.metrics.judge.verdict import Verdict

REFUSED, CUT, FORMLESS = "the judge refused", "the answer was cut", "no verdict in the required form"
NO_CRITERION = "no criterion applies"


class Answer(NamedTuple):
    """One answer to a question: its verdict, or why it has none, and what it took."""

    verdict: Verdict | None
    why: str = ""
    expected: float | None = None  # the mean of the scale by the model's probabilities
    requests: int = 1
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0

    def score(self, rubric: Rubric) -> float | None:
        """The score by a rubric; None without a verdict, or if no criterion applies."""
        if self.verdict is None:
            return None
        if rubric.scale is not None:
            return float(self.verdict.values[VERDICT]) if self.expected is None else self.expected
        answers = [value for value in self.verdict.values.values() if value != INAPPLICABLE]
        return sum(value == YES for value in answers) / len(answers) if answers else None


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a judge returned about one item, or about one part of a long dialogue."""

    model: str
    prompt: str  # digest of the request
    score: float | None = None
    reason: str = ""
    criteria: dict[str, str] = {}  # name -> yes, no or n/a
    why: str = ""  # why there is no score
    samples: tuple[float | None, ...] = ()  # the score of each sample, where there are several
    parts: tuple[
        float | None, ...
    ] = ()  # the score of each part of a dialogue that is too long for one question
    left_out: dict[str, int] = {}  # what the judge did not see
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost: float | None = None

    def record(self) -> dict[str, Any]:
        """The judgement as items.jsonl has it."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found

    def packed(self) -> NDArray[np.uint8]:
        """The judgement as bytes, for the cache."""
        return np.frombuffer(msgspec.json.encode(self), dtype=np.uint8)


def unpacked(data: NDArray[np.uint8]) -> Judgement:
    """The judgement that `packed` made."""
    return msgspec.json.decode(data.tobytes(), type=Judgement)


def judged(
    question: Question,
    answers: Sequence[Answer],
    rubric: Rubric,
    score: Callable[[Answer], float | None],
    *,
    model: str,
    price: Price | None,
) -> Judgement:
    """The judgement of one question from its samples: the mean of their scores, and the reason of the first that has
    the score nearest to it. `score` is the number of an answer.
    """
    scores = [score(answer) for answer in answers]
    known = [score for score in scores if score is not None]
    mean = sum(known) / len(known) if known else None
    shown = _nearest(answers, scores, mean)
    tokens = sum(answer.tokens_in for answer in answers), sum(answer.tokens_out for answer in answers)
    why = "" if known else (shown.why or NO_CRITERION)
    return Judgement(
        model=model,
        prompt=question.digest,
        score=mean,
        reason=shown.verdict.reason if shown.verdict else "",
        criteria=_criteria(shown.verdict, rubric),
        why=why,
        samples=tuple(scores) if len(scores) > 1 else (),
        left_out=dict(question.left_out),
        requests=sum(answer.requests for answer in answers),
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        seconds=round(sum(answer.seconds for answer in answers), 3),
        cost=None if price is None else price.of(*tokens),
    )


def combined(parts: Sequence[Judgement], questions: Sequence[Question], rubric: Rubric) -> Judgement:
    """The judgement of an item from those of its parts: their mean by replies, or the lowest, as the rubric says.

    Without the score of one part there is none. The reason is that of the lowest part.
    """
    if len(parts) == 1:
        return parts[0]
    scores = [part.score for part in parts]
    known = [score for score in scores if score is not None]
    whole = len(known) == len(scores)
    mean = sum(score * one.weight for score, one in zip(known, questions, strict=True)) if whole else None
    worst = min(parts, key=lambda part: math.inf if part.score is None else part.score)
    costs = [part.cost for part in parts if part.cost is not None]
    return Judgement(
        model=parts[0].model,
        prompt=parts[0].prompt,
        score=min(known) if whole and rubric.chunks == "min" else mean,
        reason=worst.reason,
        criteria=worst.criteria,
        why=""
        if whole
        else "a part of the dialogue has no score: " + next(part.why for part in parts if part.why),
        parts=tuple(scores),
        left_out=dict(parts[0].left_out),
        requests=sum(part.requests for part in parts),
        tokens_in=sum(part.tokens_in for part in parts),
        tokens_out=sum(part.tokens_out for part in parts),
        seconds=round(sum(part.seconds for part in parts), 3),
        cost=sum(costs) if costs else None,
    )


def _nearest(answers: Sequence[Answer], scores: Sequence[float | None], mean: float | None) -> Answer:
    """The first answer whose score is nearest to the mean; the first of all without scores."""
    if mean is None:
        return answers[0]
    known = [(abs(score - mean), at) for at, score in enumerate(scores) if score is not None]
    return answers[min(known)[1]]


def _criteria(verdict: Verdict | None, rubric: Rubric) -> dict[str, str]:
    """The verdict on each criterion by its name."""
    if verdict is None:
        return {}
    return {
        one.name: verdict.values[f"CRITERION {number}"]
        for number, one in enumerate(rubric.criteria, 1)
        if f"CRITERION {number}" in verdict.values
    }


class Spread(NamedTuple):
    """How far the samples of one item differ: their standard deviation, and half the 95 % interval of their mean."""

    sd: float
    margin: float


def spread(samples: Sequence[Sequence[float]]) -> Spread | None:
    """The spread of the samples of items, pooled over all of them; None if no item has two.

    The few samples of one item often agree although the judge varies: an interval from their own spread covered the
    judge's mean in 62 to 94 % of items. With the pooled spread it is 95 % (benchmarks/judge_samples.py).
    """
    several = [one for one in samples if len(one) > 1]
    if not several:
        return None
    from scipy.special import stdtrit  # slow to import

    freedom = sum(len(one) - 1 for one in several)
    sd = math.sqrt(sum(variance(one) * (len(one) - 1) for one in several) / freedom)
    each = max(len(one) for one in several)
    return Spread(sd, float(stdtrit(freedom, 0.975)) * sd / math.sqrt(each))
