"""Exact precision and recall of one distribution against another (Sajjadi et al. 2018).

Both sets of vectors are clustered together; R(v) and G(v) are the shares of the real and the generated vectors in
cluster v. For a weight l, precision is a(l) = sum min(l R(v), G(v)) and recall is a(l) / l. Between two neighbouring
ratios G(v)/R(v) both are linear in l, and F1 = 2 a(l) / (1 + l) is monotonic. So the maximum of F1 is at one of the
ratios and can be found exactly; the paper evaluates 1001 angles instead.

A precision near 1 with a recall near .5 means that the agent's replies are like people's, but cover only half of them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.metrics.distribution.kmeans import kmeans, mini_batches
from turnwise.metrics.distribution.moments import finite
from turnwise.types import Floats, Ints

_OVERSAMPLING = 8  # extra directions in the subspace iteration, which make the wanted ones more accurate
_RATIO_TOLERANCE = 1e-12  # ratios with a smaller relative difference are equal up to rounding
_EDGE = 1e-10  # distance of the first and last angle from 0 and pi/2, as in the code of Sajjadi et al.


class Curve(NamedTuple):
    """Precision and recall at n weights."""

    precision: Floats  # (n,)
    recall: Floats  # (n,)

    @property
    def f1(self) -> float:
        """The largest F1 (harmonic mean of precision and recall) on the curve; an empty curve is a `ValueError`."""
        total = self.precision + self.recall
        means = np.divide(2 * self.precision * self.recall, total, out=np.zeros_like(total), where=total > 0)
        return float(means.max())


class Histograms(NamedTuple):
    """The share of each side's vectors in each of `k` common clusters."""

    real: Floats  # (k,)
    generated: Floats  # (k,)

    def curve(self) -> Curve:
        """Precision and recall at weight 0, at each different ratio of a cluster's shares, and at infinity.

        Between these corners the curve is linear.
        """
        return self.at(self._ratios())

    def f1(self) -> float:
        """The exact maximum of F1 over all weights; 0 if no cluster contains both sides."""
        inner = self._ratios()[1:-1]
        return self.at(inner).f1 if len(inner) else 0.0

    def at(self, weights: Floats) -> Curve:
        """Precision and recall at the given weights, from 0 to infinity."""
        real, generated = self.real, self.generated
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = np.minimum(np.nan_to_num(weights[:, None] * real, nan=0.0, posinf=np.inf), generated)
            recall = np.minimum(real, np.nan_to_num(generated / weights[:, None], nan=0.0, posinf=np.inf))
        return Curve(precision.sum(axis=1).clip(0, 1), recall.sum(axis=1).clip(0, 1))

    def at_angles(self, count: int) -> Curve:
        """Precision and recall with the tangents of `count` evenly spaced angles as weights."""
        return self.at(np.tan(np.linspace(_EDGE, np.pi / 2 - _EDGE, count)))

    def _ratios(self) -> Floats:
        """The weights at which the curve has corners: 0, the different ratios of the shares, infinity."""
        both = (self.real > 0) & (self.generated > 0)
        ratios = np.unique(self.generated[both] / self.real[both])
        ratios = ratios[np.diff(ratios, prepend=0.0) > _RATIO_TOLERANCE * ratios]
        return np.concatenate([[0.0], ratios, [np.inf]])


def histograms(
    real: Floats,
    generated: Floats,
    k: int,
    *,
    components: int | float | None = None,
    batch: int | None = None,
    counts: Floats | None = None,
    rng: np.random.Generator,
) -> Histograms:
    """Cluster both sides together into `k` clusters or fewer, and return the share of each side in each cluster.

    Clusters are computed on principal components, if given: the first `components`, or as many as have this share of
    the variance, if it is a fraction. They are computed by mini-batches of `batch` points, if given, else by Lloyd's
    algorithm. Equal vectors become one weighted point, and points have a fixed order, so neither the order of the rows
    nor which side is the real one changes the clusters. `counts` is the number of vectors that each generated vector
    represents; None is 1 each. Raises `TooFewItems` if a side is empty.
    """
    return next(
        histograms_of_runs(
            real, generated, k, runs=1, components=components, batch=batch, counts=counts, rng=rng
        )
    )


