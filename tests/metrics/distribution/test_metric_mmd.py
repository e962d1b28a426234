"""MMD: it is unbiased and detects differences beyond the first two moments."""

import numpy as np
import pytest

from tests.frechet import frechet
from turnwise.errors import DataError, TooFewItems
from turnwise.metrics.distribution.kernel import RealSample, median_distance


def test_mmd_of_equal_distributions_is_zero_on_average_and_often_negative() -> None:
    rng = np.random.default_rng(0)
    reference = RealSample.of(rng.normal(size=(400, 5)))
    found = []
    for _ in range(200):
        real = RealSample.of(rng.normal(size=(60, 5)))
        found.append(real.discrepancy(rng.normal(size=(60, 5))))
    assert np.mean(found) == pytest.approx(0, abs=4 * np.std(found) / np.sqrt(200))
    assert 0.3 < np.mean(np.array(found) < 0) < 0.7
    assert reference.discrepancy(rng.normal(size=(400, 5)) + 1) > 10 * np.std(found)


def test_a_worked_example_by_hand() -> None:
    reference = RealSample.of(np.array([[0.0], [2.0]]))
    assert reference.width == 2
    near, far = np.exp(-1 / 8), np.exp(-4 / 8)
    # within the generated (1, 1): 1; within the real (0, 2): exp(-4/8); across: both at distance 1.
    assert reference.discrepancy(np.array([[1.0], [1.0]])) == pytest.approx(1 + far - 2 * near)


def test_mmd_distinguishes_distributions_with_the_same_moments() -> None:
    rng = np.random.default_rng(1)
    real = rng.normal(size=(2000, 1))
    two_points = np.repeat([[-1.0], [1.0]], 1000, axis=0)
    assert frechet(two_points, real) < 0.01
    assert RealSample.of(real).discrepancy(two_points) > 0.05


def test_the_block_size_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnwise.metrics.distribution import kernel

    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(37, 4)), rng.normal(size=(51, 4))
    whole = RealSample.of(y).discrepancy(x)
    monkeypatch.setattr(kernel, "_BLOCK", 8)
    assert RealSample.of(y).discrepancy(x) == pytest.approx(whole, rel=1e-12)


def test_equal_vectors_have_a_kernel_width() -> None:
    assert median_distance(np.ones((10, 3))) == 1
    assert RealSample.of(np.ones((10, 3))).discrepancy(np.ones((5, 3))) == pytest.approx(0, abs=1e-12)


def test_one_vector_on_either_side_is_refused_and_a_nan_is_an_error() -> None:
    rows = np.zeros((4, 2))
    with pytest.raises(TooFewItems):
        RealSample.of(rows[:1])
    with pytest.raises(TooFewItems):
        RealSample.of(rows).discrepancy(rows[:1])
    with pytest.raises(DataError):
        RealSample.of(rows).discrepancy(np.full((4, 2), np.nan))
