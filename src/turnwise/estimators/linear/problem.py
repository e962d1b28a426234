"""The linear problem of one target: features, their sums over the logs, and what every linear estimator shares.

Frozen sentence vectors place replies by their wording, and agents word the same act differently. So a ridge regression
is fitted from (reply, its surface, last user turn) to what happened next (next user turn, whether the dialogue ended,
the reward at the end). Its predictions are the features of a Q function, together with surface, user turn, history and
turn number. The strength of the ridge is chosen by leaving out one agent at a time, because the features must carry
over from one agent to another.

A problem is a target and the dialogues that it did not hold. Raw features and sums are computed once for all targets;
after that a problem costs only algebra on p x p sums, so every agent can be left out in turn.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.episodes import kept, leave_out
from turnwise.errors import Refused
from turnwise.estimators.linear import sums
from turnwise.estimators.linear.raw_features import Basis, Layout, RawFeatures, text_moments
from turnwise.estimators.linear.sums import LoggedSums, TargetSums
from turnwise.estimators.vectors import encoder, vectors
from turnwise.types import Card, Episodes, Estimate, Floats, Signature

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # ridge strengths to choose from


@dataclass(frozen=True, slots=True)
class Problem:
    """One target's problem in d features, over N dialogues that other agents held.

    `first` and `mean` are the target's features at first points and averaged over a dialogue, `last` the logged ones at
    last points, and `shift` the target's minus the logged ones, summed over a dialogue.
    """

    kept: NDArray[np.bool_]  # which of all rated dialogues are among the N
    reward: Floats  # (N,)
    logged: LoggedSums  # sums of raw features
    gram: Floats  # (d, d) features at logged points, sum of outer products
    next_gram: Floats  # (d, d) features at a logged point times the target's at the next point
    end_reward: Floats  # (d,) features at last points times the reward
    first: Floats  # (N, d) the target's features at first points
    mean: Floats  # (N, d) the target's features, averaged over a dialogue's points
    last: Floats  # (N, d) logged features at last points
    shift: Floats  # (N, d) the target's features minus the logged ones, summed over a dialogue
    to_features: Floats  # (p, d) maps raw features to features; the last feature is the constant 1

    @property
    def longest(self) -> int:
        """The number of turns of the longest dialogue."""
        return self.logged.longest


class Problems:
    """The problems of all targets of some episodes; unrated dialogues are left out. Refused if none is rated."""

    def __init__(self, episodes: Episodes, model: str) -> None:
        rated = np.isfinite(episodes.reward)
        self.episodes = episodes if rated.all() else kept(episodes, rated)
        if not len(self.episodes.dialogues):
            raise Refused(
                "no dialogue is rated on `{rating}`; rate some", "nothing-rated-on", rating=episodes.rating
            )
        known = vectors(episodes.texts, model)
        decided = bool(np.isfinite(self.episodes.logged.outcome[self.episodes.first[1:] - 1, 0]).all())
        basis = Basis.fit(*text_moments(self.episodes, known))
        self.raw = RawFeatures(self.episodes, known, basis, decided)
        self._made: dict[str, Problem] = {}
        self._target_rows: dict[str, tuple[dict[str, TargetSums], Floats, Floats, Floats]] = {}

    @cached_property
    def logged(self) -> dict[str, LoggedSums]:
        """Agent -> sums over the rated dialogues that it held."""
        return sums.logged_sums(self.raw)

    @cached_property
    def strength(self) -> float:
        """The ridge strength, chosen once for all targets."""
        return chosen_strength(self.raw.layout, list(self.logged.values()))

    @cached_property
    def _totals(self) -> Floats:
        """(N, p) raw features of logged replies, summed over a dialogue."""
        return np.add.reduceat(self.raw.logged, self.episodes.first[:-1], axis=0)

    def of(self, target: str) -> Problem:
        """The problem of this target, computed once; the dialogues that it held are left out.

        Refused if the target has no alternatives, or if no other agent held a dialogue.
        """
        if target not in self._made:
            self._made[target] = self._problem(target)
        return self._made[target]

    def _problem(self, target: str) -> Problem:
        """The problem of this target, computed anew (`of` keeps it); refused as in `of`."""
        if target not in self.episodes.alternatives:
            raise Refused(
                "the logs do not say what `{agent}` would have said; `turnwise respond` fills that in",
                "no-alternatives",
                agent=target,
            )
        raw = self.raw
        names = [name for name in self.episodes.agents if name != target]
        if not names:
            raise Refused(
                "only the target's own dialogues are there; log other agents, rated, with alternatives",
                "no-other-agent",
            )
        others, firsts, means, shifts = self._rows_of(target)
        seen = np.isin(self.episodes.agent, [self.episodes.agents.index(name) for name in names])
        total = total_sums([self.logged[name] for name in names])
        features = feature_map(raw.layout, total, self.strength)
        xn = np.sum([others[name].xn for name in names], axis=0)
        return Problem(
            kept=seen,
            reward=self.episodes.reward[seen],
            logged=total,
            gram=features.T @ total.xx @ features,
            next_gram=features.T @ xn @ features,
            end_reward=features.T @ total.last_reward,
            first=firsts[seen] @ features,
            mean=means[seen] @ features,
            last=raw.logged[raw.last[seen]] @ features,
            shift=shifts[seen] @ features,
            to_features=features,
        )

    def _rows_of(self, target: str) -> tuple[dict[str, TargetSums], Floats, Floats, Floats]:
        """Sums by logging agent, and three (N, p) arrays of the target's raw features, computed once.

        They are: at first points, averaged over each dialogue, and summed over each dialogue minus the logged ones.
        """
        if target not in self._target_rows:
            raw = self.raw
            rows = raw.rows(self.episodes.alternatives[target])
            starts = self.episodes.first[:-1]
            totals = np.add.reduceat(rows, starts, axis=0)
            means = totals / np.diff(self.episodes.first)[:, None]
            shifts = totals - self._totals
            self._target_rows[target] = sums.target_sums(raw, rows), rows[starts], means, shifts
        return self._target_rows[target]


@lru_cache(maxsize=2)
def problems(episodes: Episodes, model: str) -> Problems:
    """The problems of these episodes; the last two are kept, and all estimators of the same episodes share them."""
    return Problems(episodes, model)


def feature_map(layout: Layout, logged: LoggedSums, strength: float) -> Floats:
    """(p, d) maps raw features to features of unit root mean square over logged points; the constant 1 is last.

    Features that are almost 0 at all logged points are dropped. `strength` is that of the ridge.
    """
    predicted = np.zeros((layout.width, logged.xy.shape[1]))
    given = inputs(layout)
    predicted[given] = predictor(logged, given, strength)
    kept = [*_columns(layout.surface), *_columns(layout.user), *_columns(layout.history)]
    kept += [*_columns(layout.turn), *_columns(layout.decision), *_columns(layout.one)]
    raw = np.hstack([predicted, np.eye(layout.width)[:, kept]])
    size = np.sqrt(np.einsum("pd,pq,qd->d", raw, logged.xx, raw, optimize=True) / logged.points)
    alive = size > 1e-9
    alive[-1] = True
    size[-1] = 1.0
    scaled: Floats = raw[:, alive] / size[alive]
    return scaled


def predictor(logged: LoggedSums, given: Sequence[int], strength: float) -> Floats:
    """(inputs, k) ridge coefficients from the columns `given` to `outcomes`.

    The intercept, which is last, is not penalised.
    """
    penalty = np.full(len(given), strength)
    penalty[-1] = 1e-9 * max(logged.points, 1.0)
    gram = logged.xx[np.ix_(given, given)]
    found = np.linalg.solve(gram + np.diag(penalty), logged.xy[given])
    return np.asarray(found, dtype=np.float64)


def inputs(layout: Layout) -> list[int]:
    """Columns of a raw row from which the next user turn, the end and its reward are predicted.

    The constant is last.
    """
    return [
        *_columns(layout.reply),
        *_columns(layout.surface),
        *_columns(layout.user),
        *_columns(layout.one),
    ]


def chosen_strength(layout: Layout, by_agent: Sequence[LoggedSums]) -> float:
    """The ridge strength with the least error on left-out agents, each outcome divided by its sum of squares.

    With one agent it is 3, the third of `STRENGTHS`.
    """
    if len(by_agent) < 2:
        return STRENGTHS[2]
    given = inputs(layout)
    size = np.maximum(total_sums(by_agent).yy, 1e-12)
    errors = np.zeros(len(STRENGTHS))
    for index, one in enumerate(by_agent):
        rest = total_sums([*by_agent[:index], *by_agent[index + 1 :]])
        gram = one.xx[np.ix_(given, given)]
        for at, strength in enumerate(STRENGTHS):
            w = predictor(rest, given, strength)
            missed = one.yy - 2 * np.sum(w * one.xy[given], axis=0) + np.sum(w * (gram @ w), axis=0)
            errors[at] += np.sum(missed / size)
    return STRENGTHS[int(np.argmin(errors))]


def total_sums(parts: Sequence[LoggedSums]) -> LoggedSums:
    """The sum of the statistics of one or more agents, field by field; of `longest` the largest."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _columns(part: slice) -> list[int]:
    """The column numbers of a slice."""
    return list(range(part.start, part.stop))


