"""Adjusted p-values of comparisons that are tied to each other by logic."""

from itertools import combinations, product

import numpy as np
import pytest

from turnwise.stats.multiplicity import step_down, together, true_counts


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_numbers_of_true_hypotheses_are_those_of_all_ways_to_be_equal(k: int):
    every = {
        sum(a == b for a, b in combinations(levels, 2)) for levels in product(range(max(k, 1)), repeat=k)
    }
    assert true_counts(k) == every


def test_of_ten_agents_36_comparisons_can_be_true_once_one_is_false():
    counts = sorted(true_counts(10))
    assert (counts[-1], counts[-2]) == (45, 36)


def test_without_logic_it_is_the_method_of_holm():
    p = np.array([0.01, 0.04, 0.03, np.nan, 0.2])
    # 4 x .01; 3 x .03; the larger of 2 x .04 and the one before; 1 x .2
    assert step_down(p) == pytest.approx([0.04, 0.09, 0.09, np.nan, 0.2], nan_ok=True)


def test_three_agents_of_which_two_differ_need_no_more_than_the_first_step():
    p = np.array([0.001, 0.03, 0.04])
    assert step_down(p, true_counts(3)) == pytest.approx([0.003, 0.03, 0.04])
    assert step_down(p) == pytest.approx([0.003, 0.06, 0.06])


def test_two_metrics_of_three_agents_can_have_two_true_hypotheses_after_four_are_false():
    assert sorted(together([true_counts(3), true_counts(3)])) == [0, 1, 2, 3, 4, 6]


def test_a_true_hypothesis_among_false_ones_is_rejected_at_most_once_in_twenty():
    """Agents 1 to 5 are equal and 6 differs from all: ten true hypotheses."""
    rng, wrong = np.random.default_rng(0), 0
    from scipy.stats import norm

    pairs = list(combinations(range(6), 2))
    for _ in range(3000):
        means = rng.normal(0, 1, 6) + np.array([0, 0, 0, 0, 0, 30.0])
        p = np.array([2 * norm.sf(abs(means[a] - means[b]) / np.sqrt(2)) for a, b in pairs])
        adjusted = step_down(p, true_counts(6))
        wrong += any(value <= 0.05 for (a, b), value in zip(pairs, adjusted, strict=True) if b < 5)
    assert wrong / 3000 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 3000)
