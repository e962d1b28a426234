"""Estimates from logs that do not fit in memory: two passes over chunks of dialogues, p x p sums, nothing else kept.

The first pass (`First`) finds the directions in which texts differ and what was rated, the second (`Second`)
takes the sums of `moments`. Both add up in any order. What comes out is the value that `estimate` would give, without
the contributions of single dialogues; `balance` and `robust`, whose weights are found by Newton steps over all
dialogues, and everything trained by gradients are not among these.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Protocol, runtime_checkable

import numpy as np

from turnwise.encode.episodes import kept, leave_out
from turnwise.errors import Refused
from turnwise.estimators.linear import moments, phi
from turnwise.estimators.linear.basis import Basis, Spread, spreads
from turnwise.estimators.linear.design import Question
from turnwise.estimators.linear.points import Layout, Points
from turnwise.estimators.vectors import vectors
from turnwise.types import Episodes, Estimate, Floats


@runtime_checkable
class Summing(Protocol):
    """An estimator that reads nothing but sums."""

    @property
    def model(self) -> str: ...

    def value(self, question: Question) -> float: ...


@dataclass(frozen=True, slots=True)
class Rated:
    """One agent's dialogues in the first pass."""

    dialogues: int
    reward: float
    low: float
    high: float
    decided: bool  # whether all of them end by a decision whose score is known
    replies: Spread
    users: Spread

    def __add__(self, other: "Rated") -> "Rated":
        return Rated(
            self.dialogues + other.dialogues,
            self.reward + other.reward,
            min(self.low, other.low),
            max(self.high, other.high),
            self.decided and other.decided,
            self.replies + other.replies,
            self.users + other.users,
        )


@dataclass(frozen=True, slots=True)
class First:
    """By agent that held the dialogues."""

    rated: Mapping[str, Rated] = field(default_factory=dict)

    @classmethod
    def of(cls, episodes: Episodes, model: str) -> "First":
        known = vectors(episodes.texts, model)
        return cls({name: _rated(part, known) for name, part in _by_agent(episodes)})

    def __add__(self, other: "First") -> "First":
        return First(_merged(self.rated, other.rated))

    def without(self, target: str) -> Rated:
        """All others' together."""
        others = [one for name, one in self.rated.items() if name != target]
        if not others:
            raise Refused("no dialogue of another agent is rated; rate some")
        return reduce(add, others)

    def mean(self, agent: str) -> float:
        return self.rated[agent].reward / self.rated[agent].dialogues


@dataclass(frozen=True, slots=True)
class Frame:
    """What the second pass is to know for one target: the directions of others' texts, and whether decisions count."""

    target: str
    basis: Basis
    decided: bool

    @classmethod
    def of(cls, first: First, target: str) -> "Frame":
        others = first.without(target)
        return cls(target, Basis.fit(others.replies, others.users), others.decided)


@dataclass(frozen=True, slots=True)
class Second:
    """Sums of the dialogues that one target did not hold, by who held them and by who would have spoken instead."""

    logged: Mapping[str, moments.Logged] = field(default_factory=dict)
    instead: Mapping[str, Mapping[str, moments.Instead]] = field(default_factory=dict)

    @classmethod
    def of(cls, episodes: Episodes, model: str, frame: Frame, speakers: Sequence[str]) -> "Second":
        part = leave_out(episodes, {frame.target})
        part = kept(part, np.isfinite(part.reward))
        if not len(part.dialogues):
            return cls()
        points = Points(part, vectors(part.texts, model), frame.basis, frame.decided)
        there = [name for name in speakers if name in part.alternatives]
        return cls(
            moments.logged(points),
            {name: moments.instead(points, points.rows(part.alternatives[name])) for name in there},
        )

    def __add__(self, other: "Second") -> "Second":
        both = dict.fromkeys([*self.instead, *other.instead])
        return Second(
            moments.merged(self.logged, other.logged),
            {name: moments.merged(self.instead.get(name, {}), other.instead.get(name, {})) for name in both},
        )

    def estimate(self, estimator: Summing, speaker: str, frame: Frame, first: First) -> Estimate:
        """What this speaker would get, from the dialogues that neither it nor the target held."""
        question = self._question(speaker, Layout.of(frame.basis), first)
        value = estimator.value(question)
        level = question.logged.reward / question.logged.dialogues
        return Estimate(value=value, contributions=np.array([value]), level=level)

    def _question(self, speaker: str, layout: Layout, first: First) -> Question:
        names = [name for name in self.logged if name != speaker]
        if not names or speaker not in self.instead:
            raise Refused(
                f"the logs do not say what `{speaker}` would have said; `turnwise respond` fills that in"
            )
        strength = phi.chosen_strength(layout, list(self.logged.values()))
        total = phi.summed([self.logged[name] for name in names])
        other = reduce(add, (self.instead[speaker][name] for name in names))
        features = phi.feature_map(layout, total, strength)
        nothing = np.zeros((1, features.shape[1]))
        ends = [first.rated[name] for name in names]
        return Question(
            kept=np.zeros(0, dtype=np.bool_),
            reward=np.array([min(one.low for one in ends), max(one.high for one in ends)]),
            logged=total,
            gram=features.T @ total.xx @ features,
            onward=features.T @ other.xn @ features,
            arrived=features.T @ total.last_reward,
            first=(other.first / total.dialogues)[None, :] @ features,
            mean=(other.mean / total.dialogues)[None, :] @ features,
            last=nothing,
            shift=nothing,
            map=features,
        )


def streamed(estimator: Summing, chunks: Callable[[], Iterable[Episodes]], target: str) -> float:
    """The target's value, from chunks that can be gone through twice. Each holds whole dialogues."""
    first = reduce(add, (First.of(chunk, estimator.model) for chunk in chunks()), First())
    frame = Frame.of(first, target)
    second = reduce(add, (Second.of(chunk, estimator.model, frame, [target]) for chunk in chunks()), Second())
    return second.estimate(estimator, target, frame, first).value


def _by_agent(episodes: Episodes) -> Iterable[tuple[str, Episodes]]:
    """The rated dialogues of each agent that has some."""
    rated = np.isfinite(episodes.reward)
    for place, name in enumerate(episodes.agents):
        mine = rated & (episodes.agent == place)
        if mine.any():
            yield name, kept(episodes, mine)


def _rated(part: Episodes, known: Floats) -> Rated:
    return Rated(
        len(part.dialogues),
        float(part.reward.sum()),
        float(part.reward.min()),
        float(part.reward.max()),
        bool(np.isfinite(part.logged.outcome[part.first[1:] - 1, 0]).all()),
        *spreads(part, known),
    )


def _merged(one: Mapping[str, Rated], other: Mapping[str, Rated]) -> dict[str, Rated]:
    total = dict(one)
    for name, rated in other.items():
        total[name] = total[name] + rated if name in total else rated
    return total
