"""Soft pairwise accuracy against the published procedure, which swaps scores at random."""

from itertools import combinations

import numpy as np
import pytest

from turnwise.stats.pairs.soft_pairs import better_p, influence, soft_accuracy, soft_accuracy_test

SWAPS = 20_000


def by_swaps(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(S, S) p-values of each system being better, by random swaps of the (n, S) scores of two systems."""
    n, systems = scores.shape
    p = np.full((systems, systems), 0.5)
    signs = rng.choice([-1.0, 1.0], size=(SWAPS, n))
    for one, other in combinations(range(systems), 2):
        gaps = scores[:, one] - scores[:, other]
        p[one, other] = np.mean(signs @ gaps >= gaps.sum())
        p[other, one] = 1 - p[one, other]
    return p


def means_without_each(scores: np.ndarray) -> np.ndarray:
    return (scores.sum(axis=0) - scores) / (len(scores) - 1)


def certainty(scores: np.ndarray) -> np.ndarray:
    means = scores.mean(axis=0)
    return better_p(means, influence(means, means_without_each(scores)))


def made(seed: int, n: int = 80, systems: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """(n, S) ratings and scores of systems that differ by about a standard error."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(0, 0.6, systems)
    hard = rng.normal(size=(n, 1))  # contexts differ: that is what pairing removes
    ratings = quality + hard + rng.normal(size=(n, systems))
    return ratings, quality[rng.permutation(systems)] + hard + rng.exponential(size=(n, systems))


@pytest.mark.parametrize("seed", range(4))
def test_p_values_and_the_statistic_are_those_of_random_swaps(seed: int) -> None:
    ratings, scores = made(seed)
    rng = np.random.default_rng(seed)
    swapped = [by_swaps(side, rng) for side in (ratings, scores)]
    ours = [certainty(side) for side in (ratings, scores)]
    for one, other in zip(ours, swapped, strict=True):
        np.testing.assert_allclose(one, other, atol=0.02)  # the error of 20,000 swaps is .004
    assert soft_accuracy(*ours) == pytest.approx(soft_accuracy(*swapped), abs=0.01)


def test_p_values_of_systems_with_different_dialogues_are_those_of_random_labels() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.exponential(size=60), rng.exponential(size=90) + 0.15
    clusters = np.full((150, 2), np.nan)
    clusters[:60, 0], clusters[60:, 1] = one, other
    means = np.array([one.mean(), other.mean()])
    left_out = np.tile(means, (150, 1))
    left_out[:60, 0], left_out[60:, 1] = means_without_each(one), means_without_each(other)
    p = better_p(means, influence(means, left_out))
    everything = np.concatenate([one, other])
    labels = np.array([rng.permutation(150) for _ in range(SWAPS)]) < 60
    drawn = np.array([everything[row].mean() - everything[~row].mean() for row in labels])
    assert p[1, 0] == pytest.approx(np.mean(-drawn >= means[1] - means[0]), abs=0.015)
    assert p[0, 1] == pytest.approx(1 - p[1, 0])


def test_the_same_scores_agree_fully_and_reversed_ones_do_not() -> None:
    ratings, _ = made(0)
    sure = certainty(ratings)
    assert soft_accuracy(sure, certainty(3 * ratings + 1)) == pytest.approx(1)
    assert soft_accuracy(sure, certainty(-ratings)) < 0.5


def test_a_pair_that_people_cannot_tell_apart_costs_a_certain_metric_half_of_it() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=100)
    equal = np.stack([noise, noise[::-1], noise + 5], axis=1)  # the first two have one mean
    certain = equal + np.array([1, 0, 0])
    people = certainty(equal)
    assert soft_accuracy(people, certainty(2 * equal)) == pytest.approx(1)
    assert soft_accuracy(people, certainty(certain)) == pytest.approx(1 - 0.5 / 3, abs=1e-3)


def test_equal_systems_are_at_one_half_and_a_constant_metric_is_everywhere() -> None:
    np.testing.assert_array_equal(certainty(np.ones((10, 3))), np.full((3, 3), 0.5))


def test_a_metric_of_the_wrong_systems_is_not_significant_and_the_right_one_is() -> None:
    rng = np.random.default_rng(2)
    ratings = rng.normal(size=(60, 7)) + np.arange(7)
    sure = certainty(ratings)
    assert soft_accuracy_test(sure, certainty(ratings), draws=500, rng=rng) < 0.001
    other = certainty(ratings[:, [3, 6, 1, 0, 5, 2, 4]])
    assert soft_accuracy_test(sure, other, draws=500, rng=rng) > 0.05


def test_without_a_pair_or_with_an_unknown_variance_there_is_no_value() -> None:
    assert np.isnan(soft_accuracy(np.full((1, 1), 0.5), np.full((1, 1), 0.5)))
    unknown = np.full((3, 3), np.nan)
    assert np.isnan(soft_accuracy_test(unknown, unknown, draws=10, rng=np.random.default_rng(0)))
