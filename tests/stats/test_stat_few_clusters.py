"""Fewer than 20 clusters: the interval is wide, and covers."""

import numpy as np
import pytest

from turnwise.stats.interval import FEW_CLUSTERS, interval_of_sums, jackknife_t
from turnwise.stats.resample import jackknife_sums
from turnwise.stats.studentised import independent


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def dialogues(n: int, rng: np.random.Generator) -> np.ndarray:
    """Sums of turns with mean 0 around a level of their dialogue, and their number."""
    turns = rng.integers(1, 6, size=n)
    return np.array([[np.sum(rng.normal() + rng.normal(size=count)), count] for count in turns])


@pytest.mark.parametrize("n_clusters", [2, 5, 10])
def test_few_clusters_cover_as_often_as_many(n_clusters):
    rng = np.random.default_rng(n_clusters)
    hits = 0
    for _ in range(400):
        found, method = interval_of_sums(dialogues(n_clusters, rng), ratio, draws=100, rng=rng)
        hits += found[0] <= 0 <= found[1]
        assert method == "t on the jackknife by cluster"
    # A binomial of 400 at .94 falls below .90 once in 500; the bootstrap's .53, .89 and .92 would mostly fail.
    assert hits / 400 >= 0.90


def test_the_interval_is_students_for_a_plain_mean():
    from scipy import stats

    values = np.random.default_rng(0).normal(size=8)
    left_out = (values.sum() - values) / 7
    expected = stats.t.interval(0.95, 7, values.mean(), stats.sem(values))
    assert jackknife_t(float(values.mean()), left_out) == pytest.approx(expected)


def test_values_without_variation_have_no_interval():
    assert jackknife_t(1.0, np.ones(5)) is None
    assert jackknife_t(1.0, np.array([1.0])) is None


def test_the_interval_of_a_difference_covers_with_few_dialogues():
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        a, b = dialogues(6, rng), dialogues(4, rng)
        gap = float(ratio(a.sum(axis=0)) - ratio(b.sum(axis=0)))
        left_out = jackknife_sums(a, ratio), jackknife_sums(b, ratio)
        found = independent(gap, left_out, (a[:, 1], b[:, 1]), unit=1.0).interval()
        hits += found[0] <= 0 <= found[1]
    assert hits / 400 >= 0.90


def test_with_enough_clusters_it_is_the_bootstrap():
    rng = np.random.default_rng(4)
    _, method = interval_of_sums(dialogues(FEW_CLUSTERS, rng), ratio, draws=100, rng=rng)
    assert method.startswith("BCa")
