"""The Frechet distance of two sets of vectors, each taken for a Gaussian (Dowson and Landau 1982).

|m - n|^2 + tr S + tr T - 2 tr sqrt(S T), the squared 2-Wasserstein distance of N(m, S) and N(n, T). If A'A = S and
B'B = T, then tr sqrt(S T) is the nuclear norm of A B': no square root of a matrix is ever taken. With fewer vectors
than dimensions the centred vectors themselves are such an A, and the norm is that of a small n x m matrix; with
more it is a Cholesky factor, and the norm comes from the eigenvalues of the symmetric A T A'. A generic matrix
square root of the asymmetric S T is slower by two orders of magnitude, and wrong by 1e-5 where S is singular.

`shrinkage` draws a covariance towards tr S / d times the identity, which keeps its trace. It matters where n < d:
the plain distance of two small samples of one distribution is mostly the distance of the subspaces they span.
"""

from dataclasses import dataclass

import numpy as np

from turnwise.errors import TooFewItems, UsageError
from turnwise.metrics.distribution.moments import Moments, finite
from turnwise.types import Floats

# A square root multiplies an eigenvalue's rounding error by 1/(2 sqrt(eigenvalue)): below this share of the largest
# it could reach 1e-11 of the largest, and singular values, which are exact to 1e-16, are taken instead.
_SMALLEST = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    mean: Floats  # (d,)
    root: Floats  # (r, d): root' root is the covariance
    triangular: bool = False  # a Cholesky factor: the covariance has full rank

    @classmethod
    def of(cls, rows: Floats, *, shrinkage: float = 0.0) -> "Gaussian":
        """The Gaussian of the rows (n, d), of which there are at least two."""
        if len(rows) > max(1, np.shape(rows)[-1]) or shrinkage:
            return cls.of_moments(Moments.of(rows), shrinkage=shrinkage)
        rows = finite(rows)
        n = len(rows)
        if n < 2:
            raise TooFewItems(f"a covariance needs 2 vectors or more, and there are {n}")
        mean = rows.mean(axis=0)
        return cls(mean, (rows - mean) / np.sqrt(n - 1))

    @classmethod
    def of_moments(cls, moments: Moments, *, shrinkage: float = 0.0) -> "Gaussian":
        if not 0 <= shrinkage <= 1:
            raise UsageError(f"shrinkage is between 0 and 1, not {shrinkage}")
        covariance = moments.covariance
        if shrinkage:
            even = np.trace(covariance) / len(covariance)
            covariance = (1 - shrinkage) * covariance + shrinkage * even * np.eye(len(covariance))
        try:
            return cls(
                moments.mean, np.asarray(np.linalg.cholesky(covariance).T, np.float64), triangular=True
            )
        except np.linalg.LinAlgError:  # singular: fewer vectors than dimensions, or some that never vary
            values, vectors = np.linalg.eigh(covariance)
            # What is left of a zero eigenvalue after rounding is not a direction.
            kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
            return cls(moments.mean, (vectors[:, kept] * np.sqrt(values[kept])).T)


def frechet(x: Floats, y: Floats, *, shrinkage: float = 0.0) -> float:
    """The distance of the rows of `x` (n, d) and of `y` (m, d); 0 where their first two moments agree."""
    return distance(Gaussian.of(x, shrinkage=shrinkage), Gaussian.of(y, shrinkage=shrinkage))


def distance(x: Gaussian, y: Gaussian) -> float:
    gap = np.sum((x.mean - y.mean) ** 2)
    value = gap + np.sum(x.root**2) + np.sum(y.root**2) - 2 * _cross(x, y)
    # The terms cancel when the two agree, and rounding can leave a hair below zero.
    return max(0.0, float(value))


def _cross(x: Gaussian, y: Gaussian) -> float:
    """tr sqrt(S T)."""
    product = x.root @ y.root.T
    if x.triangular and y.triangular:
        squares = np.linalg.eigvalsh(product @ product.T)
        if squares[0] > _SMALLEST * squares[-1]:
            return float(np.sum(np.sqrt(squares)))
    return float(np.sum(np.linalg.svd(product, compute_uv=False)))
