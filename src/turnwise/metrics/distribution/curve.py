"""Precision and recall of one distribution against another (Sajjadi et al. 2018), as exact numbers.

Both sets of vectors are put into the same clusters; R(v) and G(v) are the shares of the real and the generated ones
in cluster v. For each weight l, precision is a(l) = sum min(l R(v), G(v)) and recall a(l) / l. Between two
neighbouring ratios G(v)/R(v) both are linear in l, and F1 = 2 a(l) / (1 + l) rises or falls throughout: its maximum
lies at one of the ratios, so it is found exactly, where the paper looks at 1001 angles.

Precision near 1 with recall near .5: the system says real things, but half of what people say it never does.
"""

from typing import NamedTuple

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.metrics.distribution.kmeans import kmeans, mini_batches
from turnwise.metrics.distribution.moments import finite
from turnwise.types import Floats, Ints

_SPARE = 8  # directions beyond those wanted, so that the last of these come out right
_EQUAL = 1e-12  # of a ratio: nearer ones are one ratio and rounding, and the curve's corners do not double
_EDGE = 1e-10  # angles short of 0 and of a right one, as in the code of Sajjadi et al.


class Curve(NamedTuple):
    precision: Floats  # (n,)
    recall: Floats  # (n,)

    @property
    def f1(self) -> float:
        """The greatest harmonic mean of the two on the curve."""
        total = self.precision + self.recall
        means = np.divide(2 * self.precision * self.recall, total, out=np.zeros_like(total), where=total > 0)
        return float(means.max())


class Histograms(NamedTuple):
    real: Floats  # (k,) shares
    generated: Floats  # (k,) shares

    def curve(self) -> Curve:
        """The corners, between which precision and recall run on lines: at every ratio, and at both ends."""
        return self.at(self._ratios())

    def f1(self) -> float:
        """The exact maximum over all weights; 0 where no cluster holds both."""
        inner = self._ratios()[1:-1]
        return self.at(inner).f1 if len(inner) else 0.0

    def at(self, weights: Floats) -> Curve:
        """Precision and recall at the given weights; 0 and infinity are the ends."""
        real, generated = self.real, self.generated
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = np.minimum(np.nan_to_num(weights[:, None] * real, nan=0.0, posinf=np.inf), generated)
            recall = np.minimum(real, np.nan_to_num(generated / weights[:, None], nan=0.0, posinf=np.inf))
        return Curve(precision.sum(axis=1).clip(0, 1), recall.sum(axis=1).clip(0, 1))

    def angles(self, count: int) -> Curve:
        """Precision and recall at the tangents of evenly spaced angles."""
        return self.at(np.tan(np.linspace(_EDGE, np.pi / 2 - _EDGE, count)))

    def _ratios(self) -> Floats:
        both = (self.real > 0) & (self.generated > 0)
        ratios = np.unique(self.generated[both] / self.real[both])
        ratios = ratios[np.diff(ratios, prepend=0.0) > _EQUAL * ratios]
        return np.concatenate([[0.0], ratios, [np.inf]])


def histograms(
    real: Floats,
    generated: Floats,
    k: int,
    *,
    components: int | None = None,
    batch: int | None = None,
    counts: Floats | None = None,
    rng: np.random.Generator,
) -> Histograms:
    """The shares of both sides in `k` clusters of them all, found on their first `components` if given.

    Equal vectors are one point with a weight, in an order of their own: neither the order of the rows nor which
    side is called real can move a cluster. `counts` says how many vectors each of the generated ones stands for.
    """
    real, generated = finite(real), finite(generated)
    if not (len(real) and len(generated)):
        raise TooFewItems("precision and recall need vectors on both sides")
    points, of_row = _different(np.concatenate([real, generated]))
    of_real = np.bincount(of_row[: len(real)], minlength=len(points))
    counts = np.ones(len(generated)) if counts is None else counts
    of_generated = np.bincount(of_row[len(real) :], weights=counts, minlength=len(points))
    weights = (of_real + of_generated).astype(np.float64)
    if components is not None:
        points = principal(points, components, weights=weights, rng=rng)
    if batch is None:
        labels = kmeans(points, k, weights=weights, rng=rng)
    else:
        labels = mini_batches(points, k, weights=weights, rng=rng, size=batch)
    return Histograms(
        np.bincount(labels, weights=of_real) / len(real),
        np.bincount(labels, weights=of_generated) / counts.sum(),
    )


def principal(points: Floats, count: int, *, weights: Floats, rng: np.random.Generator) -> Floats:
    """(n, count) the points along the directions in which they vary most, by subspace iteration (Halko et al. 2011).

    Clusters do not need the directions to the last digit, and a full decomposition would take most of the time.
    """
    if min(points.shape) <= count + _SPARE:
        return points
    centred = points - np.average(points, axis=0, weights=weights)
    scaled = centred * np.sqrt(weights)[:, None]
    basis = rng.standard_normal((points.shape[1], count + _SPARE))
    for _ in range(2):
        basis = np.linalg.qr(scaled.T @ (scaled @ basis)).Q
    seen = scaled @ basis
    _, turns = np.linalg.eigh(seen.T @ seen)
    return np.asarray(centred @ (basis @ turns[:, -count:]))


def _different(rows: Floats) -> tuple[Floats, Ints]:
    """The different rows in an order of their own, and for each row its place among them.

    The order is that of a fixed projection: vectors that differ by rounding keep their places, and so the draws that
    clusters begin with. By their bytes they would not, and the last digit would choose the clusters.
    """
    whole = np.dtype((np.void, rows.shape[1] * rows.itemsize))
    texts = np.ascontiguousarray(rows + 0.0).view(whole).ravel()  # + 0.0: -0.0 is 0.0 in other bytes
    _, first, of_row = np.unique(texts, return_index=True, return_inverse=True)
    points = rows[first]
    order = np.argsort(points @ np.random.default_rng(0).standard_normal(rows.shape[1]), kind="stable")
    return points[order], np.argsort(order)[of_row.ravel()]
