"""Correlations inside groups: against scipy, on data with Simpson's paradox, and the error rates of their inference."""

import numpy as np
import pytest
from scipy import stats

from turnwise.stats.within import (
    difference_inside_large_groups,
    inside_large_groups,
    interval_inside_large_groups,
    interval_inside_small_groups,
)

ORACLES = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def simpson(rng, n=40, agents=5):
    """Agents whose quality grows with a feature that says nothing about their single items."""
    groups = np.repeat(np.arange(agents), n)
    level = groups.astype(float) * 2
    return level + rng.normal(size=len(groups)), level + rng.normal(size=len(groups)), groups


def ones(n):
    return np.ones((1, n))


@pytest.mark.parametrize("statistic", ["pearson", "spearman"])
def test_large_groups_are_averaged_by_fishers_z(statistic):
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], [10, 25, 40])
    x = rng.normal(size=75)
    y = x + rng.normal(size=75)
    of, n = inside_large_groups(statistic, x, y, groups, np.arange(75), 75)
    each = [ORACLES[statistic](x[groups == g], y[groups == g]).statistic for g in range(3)]
    assert n == 3
    assert of(ones(75))[0] == pytest.approx(
        np.tanh(np.average(np.arctanh(each), weights=[7, 22, 37])), abs=1e-9
    )


def test_kendall_in_large_groups_is_averaged_by_pairs():
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1], [8, 20])
    x, y = rng.normal(size=28), rng.normal(size=28)
    of, _ = inside_large_groups("kendall", x, y, groups, np.arange(28), 28)
    each = [stats.kendalltau(x[groups == g], y[groups == g]).statistic for g in range(2)]
    assert of(ones(28))[0] == pytest.approx(np.average(each, weights=[28, 190]), abs=1e-9)


def test_groups_that_are_small_or_constant_are_left_out():
    groups = np.repeat([0, 1, 2], [3, 5, 5])
    x = np.array([1.0, 2, 3, *[7.0] * 5, 1, 2, 3, 4, 5])
    y = np.arange(13.0)
    of, n = inside_large_groups("pearson", x, y, groups, np.arange(13), 13)
    assert n == 1
    assert of(ones(13))[0] == pytest.approx(1)


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall", "pairwise"])
def test_simpsons_paradox_disappears_inside_agents(statistic):
    x, y, agents = simpson(np.random.default_rng(2))
    chance = 0.5 if statistic == "pairwise" else 0.0
    pooled = stats.spearmanr(x, y).statistic
    value, bounds, n = interval_inside_large_groups(
        statistic, x, y, agents, np.arange(len(x)), len(x), draws=300, rng=np.random.default_rng(0)
    )
    assert pooled > 0.8
    assert n == 5
    assert abs(value - chance) < 0.15
    assert bounds[0] < chance < bounds[1]


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall", "pairwise"])
def test_small_groups_ignore_differences_between_groups(statistic):
    rng = np.random.default_rng(3)
    contexts = np.repeat(np.arange(60), 3)
    difficulty = rng.normal(size=60)[contexts] * 10
    x, y = difficulty + rng.normal(size=180), difficulty + rng.normal(size=180)
    _, bounds, n = interval_inside_small_groups(
        statistic, x, y, contexts, contexts, 60, draws=300, rng=np.random.default_rng(0)
    )
    chance = 0.5 if statistic == "pairwise" else 0.0
    assert n == 60
    assert bounds[0] < chance < bounds[1]
    agreeing, _, _ = interval_inside_small_groups(
        statistic, x, 2 * x, contexts, contexts, 60, draws=0, rng=np.random.default_rng(0)
    )
    assert agreeing == pytest.approx(1)


def test_small_groups_by_hand():
    """Two replies a context: Spearman and Kendall are the share of contexts ordered alike minus that of the others."""
    x = np.array([1.0, 2, 1, 2, 5, 3] + [0, 1] * 9)
    y = np.array([0.0, 1, 1, 0, 9, 8] + [0, 1] * 9)
    contexts = np.repeat(np.arange(12), 2)
    for statistic, expected in (("spearman", 10 / 12), ("kendall", 10 / 12), ("pairwise", 11 / 12)):
        value, bounds, _ = interval_inside_small_groups(
            statistic, x, y, contexts, contexts, 12, draws=0, rng=np.random.default_rng(0)
        )
        assert value == pytest.approx(expected)
        assert bounds is None
    few = interval_inside_small_groups(
        "kendall", x[:8], y[:8], contexts[:8], contexts[:8], 4, draws=100, rng=np.random.default_rng(0)
    )
    assert np.isnan(few[0])
    assert few[1] is None


def test_intervals_inside_agents_cover_and_the_test_of_two_metrics_keeps_its_level():
    """400 samples of 4 agents with 30 items in 15 clusters each; both metrics have the same true correlation."""
    rng = np.random.default_rng(4)
    agents = np.repeat(np.arange(4), 30)
    clusters = np.arange(120) // 2
    truth = 0.5
    covered = rejected = 0
    for _ in range(400):
        shared = rng.normal(size=60)[clusters]  # clusters have a common part, so items are not independent
        y = shared + rng.normal(size=120) + agents
        noise = np.sqrt(2 * (1 / truth**2 - 1))
        a, b = (y - agents + noise * rng.normal(size=120) + 3 * agents for _ in range(2))
        _, bounds, _ = interval_inside_large_groups("pearson", a, y, agents, clusters, 60, draws=200, rng=rng)
        covered += bounds[0] <= truth <= bounds[1]
        rejected += difference_inside_large_groups("pearson", a, b, y, agents, clusters, 60)[2] <= 0.05
    assert 0.915 <= covered / 400 <= 0.98
    assert rejected / 400 <= 0.08


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall", "pairwise"])
def test_leaving_a_cluster_out_is_giving_it_no_weight(statistic):
    x, y, groups = simpson(np.random.default_rng(8), n=12)
    codes = np.arange(len(x)) // 3  # clusters of one group each
    of, _ = inside_large_groups(statistic, x, np.round(y), groups, codes, 20)
    assert of.without_each() == pytest.approx(of(1.0 - np.eye(20)), abs=1e-12)
