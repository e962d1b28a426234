"""Permutation test of two systems on different dialogues, whose clusters cannot be paired.

The system labels of all clusters are permuted. The test is exact if the two systems do not differ at all, and p is
never 0. `compare` uses `studentised.independent`; benchmarks measure its power beside this test.
"""

from collections.abc import Callable

import numpy as np

from turnwise.stats.permutation import DifferenceTest
from turnwise.types import Floats

_CELLS = 2**22  # numbers in one block of labels: 32 MB


def permutation_test(
    a: Floats, b: Floats, of_sums: Callable[[Floats], Floats], *, draws: int, rng: np.random.Generator
) -> DifferenceTest:
    """Test of no difference between two systems, from (C, k) sums of each, by `draws` permutations of system labels."""
    sums = np.concatenate([a, b])

    def difference(first: Floats) -> Floats:
        """(b, C) rows, 1 for clusters labelled as the first system's, else 0 -> (b,) differences."""
        return of_sums(first @ sums) - of_sums((1.0 - first) @ sums)

    return _label_permutation_test(difference, len(a), len(b), draws=draws, rng=rng)


def _label_permutation_test(
    difference: Callable[[Floats], Floats], n_a: int, n_b: int, *, draws: int, rng: np.random.Generator
) -> DifferenceTest:
    """Test of a difference by `draws` permutations of the system labels of clusters; p is NaN if it is not finite.

    `difference` maps (b, C) rows, 1 for the first system's clusters and 0 for the second's, to (b,) differences.
    """
    labels = np.concatenate([np.ones(n_a), np.zeros(n_b)])
    observed = float(difference(labels[None])[0])
    if not np.isfinite(observed):
        return DifferenceTest(observed, float("nan"))
    block = max(1, _CELLS // len(labels))
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    shuffled = (rng.permuted(np.broadcast_to(labels, (size, len(labels))), axis=1) for size in sizes)
    null = np.concatenate([difference(rows) for rows in shuffled])
    # An undefined difference, and one that differs from the observed one by rounding only, counts as extreme.
    extreme = int(np.count_nonzero(~(np.abs(null) < abs(observed) * (1 - 1e-10))))
    return DifferenceTest(observed, (1 + extreme) / (1 + draws))
