"""Variance components of a measurement with several sources, crossed or nested: a G-study.

By Henderson's first method (1953): the sum of squares of each source is set equal to its expectation, which holds for
unequal numbers and without normality. Estimates below 0 are set to 0.
"""

from collections.abc import Mapping

import numpy as np

from turnwise.types import Floats, Ints

REST = "rest"  # what no source explains


def separable(sources: Mapping[str, Ints]) -> dict[str, Ints]:
    """The sources whose variance can be told from that of the sources before them and from the rest, in order.

    A source that groups the observations as an earlier one does, that has one level, or that has a level for each
    observation, is left out.
    """
    kept: dict[str, Ints] = {}
    for name, codes in sources.items():
        n_levels = len(np.unique(codes))
        trial = {**kept, name: codes}
        if (
            1 < n_levels < len(codes)
            and np.linalg.matrix_rank(_expected(trial, len(codes))) == len(trial) + 1
        ):
            kept = trial
    return kept


def variance_components(values: Floats, sources: Mapping[str, Ints]) -> dict[str, float] | None:
    """The variance of each source, and of the `REST`, from (n,) values and the (n,) codes of each source's levels.

    None where the sources cannot be told apart.
    """
    n = len(values)
    values = np.asarray(values, dtype=np.float64) - np.mean(values)
    table = _expected(sources, n)
    if np.linalg.matrix_rank(table) < len(table):
        return None
    squares = [float(np.sum(_sums(codes, values) ** 2 / _sums(codes))) for codes in sources.values()]
    found = np.linalg.solve(table, np.array([*squares, float(values @ values)]))
    return dict(zip((*sources, REST), np.maximum(found, 0.0).tolist(), strict=True))


def variance_of_mean(weights: Floats, sources: Mapping[str, Ints]) -> dict[str, float]:
    """How much of each source's variance is in the weighted mean of the observations: 1 over its effective number of
    levels; for the `REST` over that of observations. `weights` add up to 1.
    """
    shares = {name: float(np.sum(_sums(codes, weights) ** 2)) for name, codes in sources.items()}
    return {**shares, REST: float(weights @ weights)}


def _sums(codes: Ints, weights: Floats | None = None) -> Floats:
    """The sum of the weights of each level that occurs; without weights the number of observations."""
    dense = np.unique(codes, return_inverse=True)[1]
    return np.bincount(dense, weights=weights).astype(np.float64)


def _expected(sources: Mapping[str, Ints], n: int) -> Floats:
    """(s + 1, s + 1) expectations: a row for the sum of squares about the mean of each source and of all values, a
    column for the variance of each source and of the rest.
    """
    every = [*sources.values(), np.arange(n)]
    rows = []
    for codes in every:
        of_level = _sums(codes)
        dense = np.unique(codes, return_inverse=True)[1]
        row = []
        for other in every:
            cells, counts = np.unique(np.stack([dense, other]), axis=1, return_counts=True)
            about_mean = float(np.sum(_sums(other) ** 2)) / n
            row.append(float(np.sum(counts.astype(np.float64) ** 2 / of_level[cells[0]])) - about_mean)
        rows.append(row)
    return np.array(rows)
