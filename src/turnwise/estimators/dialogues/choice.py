"""Which features carry is chosen by leaving agents out, and the choice is tested by leaving out one agent more.

For each agent in turn the candidate and penalty with the least squared error over the remaining agents are chosen, each
of them predicted without itself, and the agent is predicted by that choice. So neither its ratings nor the choice have
seen it, and its error is that which a new agent must expect, with the choice included.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.estimators.dialogues.moments import Candidate, Moments
from turnwise.types import Floats


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate and the penalty with the least error over the agents left out in turn."""

    candidate: Candidate
    penalty: int  # index of `PENALTIES`
    error: float  # root mean squared error of the agents left out in turn, of this candidate and penalty


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """The rated agents, each predicted by a choice that has not seen it."""

    agents: tuple[int, ...]
    predicted: Floats  # (K,)
    rating: Floats  # (K,) their mean ratings
    levels: Floats  # (K,) mean rating of the agents that each prediction was fitted on
    choices: tuple[Choice, ...]


def chosen(moments: Moments, candidates: Sequence[Candidate], known: Sequence[int]) -> Choice:
    """The choice over the agents `known`, each predicted without itself and without any agent beside `known`."""
    outside = frozenset(moments.rated) - frozenset(known)
    rating = moments.rating[list(known)]
    choices = []
    for candidate in candidates:
        predicted = np.stack(
            [moments.predictions(candidate, outside | {agent})[:, agent] for agent in known], axis=1
        )
        squared = np.mean((predicted - rating) ** 2, axis=1)
        penalty = int(np.argmin(squared))
        choices.append(Choice(candidate, penalty, float(np.sqrt(squared[penalty]))))
    return min(choices, key=lambda choice: choice.error)


def left_out(moments: Moments, candidates: Sequence[Candidate], known: Sequence[int]) -> LeftOut:
    """Every agent of `known`, predicted by a choice over the others of `known`."""
    outside = frozenset(moments.rated) - frozenset(known)
    predicted, levels, choices = [], [], []
    for agent in known:
        others = [other for other in known if other != agent]
        choice = chosen(moments, candidates, others)
        fitted = moments.predictions(choice.candidate, outside | {agent})
        predicted.append(float(fitted[choice.penalty, agent]))
        levels.append(float(moments.rating[others].mean()))
        choices.append(choice)
    return LeftOut(
        tuple(known), np.array(predicted), moments.rating[list(known)], np.array(levels), tuple(choices)
    )
