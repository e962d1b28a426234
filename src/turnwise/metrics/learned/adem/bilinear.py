"""ADEM's head (Lowe et al. 2017, eq. 1): the score of a reply is (c'M r^ + r'N r^ - alpha) / beta.

c, r and r^ are the vectors of context, reference and reply, projected on the first n principal components of the
training vectors. Only the matrices M and N are learned. They start as the identity; then the score is a sum of dot
products, as in the paper's rows `VHRED` and `T2V`. alpha and beta are constants. In the paper they bring the first
predictions into [0, 5]; here they give the first predictions the mean of the training ratings and the largest spread
that stays on the rating scale. With several references, r is the mean of their vectors, which for a bilinear score
equals the mean of the scores.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError
from turnwise.types import Floats

SIDES = ("context", "reference")  # what a reply is compared with, by the matrices M and N


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Projection on principal components."""

    mean: Floats  # (d,)
    axes: Floats  # (n, d)

    @classmethod
    def fit(cls, vectors: Floats, n: int) -> "Components":
        """The first n principal components of the vectors (m, d), by falling variance; all d if there are fewer."""
        mean = vectors.mean(axis=0)
        centred = vectors - mean
        _, axes = np.linalg.eigh(centred.T @ centred)
        return cls(mean, np.ascontiguousarray(axes[:, ::-1][:, :n].T))

    def first(self, n: int) -> "Components":
        """The first n of these components."""
        return Components(self.mean, self.axes[:n])

    def __call__(self, vectors: Floats) -> Floats:
        """(m, n) the projections of vectors (m, d)."""
        projected: Floats = (vectors - self.mean) @ self.axes.T
        return projected


@dataclass(frozen=True, slots=True, eq=False)
class Bilinear:
    """A trained head: the projection, the matrices M and N by side, and the constants."""

    components: Components
    matrices: Mapping[str, Floats]  # side -> (n, n)
    alpha: float
    beta: float

    def __call__(self, sides: Mapping[str, Floats], replies: Floats) -> Floats:
        """(m,) scores from vectors (m, d) of the sides and the replies, computed row by row; NaN if a vector is NaN."""
        scores = np.full(len(replies), np.nan)
        for row, reply in enumerate(replies):
            compared = {side: sides[side][row] for side in self.matrices}
            if np.isfinite(reply).all() and all(np.isfinite(vector).all() for vector in compared.values()):
                scores[row] = self._score(compared, reply)
        return scores

    def _score(self, compared: Mapping[str, Floats], reply: Floats) -> float:
        """The score of one reply (d,), compared with the vectors (d,) of its sides."""
        (projected,) = self.components(reply[None])
        total = sum(
            float(self.components(compared[side][None])[0] @ matrix @ projected)
            for side, matrix in self.matrices.items()
        )
        return (total - self.alpha) / self.beta

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The head as tensors of a model's folder, in single precision; alpha and beta belong to the config."""
        parts = {"mean": self.components.mean, "axes": self.components.axes, **self.matrices}
        return {f"head.{name}": part.astype(np.float32) for name, part in parts.items()}

    @classmethod
    def of(cls, tensors: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> "Bilinear":
        """The head from a folder's tensors and the entry `head` of its config.

        A missing or wrong part is a `DataError`.
        """
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
