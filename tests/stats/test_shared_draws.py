import numpy as np
import pytest

from turnwise.stats.permutation import correlation_test
from turnwise.stats.resample import bootstrap_weights, subsamples
from turnwise.stats.shared_draws import MOST, SharedDraws


class Counted:
    """Makes generators from one seed, and counts them."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> np.random.Generator:
        self.made += 1
        return np.random.default_rng(5)


def test_weights_are_drawn_once_and_are_those_of_a_plain_generator():
    counted = Counted()
    shared = SharedDraws(counted)
    first, second = (np.concatenate(list(bootstrap_weights(7, 50, shared))) for _ in range(2))
    assert counted.made == 1
    assert np.array_equal(first, second)
    assert np.array_equal(first, np.concatenate(list(bootstrap_weights(7, 50, np.random.default_rng(5)))))


def test_weights_that_are_too_many_to_keep_are_drawn_again_and_are_the_same():
    counted = Counted()
    shared = SharedDraws(counted)
    n_clusters = MOST // 4
    sums = [
        [(block @ np.arange(n_clusters)).tolist() for block in bootstrap_weights(n_clusters, 5, shared)]
        for _ in range(2)
    ]
    assert counted.made == 2
    assert sums[0] == sums[1]


def test_the_oldest_draws_make_room():
    counted = Counted()
    shared = SharedDraws(counted)
    half = MOST // 20
    for n_clusters in (half, half - 1, half - 2, half - 2, half - 1):
        list(bootstrap_weights(n_clusters, 10, shared))
    assert counted.made == 3
    list(bootstrap_weights(half, 10, shared))
    assert counted.made == 4


def test_kept_draws_cannot_be_changed():
    (block,) = bootstrap_weights(7, 50, SharedDraws(Counted()))
    with pytest.raises(ValueError, match="read-only"):
        block[0, 0] = 1


def test_subsamples_and_tests_begin_at_the_same_place():
    shared, x = SharedDraws(Counted()), np.arange(12.0)
    y = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
    one, two = (np.array(list(subsamples(9, draws=20, rng=shared))) for _ in range(2))
    assert np.array_equal(one, two)
    tests = [
        correlation_test("pearson", x, y, np.arange(12), 12, draws=99, rng=source)
        for source in (shared, shared, np.random.default_rng(5))
    ]
    assert tests[0] == tests[1] == tests[2]


def test_rank_statistics_share_one_p_value_as_they_share_its_draws():
    x, y = np.random.default_rng(1).normal(size=(2, 40))
    shared = SharedDraws(Counted())
    found = {
        correlation_test(name, x, y, np.arange(40), 40, draws=500, rng=shared)
        for name in ("spearman", "kendall", "tau-c", "pairwise")
    }
    assert len(found) == 1
