"""What all linear estimators share of some episodes: rows, sums, and the features of each question.

A question is a target and the dialogues that it did not hold. Rows and sums are made once, and a question costs
algebra on p x p sums; that is what lets every agent be left out in turn.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.episodes import kept
from turnwise.errors import Refused
from turnwise.estimators.linear import moments, phi
from turnwise.estimators.linear.basis import Basis, spreads
from turnwise.estimators.linear.points import Points
from turnwise.estimators.vectors import vectors
from turnwise.types import Episodes, Floats


@dataclass(frozen=True, slots=True)
class Question:
    """One target's problem in features: d of them, of N dialogues that others held."""

    kept: NDArray[np.bool_]  # of the design's dialogues, those that are seen: N are
    reward: Floats  # (N,)
    logged: moments.Logged  # sums of rows
    gram: Floats  # (d, d) of features at logged points
    onward: Floats  # (d, d) of features at a logged point and the target's at the next
    arrived: Floats  # (d,) of features at last points times the reward
    first: Floats  # (N, d) the target's features at first points
    mean: Floats  # (N, d) the target's features, mean over a dialogue's points
    last: Floats  # (N, d) logged features at last points
    shift: Floats  # (N, d) the target's features less the logged ones, summed over a dialogue
    map: Floats  # (p, d) from rows to features; the last feature is the 1

    @property
    def longest(self) -> int:
        return self.logged.longest


class Design:
    def __init__(self, episodes: Episodes, model: str) -> None:
        rated = np.isfinite(episodes.reward)
        self.episodes = episodes if rated.all() else kept(episodes, rated)
        if not len(self.episodes.dialogues):
            raise Refused(f"no dialogue is rated on `{episodes.rating}`; rate some")
        known = vectors(episodes.texts, model)
        decided = bool(np.isfinite(self.episodes.logged.outcome[self.episodes.first[1:] - 1, 0]).all())
        self.points = Points(self.episodes, known, Basis.fit(*spreads(self.episodes, known)), decided)
        self._questions: dict[str, Question] = {}
        self._asked: dict[str, tuple[dict[str, moments.Instead], Floats, Floats, Floats]] = {}

    @cached_property
    def logged(self) -> dict[str, moments.Logged]:
        return moments.logged(self.points)

    @cached_property
    def strength(self) -> float:
        return phi.chosen_strength(self.points.layout, list(self.logged.values()))

    @cached_property
    def _totals(self) -> Floats:
        """(N, p) logged rows, summed over a dialogue."""
        return np.add.reduceat(self.points.logged, self.episodes.first[:-1], axis=0)

    def question(self, target: str) -> Question:
        """What is asked of this target. The dialogues that it held are left out."""
        if target not in self._questions:
            self._questions[target] = self._question(target)
        return self._questions[target]

    def _question(self, target: str) -> Question:
        if target not in self.episodes.alternatives:
            raise Refused(
                f"the logs do not say what `{target}` would have said; `turnwise respond` fills that in"
            )
        points = self.points
        names = [name for name in self.episodes.agents if name != target]
        if not names:
            raise Refused(
                "only the target's own dialogues are there; log other agents, rated, with alternatives"
            )
        others, firsts, means, shifts = self._instead(target)
        seen = np.isin(self.episodes.agent, [self.episodes.agents.index(name) for name in names])
        total = phi.summed([self.logged[name] for name in names])
        features = phi.feature_map(points.layout, total, self.strength)
        xn = np.sum([others[name].xn for name in names], axis=0)
        return Question(
            kept=seen,
            reward=self.episodes.reward[seen],
            logged=total,
            gram=features.T @ total.xx @ features,
            onward=features.T @ xn @ features,
            arrived=features.T @ total.last_reward,
            first=firsts[seen] @ features,
            mean=means[seen] @ features,
            last=points.logged[points.last[seen]] @ features,
            shift=shifts[seen] @ features,
            map=features,
        )

    def _instead(self, target: str) -> tuple[dict[str, moments.Instead], Floats, Floats, Floats]:
        """Sums by agent, and (N, p) rows at first points, means and shifts, of what the target would have said."""
        if target not in self._asked:
            points = self.points
            rows = points.rows(self.episodes.alternatives[target])
            starts = self.episodes.first[:-1]
            totals = np.add.reduceat(rows, starts, axis=0)
            means = totals / np.diff(self.episodes.first)[:, None]
            shifts = totals - self._totals
            self._asked[target] = moments.instead(points, rows), rows[starts], means, shifts
        return self._asked[target]


@lru_cache(maxsize=2)
def design(episodes: Episodes, model: str) -> Design:
    """Shared by the estimators that are asked about the same episodes."""
    return Design(episodes, model)
