"""Which items to rate next: drawn with a probability that follows the expected error of a metric.

The variance of a corrected mean (stats/ppi.py) is that of the ratings about their prediction from scores. Items where
this error is expected to be large are drawn more often, and the inverse of the probability is kept as the weight of a
drawn item, so that the mean stays unbiased (Zrnic and Candès 2024, "Active statistical inference"). A part of the draw
is uniform: where the expected errors are wrong, no weight is then very large.
"""

from math import floor

import numpy as np

from turnwise.types import Floats, Ints

BINS = 8  # bins of scores, by quantile
PRIOR = 4.0  # labels that the overall error counts for in a bin or an agent
UNIFORM = 0.2  # share of the draw that is uniform


def expected_errors(scores: Floats, errors: Floats, agents: Ints) -> Floats:
    """The root mean square error that is expected of each item, (n,).

    `errors` has the rating less its prediction, NaN for an item without a label; `agents` has codes. The mean square
    depends on the score (by quantile) and on the agent, and both are drawn to the overall mean where labels are few.
    All are 1 without labels or errors.
    """
    known = ~np.isnan(errors)
    squares = np.where(known, errors, 0.0) ** 2
    overall = float(squares[known].mean()) if known.any() else 0.0
    if not overall > 0:
        return np.ones(len(scores))
    edges = np.quantile(scores, np.arange(1, BINS) / BINS)
    found = np.full(len(scores), overall)
    for codes in (np.searchsorted(edges, scores, side="right"), agents):
        n = int(codes.max()) + 1
        sums = np.bincount(codes[known], weights=squares[known], minlength=n)
        counts = np.bincount(codes[known], minlength=n)
        found *= ((sums + PRIOR * overall) / (counts + PRIOR) / overall)[codes]
    result: Floats = np.sqrt(found)
    return result


def inclusion_probabilities(sizes: Floats, count: int, *, uniform: float = UNIFORM) -> Floats:
    """Probabilities (n,) that add up to `count`: a `uniform` part, and the rest in proportion to `sizes`, at most 1.

    `ValueError` if more are asked for than there are.
    """
    n = len(sizes)
    if not 0 < count <= n:
        raise ValueError(f"{count} of {n} items cannot be drawn")
    total = float(sizes.sum())
    shares = sizes / total if total > 0 else np.full(n, 1 / n)
    shares = uniform / n + (1 - uniform) * shares
    certain = np.zeros(n, dtype=bool)
    while True:
        left = count - int(certain.sum())
        found = np.where(certain, 1.0, shares * left / max(float(shares[~certain].sum()), 1e-300))
        if not (found > 1 + 1e-12).any():
            result: Floats = np.minimum(found, 1.0)
            return result
        certain |= found > 1


def systematic_draw(probabilities: Floats, rng: np.random.Generator) -> Ints:
    """Places of the drawn items: each has its probability of being drawn, and their number is fixed."""
    order = rng.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    count = round(float(ends[-1]))
    marks = rng.random() + np.arange(floor(count))
    indices = np.searchsorted(ends * (count / ends[-1]), marks, side="right")
    found: Ints = np.sort(order[np.minimum(indices, len(order) - 1)])
    return found
