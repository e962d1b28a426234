"""Prediction intervals where the known means have sampling errors of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.estimators.calibration import line, standard_errors
from turnwise.estimators.random_effects import error_spread, random_effects


@given(st.integers(0, 10**6), st.integers(5, 20))
def test_without_errors_it_is_students_interval(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 1 + 2 * x + rng.normal(size=n)
    student = line(x, y)
    found = random_effects(x, y, np.full(n, 1e-7), spread=student.spread)
    assert found.at(0.3) == pytest.approx(student.at(0.3), abs=1e-5)
    assert found.interval(0.3, 0.95) == pytest.approx(student.interval(0.3), rel=0.01, abs=0.01)


@pytest.mark.parametrize(
    ("agents", "between"), [(15, 0.02), (15, 0.05), (8, 0.03)], ids=["small", "large", "few agents"]
)
def test_the_interval_is_that_of_the_true_mean_and_not_of_one_more_log(agents: int, between: float) -> None:
    """Logs of 100 dialogues have errors of .03: least squares covers too much, random effects about 95 %."""
    rng = np.random.default_rng(0)
    covered, widths = [], []
    for _ in range(600):
        true = rng.normal(0.6, 0.15, agents + 1)
        raw = true + between * rng.normal(size=agents + 1)
        errors = rng.uniform(0.02, 0.04, agents)
        logged = true[1:] + errors * rng.normal(size=agents)
        wide = line(raw[1:], logged)
        narrow = line(raw[1:], logged, errors)
        low, high = narrow.interval(raw[0])
        covered.append(low <= true[0] <= high)
        widths.append((high - low) / np.subtract(*wide.interval(raw[0])[::-1]))
    assert 0.91 < np.mean(covered) <= 0.99
    assert np.mean(widths) < 0.97


def test_precise_means_count_for_more() -> None:
    """Five exact points lie on y = x, a sixth that is hardly known lies far off."""
    x = np.arange(6.0)
    y = np.array([0.0, 1.01, 1.99, 3.0, 4.02, 9.0])
    errors = np.array([0.01] * 5 + [5.0])
    assert line(x, y, errors).at(5.0) == pytest.approx(5.0, abs=0.1)
    assert line(x, y).at(5.0) > 6.5


def test_standard_errors_are_shrunk_towards_the_common_variance() -> None:
    """Variances 0 and .5 of 5 ratings each: common .25, shrunk (0 + 4 * .25) / 8 and (2 + 4 * .25) / 8."""
    found = standard_errors({"equal": (5, 0.0), "spread": (5, 2.0)})
    assert found == pytest.approx({"equal": (0.125 / 5) ** 0.5, "spread": (0.375 / 5) ** 0.5})
    assert standard_errors({"a": (1, 0.0), "b": (1, 0.0)}) == {"a": 0.0, "b": 0.0}


def test_the_spread_of_exact_errors_gives_students_interval_around_zero() -> None:
    from scipy.special import stdtrit

    rng = np.random.default_rng(3)
    missed = rng.normal(size=9)
    found = error_spread(missed, np.full(9, 1e-9))
    student = float(stdtrit(9, 0.975)) * float(np.sqrt(np.mean(missed**2)))
    assert found.half_width(0.95) == pytest.approx(student, rel=0.01)


def test_sampling_errors_of_the_means_are_not_part_of_the_spread() -> None:
    """True errors have a deviation of .5, the means are measured with errors of .4: the sum has .64."""
    rng = np.random.default_rng(4)
    covered = []
    for _ in range(400):
        true = 0.5 * rng.normal(size=13)
        missed = true[:12] + 0.4 * rng.normal(size=12)
        covered.append(abs(true[12]) <= error_spread(missed, np.full(12, 0.4)).half_width(0.95))
    assert 0.92 < np.mean(covered) < 0.985
