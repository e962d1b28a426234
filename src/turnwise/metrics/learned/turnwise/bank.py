"""Nearest neighbours in a bank of real exchanges: did people answer something like this with something like that?

The bank holds pairs of a turn and what followed it, as principal components in whole numbers of a byte. For an item,
the contexts most like its last turn are found, and how like their replies the reply is; and the other way round.
`pmi` is a kernel estimate of log p(turn, reply) / p(turn) p(reply) over the whole bank.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import Vectors
from turnwise.types import Floats

COMPONENTS, NEAR, TOP = 128, 50, 5
SHARPNESS = 10.0  # of the kernel; 20 was worse on every corpus
STEPS = 127.0 * 2  # a component of a unit vector, times this, is a byte: half a per cent, cut at +-.5
NAMES = (
    "answers, best", "answers, top", "answers", "questions, best", "questions, top", "questions", "usual reply",
    "usual turn", "pmi",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Bank:
    mean: Vectors  # (d,)
    basis: Vectors  # (k, d)
    turns: Vectors  # (n, k) of about unit length
    replies: Vectors  # (n, k)

    @classmethod
    def of(cls, turns: Vectors, replies: Vectors) -> "Bank":
        """From the vectors of n exchanges."""
        both = np.concatenate([turns, replies]).astype(np.float64)
        mean = both.mean(axis=0)
        _, axes = np.linalg.eigh(np.cov((both - mean).T))
        k = min(COMPONENTS, both.shape[1])
        basis = axes[:, ::-1][:, :k].T
        # The sign of an axis is arbitrary: its largest entry is made positive.
        basis *= np.sign(basis[np.arange(k), np.abs(basis).argmax(axis=1)])[:, None]
        plain = cls(
            mean.astype(np.float32), basis.astype(np.float16).astype(np.float32), turns[:0], replies[:0]
        )
        sides = (np.stack([plain.project(row) for row in side]) for side in (turns, replies))
        rounded = [np.clip(np.round(side * STEPS), -127, 127) / STEPS for side in sides]
        return cls(plain.mean, plain.basis, *(side.astype(np.float32) for side in rounded))

    @classmethod
    def load(cls, tensors: Mapping[str, NDArray[Any]]) -> "Bank":
        mean, basis = (tensors[f"bank.{name}"].astype(np.float32) for name in ("mean", "basis"))
        turns, replies = (
            tensors[f"bank.{name}"].astype(np.float32) / np.float32(STEPS) for name in ("turns", "replies")
        )
        return cls(mean, basis, turns, replies)

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        return {
            "bank.mean": self.mean,
            "bank.basis": self.basis.astype(np.float16),
            "bank.turns": np.round(self.turns * STEPS).astype(np.int8),
            "bank.replies": np.round(self.replies * STEPS).astype(np.int8),
        }

    def project(self, vector: Vectors) -> Vectors:
        """(d,) -> (k,) of unit length."""
        part: Vectors = self.basis @ (vector - self.mean)
        return part / max(float(np.sqrt(part @ part)), 1e-9)

    def look(self, turn: Vectors, reply: Vectors) -> Floats:
        """(9,) `NAMES`, for one exchange."""
        like_turn = self.turns @ self.project(turn)
        like_reply = self.replies @ self.project(reply)
        near = min(NEAR, len(like_turn))
        turns = np.argpartition(-like_turn, near - 1)[:near]
        replies = np.argpartition(-like_reply, near - 1)[:near]
        answers, questions = np.sort(like_reply[turns])[::-1], np.sort(like_turn[replies])[::-1]
        return np.array(
            [
                answers[0], answers[:TOP].mean(), answers.mean(),
                questions[0], questions[:TOP].mean(), questions.mean(),
                np.sort(like_reply[replies]).mean(), np.sort(like_turn[turns]).mean(),
                _log_mean(like_turn + like_reply) - _log_mean(like_turn) - _log_mean(like_reply),
            ],
            dtype=np.float64,
        )  # fmt: skip


def _log_mean(similarity: Vectors) -> float:
    """log of the mean kernel; similarities lie in [-2, 2], so nothing overflows."""
    return float(np.log(np.mean(np.exp(SHARPNESS * similarity.astype(np.float64)))))
