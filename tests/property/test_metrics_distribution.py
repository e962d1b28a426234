"""Identities of distances between distributions that hold whatever the vectors."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.frechet import frechet
from turnwise.metrics.distribution.curve import Histograms, histograms
from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.metrics.distribution.kernel import RealSample
from turnwise.metrics.distribution.moments import Moments

WIDTH = 4
numbers = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))
sets = st.integers(2, 12).flatmap(lambda n: arrays(np.float64, (n, WIDTH), elements=numbers))
shares = arrays(np.float64, st.integers(1, 8), elements=st.integers(0, 5).map(float))


def size(*rows: np.ndarray) -> float:
    """What rounding is measured against: the squared length of the longest vector, or 1."""
    return max(1.0, *(float(np.max(np.sum(part**2, axis=1))) for part in rows))


@given(sets, sets)
def test_frechet_is_symmetric_and_not_negative(x: np.ndarray, y: np.ndarray) -> None:
    assert frechet(x, y) >= 0
    assert frechet(x, y) == pytest.approx(frechet(y, x), abs=1e-9 * size(x, y))


@given(sets)
def test_frechet_of_a_set_and_itself_is_0(x: np.ndarray) -> None:
    assert frechet(x, x[::-1]) == pytest.approx(0, abs=1e-9 * size(x))


@given(sets, arrays(np.float64, WIDTH, elements=numbers))
def test_frechet_of_a_shifted_set_is_the_squared_shift(x: np.ndarray, way: np.ndarray) -> None:
    assert frechet(x, x + way) == pytest.approx(float(way @ way), abs=1e-9 * size(x, x + way))


@given(sets, sets, st.integers(0, 2**32 - 1))
def test_frechet_is_unchanged_by_a_rotation_of_both_sets(x: np.ndarray, y: np.ndarray, seed: int) -> None:
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(WIDTH, WIDTH))).Q
    assert frechet(x @ turn, y @ turn) == pytest.approx(frechet(x, y), abs=1e-8 * size(x, y))


@given(sets, sets, st.floats(0.1, 10))
def test_frechet_grows_with_the_square_of_the_unit(x: np.ndarray, y: np.ndarray, unit: float) -> None:
    assert frechet(unit * x, unit * y) == pytest.approx(
        unit**2 * frechet(x, y), abs=1e-8 * unit**2 * size(x, y)
    )


@given(st.lists(sets, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_moments_merged_in_any_order_are_those_of_all_rows(parts: list[np.ndarray], random: object) -> None:
    whole = Moments.of(np.concatenate(parts))
    shuffled = list(parts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    merged = reduce(add, map(Moments.of, shuffled))
    assert merged.count == whole.count
    np.testing.assert_allclose(merged.mean, whole.mean, atol=1e-9 * np.sqrt(size(*parts)))
    np.testing.assert_allclose(merged.scatter, whole.scatter, atol=1e-9 * len(parts) * size(*parts))


@given(sets, st.integers(1, 5))
def test_empty_parts_change_no_moments(x: np.ndarray, copies: int) -> None:
    nothing = x[:0]
    merged = reduce(add, map(Moments.of, [nothing] * copies + [x] + [nothing] * copies))
    np.testing.assert_array_equal(merged.scatter, Moments.of(x).scatter)


@given(sets, sets)
def test_moments_are_all_that_frechet_needs(x: np.ndarray, y: np.ndarray) -> None:
    distance_of_moments = distance(Gaussian.of_moments(Moments.of(x)), Gaussian.of_moments(Moments.of(y)))
    # The root of a singular covariance is known to sqrt(eps) only: rows are better where n < d.
    assert distance_of_moments == pytest.approx(frechet(x, y), abs=1e-6 * size(x, y))


@given(sets, sets, st.integers(1, 6), st.integers(0, 100))
def test_prd_is_within_the_unit_square_and_swapping_sides_swaps_its_axes(
    x: np.ndarray, y: np.ndarray, k: int, seed: int
) -> None:
    one = histograms(x, y, k, rng=np.random.default_rng(seed))
    two = histograms(y, x, k, rng=np.random.default_rng(seed))
    assert one.f1() == pytest.approx(two.f1(), abs=1e-12)
    for curve in (one.curve(), two.curve()):
        assert 0 <= curve.precision.min() <= curve.precision.max() <= 1
        assert 0 <= curve.recall.min() <= curve.recall.max() <= 1
    np.testing.assert_allclose(one.curve().precision, two.curve().recall[::-1], atol=1e-12)


@given(sets, st.integers(1, 6), st.integers(0, 100))
def test_prd_of_a_set_and_itself_is_1(x: np.ndarray, k: int, seed: int) -> None:
    assert histograms(x, x[::-1], k, rng=np.random.default_rng(seed)).f1() == pytest.approx(1, abs=1e-12)


@given(sets, sets, st.integers(1, 6), st.randoms(use_true_random=False))
def test_clusters_do_not_depend_on_the_order_of_rows(
    x: np.ndarray, y: np.ndarray, k: int, random: object
) -> None:
    order = list(range(len(x)))
    random.shuffle(order)  # type: ignore[attr-defined]
    one = histograms(x, y, k, rng=np.random.default_rng(0))
    two = histograms(x[order], y[::-1], k, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(one.real, two.real)
    np.testing.assert_array_equal(one.generated, two.generated)


@given(st.data())
def test_no_weight_gives_a_greater_f1_than_the_exact_maximum(data: st.DataObject) -> None:
    real = data.draw(shares.filter(np.any))
    generated = data.draw(arrays(np.float64, len(real), elements=st.integers(0, 5).map(float)).filter(np.any))
    found = Histograms(real / real.sum(), generated / generated.sum())
    weight = data.draw(st.floats(1e-3, 1e3))
    assert found.at(np.array([weight])).f1 <= found.f1() + 1e-12
    assert found.at_angles(1001).f1 <= found.f1() + 1e-12


@given(sets, sets)
def test_discrepancy_does_not_depend_on_the_order_and_is_at_most_2(x: np.ndarray, y: np.ndarray) -> None:
    one, two = RealSample.of(y), RealSample.of(y[::-1])
    assert one.discrepancy(x) == pytest.approx(two.discrepancy(x[::-1]), abs=1e-9)
    assert one.discrepancy(x) <= 2 + 1e-12
