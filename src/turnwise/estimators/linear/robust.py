"""Doubly robust: fitted Q, corrected by balanced weights where it misses what was logged. The default.

mean Q(s_1, a'_1) + sum(w TD) / sum(w), with TD of a dialogue the sum of its temporal differences. If Q is right, TD
has mean 0 whatever the weights; if the weights are, the weighted TD is just what Q misses. The weights are held
nearer to 1 than those of `balance` (eta 1 for .01): they only correct, and extreme ones do harm. On the booking logs
that settings were chosen on (papers/enigma.md), eta .3 to 3 did equally well, .01 and 10 less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from turnwise.estimators.linear.balance import balanced
from turnwise.estimators.linear.contributions import Linear
from turnwise.estimators.linear.design import Question
from turnwise.estimators.linear.fqe import RIDGE, fitted_q, started
from turnwise.types import Card, Floats


@dataclass(frozen=True)
class Robust(Linear):
    name: ClassVar[str] = "robust"
    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating of the target: fitted Q at first turns, plus its weighted error on the logged dialogues.",
        range="that of the rating; not clipped",
        limits="Believe it as far as its calibration over the logged agents goes, and no further: it refuses "
        "where it cannot rank those.",
        citation="Jiang and Li 2016, Doubly Robust Off-policy Value Evaluation for Reinforcement Learning; "
        "Jiang et al. 2021, Towards Automatic Evaluation of Dialog Systems",
    )

    ridge: float = RIDGE
    eta: float = 1.0

    def solve(self, question: Question) -> tuple[Floats, Mapping[str, float]]:
        v = fitted_q(question, self.ridge)
        w, looked = balanced(question.shift, self.eta)
        # Sum over turns of reward + Q(next, target's) - Q(this, logged): all but the first of the target's Q.
        missed = question.reward + question.shift @ v - question.first @ v
        return started(question, v) + w * missed, looked
