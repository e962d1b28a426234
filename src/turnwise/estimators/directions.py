"""The directions in which vectors vary most."""

import numpy as np

from turnwise.types import Floats

COMPONENTS = 24  # principal components of each kind of vector


def directions(spread: Floats) -> Floats:
    """(d, `COMPONENTS`) the first eigenvectors of a (d, d) matrix of squares and products, in columns; fewer if d is
    smaller.

    A column is 0 where the vectors do not vary but for rounding. Scaled to variance 1, such a component would be a
    large number that depends on the processor.
    """
    values, vectors = np.linalg.eigh(spread)
    rounding = values[-1] * len(values) * np.finfo(np.float64).eps
    found: Floats = np.where(values > rounding, vectors, 0.0)[:, ::-1][:, :COMPONENTS]
    return found
