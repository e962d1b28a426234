"""The Frechet distance of two tables of vectors, from the parts that `fbd` uses."""

from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.types import Floats


def frechet(x: Floats, y: Floats, *, shrinkage: float = 0.0) -> float:
    """The distance of Gaussians fitted to the rows of `x` (n, d) and `y` (m, d); 0 for equal means and covariances."""
    return distance(Gaussian.of(x, shrinkage=shrinkage), Gaussian.of(y, shrinkage=shrinkage))
