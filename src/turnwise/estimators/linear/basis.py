"""The directions in which texts differ most: principal components of replies and of user turns, from sums.

Each occurrence of a text counts, so that sums of several logs add up to those of all of them.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from turnwise.types import Episodes, Floats, Ints

REPLY, USER = 128, 24  # components of a reply, and of a user turn: the last, the next, the mean of all


@dataclass(frozen=True, slots=True)
class Spread:
    """First and second moments of vectors."""

    n: float
    total: Floats  # (q,)
    outer: Floats  # (q, q)

    @classmethod
    def of(cls, vectors: Floats, counts: Floats) -> Self:
        weighted = vectors * counts[:, None]
        return cls(float(counts.sum()), weighted.sum(axis=0), vectors.T @ weighted)

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(self.n + other.n, self.total + other.total, self.outer + other.outer)

    def components(self, most: int) -> tuple[Floats, Floats]:
        """(q,) the mean and (q, k) the directions of greatest variance, k at most `most`."""
        n = max(self.n, 1.0)
        mean = self.total / n
        variance, directions = np.linalg.eigh(self.outer / n - np.outer(mean, mean))
        real = variance > 1e-10 * max(variance[-1], 1e-300)
        # In one piece, as it would be after a journey to another process: products of strided arrays round otherwise.
        return mean, np.ascontiguousarray(directions[:, real][:, ::-1][:, :most])


@dataclass(frozen=True, slots=True)
class Basis:
    reply_mean: Floats  # (q,)
    reply: Floats  # (q, k <= 128)
    user_mean: Floats
    user: Floats  # (q, k <= 24)

    @classmethod
    def fit(cls, replies: Spread, users: Spread) -> Self:
        return cls(*replies.components(REPLY), *users.components(USER))

    def replies(self, vectors: Floats) -> Floats:
        return (vectors - self.reply_mean) @ self.reply

    def users(self, vectors: Floats) -> Floats:
        return (vectors - self.user_mean) @ self.user


def spreads(episodes: Episodes, vectors: Floats) -> tuple[Spread, Spread]:
    """Of replies, logged and not, and of user turns."""
    said = [episodes.logged, *episodes.alternatives.values()]
    replies = sum((_counts(one.text, len(vectors)) for one in said), np.zeros(len(vectors)))
    return Spread.of(vectors, replies), Spread.of(vectors, _counts(episodes.user, len(vectors)))


def _counts(places: Ints, n: int) -> Floats:
    return np.bincount(places[places >= 0], minlength=n).astype(np.float64)
