"""Principal components of vectors that vary in fewer dimensions than components are asked for."""

import numpy as np
import pytest

from turnwise.estimators.directions import COMPONENTS, directions


@pytest.mark.parametrize("rank", [1, 3, COMPONENTS + 6])
def test_a_direction_in_which_nothing_varies_but_rounding_is_none(rank: int):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((300, rank)) @ rng.standard_normal((rank, 100))
    found = directions(vectors.T @ vectors)
    assert found.shape == (100, COMPONENTS)
    assert np.any(found, axis=0).tolist() == [place < rank for place in range(COMPONENTS)]
    deviations = (vectors @ found).std(axis=0)
    assert np.all(np.diff(deviations) <= 0)
    assert np.all((deviations == 0) | (deviations > 1e-3))


def test_equal_vectors_have_no_direction():
    assert not directions(np.zeros((30, 30))).any()
    assert directions(np.eye(5)).shape == (5, 5)
