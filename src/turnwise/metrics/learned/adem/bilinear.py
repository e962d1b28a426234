"""ADEM's head: the score of a reply is c'M r^ + r'N r^, shifted and scaled (Lowe et al. 2017, eq. 1).

c, r and r^ are the vectors of context, reference and reply in the first n principal components of the training
vectors. M and N start as the identity: then the score is a dot product, which is what the paper's rows `VHRED` and
`T2V` are. Only these two matrices are learned. alpha and beta are constants: the paper has them put the first
predictions into [0, 5]; here the first predictions have the mean of the training ratings and the largest spread that
stays on their scale. With several references r is the mean of their vectors, which for a bilinear score is the mean
of the scores.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError
from turnwise.types import Floats

SIDES = ("context", "reference")  # what a reply is held against; M is of the first, N of the second


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Principal components."""

    mean: Floats  # (d,)
    axes: Floats  # (n, d)

    @classmethod
    def fit(cls, vectors: Floats, n: int) -> "Components":
        """The first n, or all where there are fewer."""
        mean = vectors.mean(axis=0)
        centred = vectors - mean
        _, axes = np.linalg.eigh(centred.T @ centred)
        return cls(mean, np.ascontiguousarray(axes[:, ::-1][:, :n].T))

    def first(self, n: int) -> "Components":
        return Components(self.mean, self.axes[:n])

    def __call__(self, vectors: Floats) -> Floats:
        """(m, d) -> (m, n)"""
        projected: Floats = (vectors - self.mean) @ self.axes.T
        return projected


@dataclass(frozen=True, slots=True, eq=False)
class Bilinear:
    components: Components
    matrices: Mapping[str, Floats]  # side -> (n, n)
    alpha: float
    beta: float

    def __call__(self, sides: Mapping[str, Floats], replies: Floats) -> Floats:
        """(m,) scores of vectors (m, d); NaN where a vector is. Row by row: a row's bits are then its own."""
        scores = np.full(len(replies), np.nan)
        for row, reply in enumerate(replies):
            held = {side: sides[side][row] for side in self.matrices}
            if np.isfinite(reply).all() and all(np.isfinite(vector).all() for vector in held.values()):
                scores[row] = self._score(held, reply)
        return scores

    def _score(self, held: Mapping[str, Floats], reply: Floats) -> float:
        (near,) = self.components(reply[None])
        total = sum(
            float(self.components(held[side][None])[0] @ matrix @ near)
            for side, matrix in self.matrices.items()
        )
        return (total - self.alpha) / self.beta

    def tensors(self) -> dict[str, NDArray[Any]]:
        parts = {"mean": self.components.mean, "axes": self.components.axes, **self.matrices}
        return {f"head.{name}": part.astype(np.float32) for name, part in parts.items()}

    @classmethod
    def of(cls, tensors: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> "Bilinear":
        """From a folder's tensors and what its config says of the head."""
        try:
            parts = {name: tensors[f"head.{name}"].astype(np.float64) for name in ("mean", "axes")}
            matrices = {
                side: tensors[f"head.{side}"].astype(np.float64)
                for side in settings["sides"]
                if side in SIDES
            }
            head = cls(Components(**parts), matrices, float(settings["alpha"]), float(settings["beta"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the model's head cannot be read: {error!r} is missing or wrong") from error
        n = len(head.components.axes)
        if not matrices or any(matrix.shape != (n, n) for matrix in matrices.values()):
            raise DataError(f"the model's matrices are not {n} by {n}, as its components are")
        return head