def histograms_of_runs(
    real: Floats,
    generated: Floats,
    k: int,
    *,
    runs: int,
    components: int | float | None = None,
    batch: int | None = None,
    counts: Floats | None = None,
    rng: np.random.Generator,
) -> Iterator[Histograms]:
    """The histograms of several runs of k-means on the same points; see `histograms`."""
    real, generated = finite(real), finite(generated)
    if not (len(real) and len(generated)):
        raise TooFewItems("precision and recall need vectors on both sides")
    points, of_row = _unique_rows(np.concatenate([real, generated]))
    of_real = np.bincount(of_row[: len(real)], minlength=len(points))
    counts = np.ones(len(generated)) if counts is None else counts
    of_generated = np.bincount(of_row[len(real) :], weights=counts, minlength=len(points))
    weights = (of_real + of_generated).astype(np.float64)
    if isinstance(components, float):
        points = principal_share(points, components, weights=weights)
    elif components is not None:
        points = principal(points, components, weights=weights, rng=rng)
    for _ in range(runs):
        if batch is None:
            labels = kmeans(points, k, weights=weights, rng=rng)
        else:
            labels = mini_batches(points, k, weights=weights, rng=rng, size=batch)
        yield Histograms(
            np.bincount(labels, weights=of_real) / len(real),
            np.bincount(labels, weights=of_generated) / counts.sum(),
        )


def principal(points: Floats, count: int, *, weights: Floats, rng: np.random.Generator) -> Floats:
    """(n, count) the points projected on their first principal components, by subspace iteration (Halko et al. 2011).

    Clustering does not need exact components, and a full decomposition would take most of the time. `weights` (n,) are
    the weights of the points. The largest weight of a component is positive, so that its sign does not depend on the
    processor. Points with at most `count` + 8 rows or dimensions are returned unchanged.
    """
    if min(points.shape) <= count + _OVERSAMPLING:
        return points
    centred = points - np.average(points, axis=0, weights=weights)
    scaled = centred * np.sqrt(weights)[:, None]
    basis = rng.standard_normal((points.shape[1], count + _OVERSAMPLING))
    for _ in range(2):
        basis = np.linalg.qr(scaled.T @ (scaled @ basis)).Q
    projected = scaled @ basis
    _, rotation = np.linalg.eigh(projected.T @ projected)
    directions = basis @ rotation[:, -count:]
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(count)]
    return np.asarray(centred @ (directions * np.sign(largest)))


def principal_share(points: Floats, share: float, *, weights: Floats) -> Floats:
    """(n, c) the points projected on the fewest principal components with this share of the variance, above 0, below 1.

    Exact, from the products of rows or of columns, whichever are fewer. Equal points are returned unchanged.
    """
    centred = points - np.average(points, axis=0, weights=weights)
    scaled = centred * np.sqrt(weights)[:, None]
    few_rows = len(points) < points.shape[1]
    variances, vectors = np.linalg.eigh(scaled @ scaled.T if few_rows else scaled.T @ scaled)
    variances = variances[::-1].clip(0.0)
    if not variances[0]:
        return points
    count = int(np.searchsorted(np.cumsum(variances), share * variances.sum())) + 1
    chosen = vectors[:, ::-1][:, :count]
    directions = scaled.T @ chosen / np.sqrt(variances[:count]) if few_rows else chosen
    return np.asarray(centred @ directions)


def _unique_rows(rows: Floats) -> tuple[Floats, Ints]:
    """The different rows in a fixed order, and for each row its index among them.

    The order is that of a fixed random projection. A sort by bytes would change with rounding in the last digit, and
    with it the random initial centres and the clusters.
    """
    row_type = np.dtype((np.void, rows.shape[1] * rows.itemsize))
    as_bytes = np.ascontiguousarray(rows + 0.0).view(row_type).ravel()  # + 0.0 turns -0.0 into 0.0
    _, first, of_row = np.unique(as_bytes, return_index=True, return_inverse=True)
    points = rows[first]
    order = np.argsort(points @ np.random.default_rng(0).standard_normal(rows.shape[1]), kind="stable")
    return points[order], np.argsort(order)[of_row.ravel()]
