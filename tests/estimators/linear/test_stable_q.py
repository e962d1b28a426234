"""Fitted Q of `robust` where the iteration diverges."""

from types import SimpleNamespace

import numpy as np
import pytest

from turnwise.estimators.linear.regression import fitted_q
from turnwise.estimators.linear.robust import _stable_q


def problem(growth: float) -> SimpleNamespace:
    """One feature and the constant; at each step of the iteration Q grows by `growth` / (1 + ridge)."""
    return SimpleNamespace(
        gram=np.eye(2),
        next_gram=np.diag([growth, 0.0]),
        end_reward=np.array([0.5, 0.1]),
        first=np.array([[1.0, 1.0], [0.8, 1.0]]),
        reward=np.array([0.0, 1.0]),
        logged=SimpleNamespace(points=1.0),
        longest=10,
    )


def test_an_iteration_that_diverges_gets_a_larger_ridge() -> None:
    wild = problem(3.0)
    assert np.abs(fitted_q(wild, 0.1)).max() > 1e6
    found = _stable_q(wild, 0.1)
    np.testing.assert_array_equal(found, fitted_q(wild, 3.2))  # the first of .1, .2, .4, ... above 2
    assert np.abs(wild.first @ found).max() < 1


def test_one_that_diverges_in_opposite_directions_is_seen_though_its_mean_is_not_off() -> None:
    wild = problem(3.0)
    wild.first = np.array([[1.0, 1.0], [-1.0, 1.0]])
    assert np.mean(wild.first @ fitted_q(wild, 0.1)) == pytest.approx(0.1, abs=1e-3)
    np.testing.assert_array_equal(_stable_q(wild, 0.1), fitted_q(wild, 3.2))


def test_rounding_after_convergence_is_not_a_divergence() -> None:
    calm = problem(1e-9)
    np.testing.assert_array_equal(_stable_q(calm, 0.1), fitted_q(calm, 0.1))


def test_one_that_converges_is_left_as_it_is() -> None:
    calm = problem(0.5)
    np.testing.assert_array_equal(_stable_q(calm, 0.1), fitted_q(calm, 0.1))
    assert float(_stable_q(calm, 0.1)[1]) == pytest.approx(0.1, rel=1e-3)
