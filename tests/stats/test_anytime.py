"""Confidence sequences: their closed form, and the error rate over many looks."""

import numpy as np
import pytest
from scipy import integrate, stats

from turnwise.stats.anytime import SCALE, anytime_p, anytime_quantile, confidence_sequence


@pytest.mark.parametrize(("n", "t"), [(6, 1.3), (12, 4.0), (40, 2.2)])
def test_p_is_one_over_the_mixed_likelihood_ratio_of_t(n: int, t: float):
    def mixed(effect: float) -> float:
        """The density of t at this effect, times that of the effect."""
        return float(stats.nct.pdf(t, n - 1, effect * np.sqrt(n)) * stats.norm.pdf(effect, 0, np.sqrt(SCALE)))

    ratio = integrate.quad(mixed, -8, 8, limit=200)[0] / stats.t.pdf(t, n - 1)
    assert anytime_p(t, n - 1) == pytest.approx(min(1.0, 1 / ratio), rel=1e-5)
    assert anytime_p(-t, n - 1) == anytime_p(t, n - 1)


@pytest.mark.parametrize("degrees", [5, 11.4, 39, 400])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_quantile_is_where_p_is_alpha(degrees: float, alpha: float):
    assert anytime_p(anytime_quantile(degrees, alpha), degrees) == pytest.approx(alpha)


def test_too_few_clusters_have_no_bounds_whatever_their_values():
    assert anytime_quantile(2, 0.05) == np.inf
    assert anytime_p(1e9, 2) > 0.05
    sequence = confidence_sequence(np.array([1.0, 1.1, 0.9]))
    assert np.isinf(sequence.low).all()
    assert np.isinf(sequence.high).all()


def test_the_sequence_is_that_of_each_look_by_itself():
    values = np.random.default_rng(0).normal(3, 2, 30) + 1e6
    sequence = confidence_sequence(values)
    for n in (8, 30):
        some = values[:n]
        half = anytime_quantile(n - 1, 0.05) * stats.sem(some)
        assert sequence.means[n - 1] == pytest.approx(some.mean())
        assert sequence.high[n - 1] - sequence.low[n - 1] == pytest.approx(2 * half)


def test_ten_looks_at_every_cluster_are_wrong_at_most_once_in_twenty():
    """Looking at a t test after each of 100 clusters is wrong in more than a third of the data sets."""
    rng, wrong, fixed = np.random.default_rng(1), 0, 0
    for _ in range(600):
        values = rng.normal(0, 1, 100)
        sequence = confidence_sequence(values)
        wrong += bool(np.any((sequence.low > 0) | (sequence.high < 0)))
        n = np.arange(2, 101)
        means = np.cumsum(values)[1:] / n
        errors = np.sqrt((np.cumsum(values**2)[1:] - n * means**2) / (n - 1) / n)
        fixed += bool(np.any(np.abs(means / errors) > stats.t.ppf(0.975, n - 1)))
    assert wrong / 600 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 600)
    assert fixed / 600 > 0.3
