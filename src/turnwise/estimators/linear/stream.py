"""Estimates from logs that do not fit in memory: two passes over chunks of dialogues, which keep only p x p sums.

The first pass (`FirstSums`) collects the ratings and the principal components of the texts, the second (`SecondSums`)
the sums of `sums.py`. Both can be added in any order. The result is the value that `estimate` would give, without the
contributions of single dialogues. `balance` and `robust` need all dialogues at once, for the Newton steps that find
their weights, and so does everything that is trained by gradients.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import numpy as np

from turnwise.conformance.calls import value_from_sums
from turnwise.encode.episodes import kept, leave_out
from turnwise.errors import Refused
from turnwise.estimators.linear import sums
from turnwise.estimators.linear.problem import Problem, chosen_strength, feature_map, total_sums
from turnwise.estimators.linear.raw_features import Basis, Layout, RawFeatures, TextMoments, text_moments
from turnwise.estimators.linear.sums import LoggedSums, TargetSums
from turnwise.estimators.vectors import vectors
from turnwise.protocols import SumEstimator
from turnwise.types import Episodes, Estimate, Floats


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """What the first pass collects of one agent's rated dialogues: sums, and the lowest and the highest rating.

    `reward` is the sum of the ratings, `squares` that of their squares around the mean; `decided`
    tells whether all dialogues end with a scored decision.
    """

    dialogues: int
    reward: float
    squares: float
    low: float
    high: float
    decided: bool  # whether all of them end with a decision whose score is known
    replies: TextMoments
    users: TextMoments

    def __add__(self, other: "AgentSummary") -> "AgentSummary":
        apart = self.reward / self.dialogues - other.reward / other.dialogues
        dialogues = self.dialogues + other.dialogues
        return AgentSummary(
            dialogues,
            self.reward + other.reward,
            self.squares + other.squares + apart**2 * self.dialogues * other.dialogues / dialogues,
            min(self.low, other.low),
            max(self.high, other.high),
            self.decided and other.decided,
            self.replies + other.replies,
            self.users + other.users,
        )


@dataclass(frozen=True, slots=True)
class FirstSums:
    """The first pass: one summary for each agent that held dialogues."""

    by_agent: Mapping[str, AgentSummary] = field(default_factory=dict)

    @classmethod
    def of(cls, episodes: Episodes, model: str) -> "FirstSums":
        """The sums of one chunk of dialogues; unrated ones are left out. `model` is the encoder of texts."""
        known = vectors(episodes.texts, model)
        return cls({name: _summary(part, known) for name, part in _by_agent(episodes)})

    def __add__(self, other: "FirstSums") -> "FirstSums":
        return FirstSums(_merged(self.by_agent, other.by_agent))

    def without(self, target: str) -> AgentSummary:
        """The summary of all other agents together; refused if none of them has a rated dialogue."""
        others = [one for name, one in self.by_agent.items() if name != target]
        if not others:
            raise Refused("no dialogue of another agent is rated; rate some", "nothing-rated")
        return reduce(add, others)

    def mean(self, agent: str) -> float:
        """The mean rating of this agent's own dialogues; raises `KeyError` if it has no rated one."""
        return self.by_agent[agent].reward / self.by_agent[agent].dialogues


@dataclass(frozen=True, slots=True)
class TargetBasis:
    """What the second pass needs for one target, computed from the dialogues of the other agents."""

    target: str
    components: Basis
    decided: bool

    @classmethod
    def of(cls, first: FirstSums, target: str) -> "TargetBasis":
        """Principal components, and whether all dialogues end with a scored decision, without the target's."""
        others = first.without(target)
        return cls(target, Basis.fit(others.replies, others.users), others.decided)


