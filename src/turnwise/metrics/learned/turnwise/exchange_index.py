"""Nearest-neighbour signals from an index of real exchanges (a turn and the reply that followed it).

The index stores the principal components of the vectors of turns and replies, one byte for each. For an item it finds
the indexed turns that are most similar to its last turn, and measures how similar their replies are to its reply; and
the same with turns and replies exchanged. `pmi` is a kernel estimate of log p(turn, reply) / (p(turn) p(reply)) over
the whole index.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import Vectors
from turnwise.types import Floats

COMPONENTS = 128  # principal components that are stored
NEIGHBOURS = 50  # nearest neighbours that are averaged
TOP = 5  # most similar of them, averaged for the signals "top"
SHARPNESS = 10.0  # factor of the similarity in the kernel's exponent; 20 was worse on every corpus
STEPS = 127.0 * 2  # factor from a component of a unit vector to a signed byte; components are clipped at +-.5
NAMES = (  # names of the signals, in the order of `signals`; they are columns of trained models
    "answers, best", "answers, top", "answers", "questions, best", "questions, top", "questions", "usual reply",
    "usual turn", "pmi",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeIndex:
    """Principal components of the turns and replies of n real exchanges."""

    mean: Vectors  # (d,)
    basis: Vectors  # (k, d)
    turns: Vectors  # (n, k) components of the turns, of about unit length
    replies: Vectors  # (n, k) components of the replies

    @classmethod
    def of(cls, turns: Vectors, replies: Vectors) -> "ExchangeIndex":
        """Build the index from the vectors (n, d) of the turns and replies of n exchanges."""
        both = np.concatenate([turns, replies]).astype(np.float64)
        mean = both.mean(axis=0)
        _, axes = np.linalg.eigh(np.cov((both - mean).T))
        k = min(COMPONENTS, both.shape[1])
        basis = axes[:, ::-1][:, :k].T
        # The sign of an axis is arbitrary: its largest entry is made positive.
        basis *= np.sign(basis[np.arange(k), np.abs(basis).argmax(axis=1)])[:, None]
        empty = cls(
            mean.astype(np.float32), basis.astype(np.float16).astype(np.float32), turns[:0], replies[:0]
        )
        projected = (np.stack([empty.project(row) for row in vectors]) for vectors in (turns, replies))
        rounded = [np.clip(np.round(rows * STEPS), -127, 127) / STEPS for rows in projected]
        return cls(empty.mean, empty.basis, *(rows.astype(np.float32) for rows in rounded))

    @classmethod
    def load(cls, tensors: Mapping[str, NDArray[Any]]) -> "ExchangeIndex":
        """The index from the tensors of a model's folder."""
        mean, basis = (tensors[f"bank.{name}"].astype(np.float32) for name in ("mean", "basis"))
        turns, replies = (
            tensors[f"bank.{name}"].astype(np.float32) / np.float32(STEPS) for name in ("turns", "replies")
        )
        return cls(mean, basis, turns, replies)

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The index as tensors of a model's folder; turns and replies are signed bytes."""
        return {
            "bank.mean": self.mean,
            "bank.basis": self.basis.astype(np.float16),
            "bank.turns": np.round(self.turns * STEPS).astype(np.int8),
            "bank.replies": np.round(self.replies * STEPS).astype(np.int8),
        }

    def project(self, vector: Vectors) -> Vectors:
        """(k,) the principal components of a vector (d,), scaled to unit length."""
        components: Vectors = self.basis @ (vector - self.mean)
        return components / max(float(np.sqrt(components @ components)), 1e-9)

    def signals(self, turn: Vectors, reply: Vectors) -> Floats:
        """(9,) the signals `NAMES` of one exchange, given the vectors (d,) of its turn and its reply."""
        to_turn = self.turns @ self.project(turn)  # similarity of each indexed turn to this turn
        to_reply = self.replies @ self.project(reply)
        count = min(NEIGHBOURS, len(to_turn))
        near_turns = np.argpartition(-to_turn, count - 1)[:count]
        near_replies = np.argpartition(-to_reply, count - 1)[:count]
        answers, questions = np.sort(to_reply[near_turns])[::-1], np.sort(to_turn[near_replies])[::-1]
        return np.array(
            [
                answers[0], answers[:TOP].mean(), answers.mean(),
                questions[0], questions[:TOP].mean(), questions.mean(),
                np.sort(to_reply[near_replies]).mean(), np.sort(to_turn[near_turns]).mean(),
                _log_mean_kernel(to_turn + to_reply) - _log_mean_kernel(to_turn) - _log_mean_kernel(to_reply),
            ],
            dtype=np.float64,
        )  # fmt: skip


def _log_mean_kernel(similarity: Vectors) -> float:
    """The logarithm of the mean kernel; similarities are in [-2, 2], so nothing overflows."""
    return float(np.log(np.mean(np.exp(SHARPNESS * similarity.astype(np.float64)))))
