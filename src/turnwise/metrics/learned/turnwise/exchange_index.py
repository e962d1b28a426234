"""Nearest-neighbour signals from an index of real exchanges (a turn and the reply that followed it).

The index stores the principal components of the vectors of turns and replies, one byte for each. For an item it finds
the indexed turns that are most similar to its last turn, and measures how similar their replies are to its reply; and
the same with turns and replies exchanged. `pmi` is a kernel estimate of log p(turn, reply) / (p(turn) p(reply)) over
the whole index.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import Vectors
from turnwise.types import Floats, Ints

COMPONENTS = 128  # principal components that are stored
NEIGHBOURS = 50  # nearest neighbours that are averaged
TOP = 5  # most similar of them, averaged for the signals "top"
SHARPNESS = 10.0  # factor of the similarity in the kernel's exponent; 20 was worse on every corpus
KEPT = 256  # turns whose neighbours are kept, 32 kB each: an attack scores many replies to the same turns
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

    def near_turn(self, turn: Vectors) -> "Neighbours":
        """The indexed turns beside a turn's vector (d,); they are kept for further replies to it."""
        return _near_turn(self, turn.astype(np.float32, copy=False).tobytes())

    def signals(self, near_turn: "Neighbours", reply: Vectors) -> Floats:
        """(9,) the signals `NAMES` of an exchange, from the neighbours of its turn and the vector (d,) of its reply."""
        near_reply = Neighbours.of(self.replies @ self.project(reply))
        to_turn, to_reply = near_turn.similarity, near_reply.similarity
        answers = np.sort(to_reply[near_turn.nearest])[::-1]
        questions = np.sort(to_turn[near_reply.nearest])[::-1]
        return np.array(
            [
                answers[0], answers[:TOP].mean(), answers.mean(),
                questions[0], questions[:TOP].mean(), questions.mean(),
                near_reply.mean, near_turn.mean,
                _log_mean_kernel(to_turn + to_reply) - near_turn.log_kernel - near_reply.log_kernel,
            ],
            dtype=np.float64,
        )  # fmt: skip


@lru_cache(maxsize=KEPT)
def _near_turn(index: ExchangeIndex, turn: bytes) -> "Neighbours":
    """`ExchangeIndex.near_turn` for the bytes of a vector."""
    return Neighbours.of(index.turns @ index.project(np.frombuffer(turn, dtype=np.float32)))


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """How similar one turn is to each indexed turn, or one reply to each indexed reply."""

    similarity: Vectors  # (n,)
    nearest: Ints  # indices of the most similar ones
    mean: float  # mean similarity of these
    log_kernel: float  # logarithm of the mean kernel over the index

    @classmethod
    def of(cls, similarity: Vectors) -> "Neighbours":
        """The neighbours from the similarities."""
        nearest = _largest(similarity, min(NEIGHBOURS, len(similarity)))
        return cls(similarity, nearest, np.sort(similarity[nearest]).mean(), _log_mean_kernel(similarity))


def _largest(values: Vectors, count: int) -> Ints:
    """The indices of the `count` largest values, in no particular order.

    Values that are large among every eighth leave few candidates, which is seven times as fast as partitioning all.
    """
    sample = values[::8]
    least = len(sample) - (count // 8 + 6)  # with 50 of 8,000, about 96 candidates
    if least > 0:
        candidates = np.flatnonzero(values >= np.partition(sample, least)[least])
        if len(candidates) >= count:
            among = values[candidates]
            chosen = candidates[among >= np.partition(among, len(among) - count)[len(among) - count]]
            if len(chosen) == count:  # more are equal to the smallest of them
                return np.asarray(chosen, dtype=np.int64)
    return np.argpartition(-values, count - 1)[:count]


def _log_mean_kernel(similarity: Vectors) -> float:
    """The logarithm of the mean kernel; similarities are in [-2, 2], so nothing overflows."""
    return float(np.log(np.mean(np.exp(SHARPNESS * similarity.astype(np.float64)))))