@dataclass(frozen=True, slots=True)
class SecondSums:
    """Sums over the dialogues that one target did not hold.

    `logged` has them by the agent that held the dialogues, `speakers` by the speaker of alternatives and then by that
    agent.
    """

    logged: Mapping[str, LoggedSums] = field(default_factory=dict)
    speakers: Mapping[str, Mapping[str, TargetSums]] = field(default_factory=dict)

    @classmethod
    def of(cls, episodes: Episodes, model: str, basis: TargetBasis, speakers: Sequence[str]) -> "SecondSums":
        """The sums of one chunk, without the target's own and unrated dialogues; empty if none is left.

        `speakers` are the agents to be estimated; those without alternatives in the chunk are skipped.
        """
        part = leave_out(episodes, {basis.target})
        part = kept(part, np.isfinite(part.reward))
        if not len(part.dialogues):
            return cls()
        raw = RawFeatures(part, vectors(part.texts, model), basis.components, basis.decided)
        there = [name for name in speakers if name in part.alternatives]
        return cls(
            sums.logged_sums(raw),
            {name: sums.target_sums(raw, raw.rows(part.alternatives[name])) for name in there},
        )

    def __add__(self, other: "SecondSums") -> "SecondSums":
        both = dict.fromkeys([*self.speakers, *other.speakers])
        return SecondSums(
            sums.merged(self.logged, other.logged),
            {name: sums.merged(self.speakers.get(name, {}), other.speakers.get(name, {})) for name in both},
        )

    def estimate(
        self, estimator: SumEstimator, speaker: str, basis: TargetBasis, first: FirstSums
    ) -> Estimate:
        """The estimate of this speaker, from the dialogues that neither it nor the target of `basis` held.

        It has one contribution, the value. Refused if no dialogue is left or the speaker has no alternatives.
        """
        problem = self._problem(speaker, Layout.of(basis.components), first)
        value = value_from_sums(estimator, problem)
        level = problem.logged.reward / problem.logged.dialogues
        return Estimate(value=value, contributions=np.array([value]), level=level)

    def _problem(self, speaker: str, layout: Layout, first: FirstSums) -> Problem:
        """The problem of this speaker with sums only: arrays of single dialogues are empty or their means.

        `reward` has only the lowest and the highest rating, for clipping. Refused if no other agent's dialogue is left
        or the speaker has no alternatives.
        """
        names = [name for name in self.logged if name != speaker]
        if not names or speaker not in self.speakers:
            raise Refused(
                "the logs do not say what `{agent}` would have said; `turnwise respond` fills that in",
                "no-alternatives",
                agent=speaker,
            )
        strength = chosen_strength(layout, list(self.logged.values()))
        total = total_sums([self.logged[name] for name in names])
        other = reduce(add, (self.speakers[speaker][name] for name in names))
        features = feature_map(layout, total, strength)
        nothing = np.zeros((1, features.shape[1]))
        ends = [first.by_agent[name] for name in names]
        return Problem(
            kept=np.zeros(0, dtype=np.bool_),
            reward=np.array([min(one.low for one in ends), max(one.high for one in ends)]),
            logged=total,
            gram=features.T @ total.xx @ features,
            next_gram=features.T @ other.xn @ features,
            end_reward=features.T @ total.last_reward,
            first=(other.first / total.dialogues)[None, :] @ features,
            mean=(other.mean / total.dialogues)[None, :] @ features,
            last=nothing,
            shift=nothing,
            to_features=features,
        )


def _by_agent(episodes: Episodes) -> Iterable[tuple[str, Episodes]]:
    """Each agent with its rated dialogues; agents without any are left out."""
    rated = np.isfinite(episodes.reward)
    for index, name in enumerate(episodes.agents):
        mine = rated & (episodes.agent == index)
        if mine.any():
            yield name, kept(episodes, mine)


def _summary(part: Episodes, known: Floats) -> AgentSummary:
    """The summary of one agent's rated dialogues; `known` are the vectors of all texts."""
    return AgentSummary(
        len(part.dialogues),
        float(part.reward.sum()),
        float(np.sum((part.reward - part.reward.mean()) ** 2)),
        float(part.reward.min()),
        float(part.reward.max()),
        bool(np.isfinite(part.logged.outcome[part.first[1:] - 1, 0]).all()),
        *text_moments(part, known),
    )


def _merged(one: Mapping[str, AgentSummary], other: Mapping[str, AgentSummary]) -> dict[str, AgentSummary]:
    """Agent -> the sum of its two summaries, or the only one."""
    total = dict(one)
    for name, rated in other.items():
        total[name] = total[name] + rated if name in total else rated
    return total
