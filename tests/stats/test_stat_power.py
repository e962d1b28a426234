import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from turnwise.stats.effect import cohen_dz, superiority
from turnwise.stats.permutation import benjamini_hochberg
from turnwise.stats.power import clusters_needed, minimum_detectable_difference, systems_needed

NAN = float("nan")


def test_the_minimum_detectable_difference_is_found_as_often_as_promised() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(size=30)
    shift = minimum_detectable_difference(differences, power=0.8)
    spread = differences.std(ddof=1)
    # 4,000 samples with the observed spread: the share found has a standard error of .0063.
    found = stats.ttest_1samp(rng.normal(shift, spread, size=(4000, 30)), 0, axis=1).pvalue <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.025)


def test_more_power_asks_for_a_larger_difference() -> None:
    differences = np.random.default_rng(0).normal(size=30)
    asked = [minimum_detectable_difference(differences, power=power) for power in (0.5, 0.8, 0.99)]
    assert asked == sorted(asked)


def test_without_variation_the_minimum_detectable_difference_is_nan() -> None:
    assert np.isnan(minimum_detectable_difference(np.array([1.0])))
    assert np.isnan(minimum_detectable_difference(np.zeros(9)))


def test_half_the_width_needs_four_times_the_clusters() -> None:
    assert clusters_needed(0.2, 50, 0.1) == 200
    with pytest.raises(ValueError, match="must be positive"):
        clusters_needed(0.2, 50, 0.0)


@pytest.mark.parametrize(("r", "half_width"), [(0.0, 0.1), (0.5, 0.2), (0.9, 0.05), (-0.9, 0.05)])
def test_systems_needed_is_the_smallest_number_that_suffices(r, half_width) -> None:
    n = systems_needed(r, half_width)

    def half(n: int) -> float:
        reach = 1.959963985 / np.sqrt(n - 3)
        return float(np.tanh(np.arctanh(r) + reach) - np.tanh(np.arctanh(r) - reach)) / 2

    assert half(n) <= half_width < half(n - 1)


def test_impossible_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="between"):
        systems_needed(1.0, 0.1)


def test_effects_of_paired_differences() -> None:
    assert cohen_dz(np.array([1.0, 2.0, 3.0])) == 2.0
    assert np.isnan(cohen_dz(np.array([2.0, 2.0])))
    assert superiority(np.array([1.0, 5.0, -0.1, 0.0])) == 2.5 / 4
    assert np.isnan(superiority(np.array([])))
    assert np.isnan(superiority(np.array([1.0, NAN])))


def test_benjamini_hochberg_on_a_worked_example() -> None:
    # sorted: .01 * 4/1 = .04, .02 * 4/2 = .04, .04 * 4/3 = .0533, .5 * 4/4 = .5; NaN is not counted
    adjusted = benjamini_hochberg(np.array([0.04, NAN, 0.01, 0.5, 0.02]))
    assert adjusted == pytest.approx([0.16 / 3, NAN, 0.04, 0.5, 0.04], nan_ok=True)


def test_importing_the_statistics_does_not_import_scipy() -> None:
    modules = "agreement correlation interval permutation power resample weighted".split()
    lines = [f"import turnwise.stats.{name}" for name in modules]
    code = "; ".join(["import sys", *lines, "sys.exit('scipy' in sys.modules)"])
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
