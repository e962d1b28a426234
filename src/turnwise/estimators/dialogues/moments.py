"""Ridge regressions of ratings on features of dialogues, each without some agents, from sums by agent.

Every agent counts equally, however many dialogues it has. The mean prediction over an agent's dialogues depends on its
mean features alone, and a fit on sums that were made once for each agent: leaving out agents costs one
eigendecomposition, which serves all penalties.

A candidate is a set of columns. `between` fits on the agents' means alone, for a column that is a score already: what
it says of single dialogues of one agent is then not used, only how it ranks agents. A score is used in its own
direction alone: where it ranks the agents backwards its prediction is the mean of the others. Five agents cannot tell a
score that is turned round from one that says nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from turnwise.types import Floats, Ints

# Penalties relative to the mean variance of a feature, from nearly least squares to nearly the mean of the others.
PENALTIES = np.geomspace(0.01, 300.0, 10)
MEAN = "mean"  # the candidate without any column: the mean of the other agents
ALL = "all"  # the candidate of all columns of all groups

Left: TypeAlias = frozenset[int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to predict an agent's mean rating: a regression on some columns."""

    name: str
    columns: tuple[int, ...]
    between: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A regression at every penalty: prediction = level + coefficients of the columns less `middle`."""

    level: float  # mean rating of the agents that it was fitted on
    middle: Floats  # (C,) their mean features
    coefficients: Floats  # (P, C)

    def predict(self, features: Floats) -> Floats:
        """(P, n) the predictions for (n, C) features."""
        found: Floats = self.level + self.coefficients @ (features - self.middle).T
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Sums by agent of a table of dialogues, and the regressions that were fitted on them.

    `rated` are the agents that a regression may be fitted on; the others only get predictions.
    """

    centre: Floats  # (A, D) mean features of each agent over all its dialogues
    rating: Floats  # (A,) mean rating; NaN for an agent without any
    rated_centre: Floats  # (A, D) mean features over its rated dialogues
    second: Floats  # (A, D, D) mean products of features over its rated dialogues
    cross: Floats  # (A, D) mean products of features and rating, likewise
    rated: tuple[int, ...]
    _fits: dict[tuple[Candidate, Left], Fitted] = field(default_factory=dict)
    _predictions: dict[tuple[Candidate, Left], Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, features: Floats, agent: Ints, reward: Floats, n_agents: int) -> "Moments":
        """The sums of (n, D) features, which are finite; `reward` (n,) is NaN for dialogues without a rating."""
        width = features.shape[1]
        centre, rated_centre, cross = (np.zeros((n_agents, width)) for _ in range(3))
        second, rating = np.zeros((n_agents, width, width)), np.full(n_agents, np.nan)
        for index in range(n_agents):
            mine = agent == index
            if not mine.any():
                continue
            centre[index] = features[mine].mean(axis=0)
            known = mine & np.isfinite(reward)
            if known.any():
                x, y = features[known], reward[known]
                rating[index] = y.mean()
                rated_centre[index] = x.mean(axis=0)
                second[index] = x.T @ x / len(y)
                cross[index] = x.T @ y / len(y)
        rated = tuple(np.flatnonzero(np.isfinite(rating)).tolist())
        return cls(centre, rating, rated_centre, second, cross, rated)

    def fit(self, candidate: Candidate, left: Left) -> Fitted:
        """The regressions of a candidate, fitted on all rated agents but those in `left`."""
        key = (candidate, left)
        if key not in self._fits:
            self._fits[key] = self._fitted(candidate, [one for one in self.rated if one not in left])
        return self._fits[key]

    def predictions(self, candidate: Candidate, left: Left) -> Floats:
        """(P, A) the mean prediction of every agent at every penalty, fitted without the agents in `left`."""
        key = (candidate, left)
        if key not in self._predictions:
            fitted = self.fit(candidate, left)
            self._predictions[key] = fitted.predict(self.centre[:, list(candidate.columns)])
        return self._predictions[key]

    def _fitted(self, candidate: Candidate, known: Sequence[int]) -> Fitted:
        """`fit` on the agents `known`."""
        level = float(self.rating[known].mean())
        columns = list(candidate.columns)
        if not columns:
            return Fitted(level, np.zeros(0), np.zeros((len(PENALTIES), 0)))
        means = self.rated_centre[known][:, columns]
        middle = means.mean(axis=0)
        if candidate.between:
            away = means - middle
            spread = away.T @ away / len(known)
            along = away.T @ (self.rating[known] - level) / len(known)
        else:
            spread = self.second[np.ix_(known, columns, columns)].mean(axis=0) - np.outer(middle, middle)
            along = self.cross[np.ix_(known, columns)].mean(axis=0) - middle * level
        values, vectors = np.linalg.eigh(spread)
        usual = max(float(values.mean()), 1e-12)
        if candidate.between:
            along = np.maximum(along, 0.0)
        rotated = (vectors.T @ along) / (np.maximum(values, 0.0) + PENALTIES[:, None] * usual)
        return Fitted(level, middle, rotated @ vectors.T)


def candidates_of(
    groups: Mapping[str, Sequence[int]], scores: Mapping[str, Sequence[int]]
) -> tuple[Candidate, ...]:
    """The candidates: the mean of the others, each group of columns, all groups together, and each score by itself."""
    together = tuple(sorted({column for columns in groups.values() for column in columns}))
    return (
        Candidate(MEAN, ()),
        *(Candidate(name, tuple(columns)) for name, columns in groups.items()),
        *([Candidate(ALL, together)] if len(groups) > 1 else []),
        *(Candidate(name, tuple(columns), between=True) for name, columns in scores.items()),
    )
