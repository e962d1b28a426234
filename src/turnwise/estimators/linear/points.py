"""What is known of a state and a reply before anything is fitted: one row of numbers a point.

A row holds the reply (principal components; how many values it copies from the user and how many it brings, how long
it is, and the cosine of its vector with that of the user's turn), the state (the user's last turn, the mean of his
turns, which turn it is, a 1) and the decision (whether the reply ends the dialogue by one, and its score). The agent's
own earlier turns are left out: they say how an agent talks, and that is what one must not learn. Everything that the
linear estimators use is a linear map of these rows, so that sums of their products are all that is ever needed.

A reply that commits to a decision has its score and nothing else: what follows is known. What an agent would have
said is the mean over its samples.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from turnwise.encode.text.delexicalise import copies
from turnwise.estimators.linear.basis import Basis
from turnwise.types import Episodes, Floats, Ints, Said

TURNS = 12  # the last stands for all later turns too


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns hold what."""

    reply: slice
    surface: slice  # copied values, new ones, log of words, cosine with the user's turn
    user: slice
    history: slice
    turn: slice
    one: slice
    decision: slice  # whether it ends here, and with what score

    @property
    def width(self) -> int:
        return int(self.decision.stop)

    @classmethod
    def of(cls, basis: Basis) -> "Layout":
        sizes = (basis.reply.shape[1], 4, basis.user.shape[1], basis.user.shape[1], TURNS, 1, 2)
        stops = np.cumsum(sizes)
        return cls(*(slice(int(stop - size), int(stop)) for size, stop in zip(sizes, stops, strict=True)))


@dataclass(frozen=True)
class Points:
    """The rows of some episodes. `decided` says whether decisions and their scores are known to us."""

    episodes: Episodes
    vectors: Floats  # (m, q)
    basis: Basis
    decided: bool

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(self.basis)

    @cached_property
    def place(self) -> Ints:
        """(n,) how many points of the dialogue lie before each."""
        lengths = np.diff(self.episodes.first)
        return np.arange(len(self.episodes.user)) - np.repeat(self.episodes.first[:-1], lengths)

    @cached_property
    def last(self) -> Ints:
        """(N,) the last point of each dialogue."""
        return self.episodes.first[1:] - 1

    @cached_property
    def users(self) -> Floats:
        """(n, k) the user's last turn; no turn is at the mean."""
        coded = np.vstack([self.basis.users(self.vectors), np.zeros(self.basis.user.shape[1])])
        return coded[self.episodes.user]

    @cached_property
    def logged(self) -> Floats:
        """(n, p)"""
        return self.rows(self.episodes.logged)

    def rows(self, said: Said) -> Floats:
        """(n, p) of what an agent said or would have said."""
        layout, n = self.layout, len(self.episodes.user)
        there = said.text >= 0
        weight = there / np.maximum(there.sum(axis=1, keepdims=True), 1)  # (n, K)
        ended = weight * (said.end & np.isfinite(said.outcome)) if self.decided else 0 * weight
        open_ = weight - ended
        rows = np.zeros((n, layout.width))
        for k in range(said.text.shape[1]):
            rows[:, : layout.surface.stop - 1] += open_[:, k, None] * self._replies[said.text[:, k]]
            rows[:, layout.surface.stop - 1] += open_[:, k] * self._cosine(said.text[:, k])
        rows[:, layout.user.start : layout.one.stop] = self._states * open_.sum(axis=1, keepdims=True)
        rows[:, layout.decision.start] = ended.sum(axis=1)
        rows[:, layout.decision.start + 1] = (ended * np.nan_to_num(said.outcome)).sum(axis=1)
        return rows

    @cached_property
    def _replies(self) -> Floats:
        """(m + 1, k + 3); the last row is of a reply that is not there."""
        surface = [(*copies(text), np.log1p(len(text.split()))) for text in self.episodes.texts]
        rows = np.hstack([self.basis.replies(self.vectors), np.array(surface).reshape(-1, 3)])
        return np.vstack([rows, np.zeros(rows.shape[1])])

    def _cosine(self, reply: Ints) -> Floats:
        """(n,) of replies, one a point, with the user's turn there; 0 where either is missing."""
        pairs, inverse = np.unique(np.stack([reply, self.episodes.user]), axis=1, return_inverse=True)
        found = np.einsum("nq,nq->n", self._unit[pairs[0]], self._unit[pairs[1]])
        cosines: Floats = found[inverse.ravel()]
        return cosines

    @cached_property
    def _unit(self) -> Floats:
        length = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return np.vstack([self.vectors / np.maximum(length, 1e-12), np.zeros(self.vectors.shape[1])])

    @cached_property
    def _states(self) -> Floats:
        turn = np.eye(TURNS)[np.minimum(self.place, TURNS - 1)]
        return np.hstack([self.users, self._history, turn, np.ones((len(turn), 1))])

    @cached_property
    def _history(self) -> Floats:
        """(n, k) the mean of the user's turns so far, from running sums."""
        sums = np.vstack([np.zeros(self.users.shape[1]), np.cumsum(self.users, axis=0)])
        start = np.repeat(self.episodes.first[:-1], np.diff(self.episodes.first))
        return (sums[1:] - sums[start]) / (self.place + 1)[:, None]
