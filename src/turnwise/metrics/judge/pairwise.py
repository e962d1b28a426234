"""A judge's choice between two items, asked in both orders.

Judges favour one of the two places (Zheng et al. 2023). Each pair is therefore asked about twice, with either item
first. The mean of the two is the pair's outcome, from which a preference for a place cancels. The preference itself,
the share of answers that chose what was shown first less a half, is the position bias.
"""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.llm.chat import ChatError
from turnwise.metrics import JUDGE_PAIR
from turnwise.metrics.judge.cost import Cost
from turnwise.metrics.judge.judgement import Answer, Judgement
from turnwise.metrics.judge.metric import Judge
from turnwise.metrics.judge.prompt import FIRST, TIE, VERDICT
from turnwise.types import Item

NAME = JUDGE_PAIR  # the metric's name in `compare`


class PairVerdict(NamedTuple):
    """What a judge said about two items, A and B, in both orders."""

    a_first: Judgement
    b_first: Judgement

    @property
    def share_a(self) -> float | None:
        """The mean over both orders of 1 where A won, 0 where B won, a half for a tie; None without a verdict."""
        one, two = self.a_first.score, self.b_first.score
        return None if one is None or two is None else (one + (1 - two)) / 2

    @property
    def first_share(self) -> float | None:
        """The share of the two answers that chose what was shown first; a tie counts half."""
        one, two = self.a_first.score, self.b_first.score
        return None if one is None or two is None else (one + two) / 2

    @property
    def consistent(self) -> bool:
        """Whether both orders have the same winner, or both a tie."""
        one, two = self.a_first.score, self.b_first.score
        return one is not None and two is not None and _sign(one) == -_sign(two)


def pair_verdicts(judge: Judge, pairs: Sequence[tuple[Item, Item]]) -> list[PairVerdict | ChatError]:
    """The judge's verdict on each pair, from the cache or the model; an error where it failed."""
    asked = [(judge.prompt.choice(a, b), judge.prompt.choice(b, a)) for a, b in pairs]
    known = judge.results([question for both in asked for question in both], _first_won)
    found: list[PairVerdict | ChatError] = []
    for both in asked:
        one, two = (known[question.digest] for question in both)
        if isinstance(one, ChatError):
            found.append(one)
        elif isinstance(two, ChatError):
            found.append(two)
        else:
            found.append(PairVerdict(one, two))
    return found


def pair_cost(judge: Judge, pairs: Sequence[tuple[Item, Item]]) -> Cost:
    """What the verdicts on these pairs will cost."""
    return judge.cost_of([judge.prompt.choice(*order) for a, b in pairs for order in ((a, b), (b, a))])


def _first_won(answer: Answer) -> float | None:
    """1 if the answer chose what was shown first, 0 for the second, a half for a tie; None without a verdict."""
    if answer.verdict is None:
        return None
    value = answer.verdict.values[VERDICT]
    return 0.5 if value == TIE else float(value == FIRST)


def _sign(share: float) -> int:
    """1 above a half, -1 below, 0 at a half."""
    return (share > 0.5) - (share < 0.5)
