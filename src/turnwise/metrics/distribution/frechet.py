"""The Frechet distance of two sets of vectors, each approximated by a Gaussian (Dowson and Landau 1982).

It is |m - n|^2 + tr S + tr T - 2 tr sqrt(S T), the squared 2-Wasserstein distance of N(m, S) and N(n, T). If A'A = S
and B'B = T, then tr sqrt(S T) is the nuclear norm of A B', so no matrix square root is needed. With fewer vectors than
dimensions, A is the matrix of centred vectors, and the norm is that of a small n x m matrix. With more, A is a Cholesky
factor, and the norm follows from the eigenvalues of the symmetric matrix A T A'. A generic matrix square root of the
asymmetric S T is slower by two orders of magnitude and has errors of 1e-5 where S is singular.

`shrinkage` moves a covariance towards tr S / d times the identity, which keeps its trace. It matters if n < d: the
plain distance of two small samples of one distribution is mostly the distance of the subspaces that they span.
"""

from dataclasses import dataclass

import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.distribution.moments import Moments, finite, too_few_vectors
from turnwise.types import Floats, Ints

# The square root multiplies the rounding error of an eigenvalue by 1/(2 sqrt(eigenvalue)). For an eigenvalue below this
# share of the largest, the error could reach 1e-11 of the largest; then singular values are used, exact to 1e-16.
_MIN_EIGENVALUE_RATIO = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """A Gaussian by its mean and a root of its covariance."""

    mean: Floats  # (d,)
    root: Floats  # (r, d): root' root is the covariance
    triangular: bool = False  # a Cholesky factor: the covariance has full rank

    @classmethod
    def of(cls, rows: Floats, *, shrinkage: float = 0.0) -> "Gaussian":
        """The Gaussian with the mean and covariance of the rows (n, d), after shrinkage.

        Raises `TooFewItems` for fewer than 2 rows.
        """
        if len(rows) > max(1, np.shape(rows)[-1]) or shrinkage:
            return cls.of_moments(Moments.of(rows), shrinkage=shrinkage)
        rows = finite(rows)
        n = len(rows)
        if n < 2:
            raise too_few_vectors(n)
        mean = rows.mean(axis=0)
        return cls(mean, (rows - mean) / np.sqrt(n - 1))

    @classmethod
    def of_moments(cls, moments: Moments, *, shrinkage: float = 0.0) -> "Gaussian":
        """The Gaussian with these moments, after shrinkage of the covariance; a singular covariance is allowed.

        Raises `UsageError` for a shrinkage outside 0 to 1, and `TooFewItems` for fewer than 2 vectors.
        """
        if not 0 <= shrinkage <= 1:
            raise UsageError(f"shrinkage is between 0 and 1, not {shrinkage}")
        covariance = moments.covariance
        if shrinkage:
            mean_variance = np.trace(covariance) / len(covariance)
            covariance = (1 - shrinkage) * covariance + shrinkage * mean_variance * np.eye(len(covariance))
        try:
            return cls(
                moments.mean, np.asarray(np.linalg.cholesky(covariance).T, np.float64), triangular=True
            )
        except np.linalg.LinAlgError:  # singular: fewer vectors than dimensions, or constant dimensions
            values, vectors = np.linalg.eigh(covariance)
            # Eigenvalues below this bound are zero up to rounding.
            kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
            return cls(moments.mean, (vectors[:, kept] * np.sqrt(values[kept])).T)


class SubsetDistances:
    """Distances of subsets of some vectors from one Gaussian, without shrinkage.

    The vectors are multiplied by the Gaussian's root once. tr sqrt(S T) of a subset is the nuclear norm of its centred
    products, so a subset of fewer vectors than dimensions needs only the eigenvalues of a part of their Gram matrix.
    """

    def __init__(self, rows: Floats, other: Gaussian) -> None:
        rows = finite(rows)
        self._origin = rows.mean(axis=0)  # subtracted first, so that sums of squares do not cancel
        self._rows = rows - self._origin
        self._squares = np.einsum("ij,ij->i", self._rows, self._rows)
        self._other = other
        self._other_variance = float(np.sum(other.root**2))
        products = self._rows @ other.root.T
        if len(rows) < products.shape[1]:  # in coordinates of their own span: the same norms, fewer columns
            products = np.asarray(np.linalg.qr(products.T).R.T, np.float64)
        self._products = products
        self._gram = products @ products.T if len(rows) <= products.shape[1] else None

    def distance(self, chosen: Ints) -> float:
        """The distance of the vectors at these indices, two or more; raises `TooFewItems` for fewer."""
        n = len(chosen)
        if n < 2:
            raise too_few_vectors(n)
        mean = self._rows[chosen].mean(axis=0)
        variance = (np.sum(self._squares[chosen]) - n * np.sum(mean**2)) / (n - 1)
        mean_difference = np.sum((mean + self._origin - self._other.mean) ** 2)
        cross = self._nuclear_norm(chosen) / np.sqrt(n - 1)
        return max(0.0, float(mean_difference + variance + self._other_variance - 2 * cross))

    def _nuclear_norm(self, chosen: Ints) -> float:
        """The sum of the singular values of the centred products at these indices."""
        if self._gram is not None:
            gram = self._gram[np.ix_(chosen, chosen)]
            mean = gram.mean(axis=0)
            squares = np.linalg.eigvalsh(gram - mean - mean[:, None] + mean.mean())
        else:
            products = self._products[chosen]
            products = products - products.mean(axis=0)
            squares = np.linalg.eigvalsh(products.T @ products)
        # Centred products have an eigenvalue of 0, and each repeated vector gives another one.
        squares = squares[squares > len(squares) * np.finfo(np.float64).eps * squares[-1]]
        if not len(squares) or squares[0] > _MIN_EIGENVALUE_RATIO * squares[-1]:
            return float(np.sum(np.sqrt(squares)))
        products = self._products[chosen]
        return float(np.sum(np.linalg.svd(products - products.mean(axis=0), compute_uv=False)))


def distance(x: Gaussian, y: Gaussian) -> float:
    """The Frechet distance of two Gaussians: the squared 2-Wasserstein distance, 0 or more."""
    mean_difference = np.sum((x.mean - y.mean) ** 2)
    value = mean_difference + np.sum(x.root**2) + np.sum(y.root**2) - 2 * _trace_of_root(x, y)
    # For equal Gaussians the terms cancel, and rounding can give a value slightly below zero.
    return max(0.0, float(value))


def _trace_of_root(x: Gaussian, y: Gaussian) -> float:
    """tr sqrt(S T) for the covariances S and T of the two Gaussians."""
    product = x.root @ y.root.T
    if x.triangular and y.triangular:
        squares = np.linalg.eigvalsh(product @ product.T)
        if squares[0] > _MIN_EIGENVALUE_RATIO * squares[-1]:
            return float(np.sum(np.sqrt(squares)))
    return float(np.sum(np.linalg.svd(product, compute_uv=False)))