@dataclass(frozen=True)
class Linear(ABC):
    """A linear estimator: solves a `Problem` and returns one contribution a dialogue, whose mean is the value."""

    card: ClassVar[Card]
    name: ClassVar[str]

    model: str = "minilm"  # encoder of texts

    @property
    def signature(self) -> Signature:
        """All settings of the estimator, and the signature of its encoder."""
        own = ((key, str(value)) for key, value in vars(self).items() if key != "model")
        return Signature(self.name, tuple(own), (encoder(self.model).signature,))

    @abstractmethod
    def solve(self, problem: Problem) -> tuple[Floats, Mapping[str, float]]:
        """(N,) contributions, whose mean is the value, and diagnostics."""

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The estimate of the target from the dialogues that it did not hold. `rng` is not used."""
        return self.estimates(leave_out(episodes, {target}), [target], rng=rng)[0]

    def estimates(
        self, episodes: Episodes, targets: Sequence[str], /, *, rng: np.random.Generator
    ) -> list[Estimate]:
        """An estimate for each target in order, from the dialogues that it did not hold. `rng` is not used.

        The principal components and the ridge strength are common to all targets.
        """
        shared = problems(episodes, self.model)
        return [self._estimate(shared.of(target)) for target in targets]

    def _estimate(self, problem: Problem) -> Estimate:
        """The solution as an estimate; its level is the mean rating of the problem's dialogues."""
        contributions, diagnostics = self.solve(problem)
        return Estimate(
            value=float(contributions.mean()),
            contributions=contributions,
            level=float(problem.reward.mean()),
            diagnostics=diagnostics,
        )


def ess(weights: Floats) -> float:
    """Effective sample size (Kish): the number of equally weighted dialogues with the same variance.

    It is 0 if all weights are 0.
    """
    total = float(np.sum(weights**2))
    return float(np.sum(weights)) ** 2 / total if total > 0 else 0.0
