from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from turnwise.stats.repeated import all_of, any_of, interval_of_tasks


def counted(outcomes: list[list[int]], k: int, rule) -> list[float]:
    """The share of all sets of k trials for which a rule holds, by looking at every set."""
    return [float(np.mean([rule(chosen) for chosen in combinations(task, k)])) for task in outcomes]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_shares_are_those_of_all_sets_of_k_trials_also_for_unequal_numbers(k: int) -> None:
    outcomes = [[0, 0, 0], [1, 0, 1, 0], [1, 1, 1], [1, 0, 0, 0, 0, 0, 1]]
    passed, trials = np.array([sum(task) for task in outcomes]), np.array([len(task) for task in outcomes])
    assert all_of(passed, trials, k) == pytest.approx(counted(outcomes, k, all))
    assert any_of(passed, trials, k) == pytest.approx(counted(outcomes, k, any))


@pytest.mark.parametrize(("p", "k"), [(0.3, 2), (0.8, 4), (0.5, 1)])
def test_both_are_unbiased(p: float, k: int) -> None:
    passed = np.arange(7)
    chances = binom.pmf(passed, 6, p)
    trials = np.full(7, 6)
    assert chances @ all_of(passed, trials, k) == pytest.approx(p**k)
    assert chances @ any_of(passed, trials, k) == pytest.approx(1 - (1 - p) ** k)


def test_a_task_with_fewer_trials_than_k_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 trials"):
        all_of(np.array([1, 2]), np.array([2, 4]), 3)
    with pytest.raises(ValueError, match="positive"):
        any_of(np.array([1]), np.array([2]), 0)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_an_interval_has_a_width_where_all_tasks_are_alike_and_ends_at_their_value(value: float) -> None:
    low, high = interval_of_tasks(np.full(20, value), np.full(20, 4), 2)
    assert 0 <= low <= value <= high <= 1
    assert (low if value == 0 else high) == value
    assert high - low > 0.1


def test_equal_values_between_0_and_1_do_not_make_an_interval_without_width() -> None:
    low, high = interval_of_tasks(np.full(10, 0.5), np.full(10, 4), 2)
    assert high - low > 0.3  # 20 separate sets of two trials at most


def test_one_task_has_no_interval() -> None:
    assert interval_of_tasks(np.array([0.5]), np.array([4]), 1) is None


def test_the_interval_holds_the_truth_of_beta_binomial_tasks() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        passed = rng.binomial(6, rng.beta(0.8, 1.2, 30))
        trials = np.full(30, 6)
        low, high = interval_of_tasks(all_of(passed, trials, 2), trials, 2)
        hits += low <= 0.4 * 1.8 / 3 <= high  # E[p^2] of beta(.8, 1.2)
    assert hits / 400 > 0.93
