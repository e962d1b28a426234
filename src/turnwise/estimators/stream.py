"""Estimates from logs that do not fit in memory: two passes over chunks of dialogues, p x p sums, nothing else kept.

The first pass finds the directions in which texts differ, the second takes the sums of `moments`. What comes out is the
value that `estimate` would give, without the contributions of single dialogues; `balance` and `robust`, whose weights
are found by Newton steps over all dialogues, are not among these.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Protocol

import numpy as np

from turnwise.encode.episodes import kept, leave_out
from turnwise.errors import Refused
from turnwise.estimators import moments, phi
from turnwise.estimators.basis import Basis, Spread, spreads
from turnwise.estimators.design import Question
from turnwise.estimators.points import Points
from turnwise.estimators.vectors import vectors
from turnwise.types import Episodes, Floats


class Summing(Protocol):
    """An estimator that reads nothing but sums."""

    @property
    def model(self) -> str: ...

    def value(self, question: Question) -> float: ...


def streamed(estimator: Summing, chunks: Callable[[], Iterable[Episodes]], target: str) -> float:
    """The target's value, from chunks that can be gone through twice. Each holds whole dialogues."""

    def parts() -> Iterator[tuple[Episodes, Floats]]:
        for chunk in chunks():
            part = leave_out(chunk, {target})
            part = kept(part, np.isfinite(part.reward))
            if len(part.dialogues):
                yield part, vectors(part.texts, estimator.model)

    both: tuple[Spread, Spread] | None = None
    decided, low, high = True, np.inf, -np.inf
    for part, known in parts():
        found = spreads(part, known)
        both = found if both is None else (both[0] + found[0], both[1] + found[1])
        decided &= bool(np.isfinite(part.logged.outcome[part.first[1:] - 1, 0]).all())
        low, high = min(low, float(part.reward.min())), max(high, float(part.reward.max()))
    if both is None:
        raise Refused("no dialogue of another agent is rated; rate some")
    basis = Basis.fit(*both)
    logged: dict[str, moments.Logged] = {}
    instead: dict[str, moments.Instead] = {}
    for part, known in parts():
        points = Points(part, known, basis, decided)
        logged = moments.merged(logged, moments.logged(points))
        instead = moments.merged(instead, moments.instead(points, points.rows(part.alternatives[target])))
    total, other = reduce(add, logged.values()), reduce(add, instead.values())
    layout = points.layout
    features = phi.feature_map(layout, total, phi.chosen_strength(layout, list(logged.values())))
    nothing = np.zeros((1, features.shape[1]))
    return estimator.value(
        Question(
            kept=np.zeros(0, dtype=np.bool_),
            reward=np.array([low, high]),
            logged=total,
            gram=features.T @ total.xx @ features,
            onward=features.T @ other.xn @ features,
            arrived=features.T @ total.last_reward,
            first=(other.first / total.dialogues)[None, :] @ features,
            mean=nothing,
            last=nothing,
            shift=nothing,
            map=features,
        )
    )
