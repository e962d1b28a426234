"""The raw features of a logged point: one row of numbers for a state and a reply, before anything is fitted.

A row holds the reply (principal components of its sentence vector; how many values it copies from the user and how many
it adds, its length, and the cosine of its vector with that of the user's turn), the state (the user's last turn, the
mean of the user's turns, the number of the turn, a constant 1) and the decision (whether the reply ends the dialogue
with one, and its score). The agent's own earlier turns are left out: they show how an agent talks, and an estimate must
not depend on that. Everything that the linear estimators use is a linear map of these rows, so sums of their products
are sufficient statistics.

A reply that commits to a decision has only its score: what follows is known. The row of what an agent would have said
is the mean over its samples.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from turnwise.encode.text.delexicalise import copies
from turnwise.types import Episodes, Floats, Ints, RepliesAtPoints

REPLY, USER = 128, 24  # largest numbers of principal components, of replies and of user turns
TURNS = 12  # turn numbers that have a column; later turns share the last one


@dataclass(frozen=True, slots=True)
class TextMoments:
    """Count, sum and sum of outer products of text vectors. Each occurrence of a text counts, so moments add up."""

    n: float  # occurrences
    total: Floats  # (q,)
    outer: Floats  # (q, q)

    @classmethod
    def of(cls, vectors: Floats, counts: Floats) -> Self:
        """The moments of (m, q) vectors, of which vector i occurs `counts[i]` times."""
        weighted = vectors * counts[:, None]
        return cls(float(counts.sum()), weighted.sum(axis=0), vectors.T @ weighted)

    def __add__(self, other: "TextMoments") -> "TextMoments":
        return TextMoments(self.n + other.n, self.total + other.total, self.outer + other.outer)

    def components(self, most: int) -> tuple[Floats, Floats]:
        """(q,) the mean, and (q, k) the k <= `most` directions of largest variance (principal components)."""
        n = max(self.n, 1.0)
        mean = self.total / n
        variance, directions = np.linalg.eigh(self.outer / n - np.outer(mean, mean))
        real = variance > 1e-10 * max(variance[-1], 1e-300)
        # Contiguous, as after pickling to another process: products of strided arrays round differently.
        return mean, np.ascontiguousarray(directions[:, real][:, ::-1][:, :most])


@dataclass(frozen=True, slots=True)
class Basis:
    """Principal components of replies and of user turns."""

    reply_mean: Floats  # (q,)
    reply: Floats  # (q, k <= 128)
    user_mean: Floats
    user: Floats  # (q, k <= 24)

    @classmethod
    def fit(cls, replies: TextMoments, users: TextMoments) -> Self:
        """Up to `REPLY` components of replies and up to `USER` components of user turns."""
        return cls(*replies.components(REPLY), *users.components(USER))

    def project_replies(self, vectors: Floats) -> Floats:
        """(m, k) coordinates of text vectors on the components of replies."""
        return (vectors - self.reply_mean) @ self.reply

    def project_users(self, vectors: Floats) -> Floats:
        """(m, k) coordinates of text vectors on the components of user turns."""
        return (vectors - self.user_mean) @ self.user


def text_moments(episodes: Episodes, vectors: Floats) -> tuple[TextMoments, TextMoments]:
    """Moments of replies (logged ones and every agent's alternatives), and of user turns; each occurrence counts."""
    said = [episodes.logged, *episodes.alternatives.values()]
    replies = sum((_counts(one.text, len(vectors)) for one in said), np.zeros(len(vectors)))
    return TextMoments.of(vectors, replies), TextMoments.of(vectors, _counts(episodes.user, len(vectors)))


def _counts(indices: Ints, n: int) -> Floats:
    """(n,) how often each index 0 to n - 1 occurs in `indices`; -1 is skipped."""
    return np.bincount(indices[indices >= 0], minlength=n).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a row, as slices."""

    reply: slice
    surface: slice  # copied values, new values, log of the number of words, cosine with the user's turn
    user: slice
    history: slice
    turn: slice
    one: slice
    decision: slice  # whether the dialogue ends here, and the score of the decision

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        return int(self.decision.stop)

    @classmethod
    def of(cls, basis: Basis) -> "Layout":
        """The columns of rows with this basis, in the order of the fields."""
        sizes = (basis.reply.shape[1], 4, basis.user.shape[1], basis.user.shape[1], TURNS, 1, 2)
        stops = np.cumsum(sizes)
        return cls(*(slice(int(stop - size), int(stop)) for size, stop in zip(sizes, stops, strict=True)))


@dataclass(frozen=True)
class RawFeatures:
    """The rows of the points of some episodes; a cached property is computed once."""

    episodes: Episodes
    vectors: Floats  # (m, q)
    basis: Basis
    decided: bool  # whether every dialogue ends with a decision whose score is known

    @cached_property
    def layout(self) -> Layout:
        """The columns of the rows."""
        return Layout.of(self.basis)

    @cached_property
    def position(self) -> Ints:
        """(n,) number of points of the same dialogue before each."""
        lengths = np.diff(self.episodes.first)
        return np.arange(len(self.episodes.user)) - np.repeat(self.episodes.first[:-1], lengths)

    @cached_property
    def last(self) -> Ints:
        """(N,) index of the last point of each dialogue."""
        return self.episodes.first[1:] - 1

    @cached_property
    def users(self) -> Floats:
        """(n, k) components of the user's last turn; the mean where there is none."""
        coded = np.vstack([self.basis.project_users(self.vectors), np.zeros(self.basis.user.shape[1])])
        return coded[self.episodes.user]

    @cached_property
    def logged(self) -> Floats:
        """(n, p) rows of the logged replies."""
        return self.rows(self.episodes.logged)

    def rows(self, said: RepliesAtPoints) -> Floats:
        """(n, p) rows of what an agent said or would have said, the mean over its samples; zeros where it has no reply.

        With `decided`, a sample that ends the dialogue with a scored decision has only the two decision columns.
        """
        layout, n = self.layout, len(self.episodes.user)
        present = said.text >= 0
        weight = present / np.maximum(present.sum(axis=1, keepdims=True), 1)  # (n, K)
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
        """(m + 1, k + 3) reply columns of every text; the last row stands for a missing reply."""
        surface = [(*copies(text), np.log1p(len(text.split()))) for text in self.episodes.texts]
        rows = np.hstack([self.basis.project_replies(self.vectors), np.array(surface).reshape(-1, 3)])
        return np.vstack([rows, np.zeros(rows.shape[1])])

    def _cosine(self, reply: Ints) -> Floats:
        """(n,) cosine of each point's reply with the user's turn; 0 where either is missing."""
        pairs, inverse = np.unique(np.stack([reply, self.episodes.user]), axis=1, return_inverse=True)
        found = np.einsum("nq,nq->n", self._unit[pairs[0]], self._unit[pairs[1]])
        cosines: Floats = found[inverse.ravel()]
        return cosines

    @cached_property
    def _unit(self) -> Floats:
        """(m + 1, q) the text vectors at unit length; the last row, for a missing text, is zero."""
        length = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return np.vstack([self.vectors / np.maximum(length, 1e-12), np.zeros(self.vectors.shape[1])])

    @cached_property
    def _states(self) -> Floats:
        """(n, s) user turn, mean of the user's turns, indicator of the turn number and the constant 1."""
        turn = np.eye(TURNS)[np.minimum(self.position, TURNS - 1)]
        return np.hstack([self.users, self._history, turn, np.ones((len(turn), 1))])

    @cached_property
    def _history(self) -> Floats:
        """(n, k) mean of the user's turns so far, the last one included, from running sums."""
        sums = np.vstack([np.zeros(self.users.shape[1]), np.cumsum(self.users, axis=0)])
        start = np.repeat(self.episodes.first[:-1], np.diff(self.episodes.first))
        return (sums[1:] - sums[start]) / (self.position + 1)[:, None]
