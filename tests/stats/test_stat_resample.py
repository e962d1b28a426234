import numpy as np
import pytest

from tests.stats.simple_sums import mean
from turnwise.stats.clusters import MAX_CLUSTERS
from turnwise.stats.resample import (
    bootstrap_sums,
    bootstrap_weights,
    jackknife,
    jackknife_sums,
    resampled_correlation,
    subsample,
)


def test_each_bootstrap_draw_has_as_many_clusters_as_there_are_and_depends_on_the_seed() -> None:
    drawn = [
        np.concatenate(list(bootstrap_weights(7, 50, np.random.default_rng(seed)))) for seed in (0, 0, 1)
    ]
    assert drawn[0].shape == (50, 7)
    assert (drawn[0].sum(axis=1) == 7).all()
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_blocks_of_bootstrap_weights_stay_small_for_any_number_of_clusters_and_draws() -> None:
    for n_clusters, draws in ((10, 300_000), (2**19, 5)):
        blocks = [block.nbytes for block in bootstrap_weights(n_clusters, draws, np.random.default_rng(0))]
        assert max(blocks) <= 2**23
        assert sum(blocks) == 8 * n_clusters * draws


def test_bootstrap_weights_have_multinomial_mean_and_variance() -> None:
    drawn = np.concatenate(list(bootstrap_weights(10, 20_000, np.random.default_rng(0))))
    # Counts have mean 1 and variance .9; 200,000 of them miss by .01 in the mean less than once in a million.
    assert drawn.mean(axis=0) == pytest.approx(np.ones(10), abs=0.04)
    assert drawn.var() == pytest.approx(0.9, abs=0.02)


def test_bootstrap_of_sums_equals_bootstrap_of_rows_on_the_same_draws() -> None:
    rng = np.random.default_rng(4)
    codes, values = np.repeat(np.arange(6), [1, 3, 2, 2, 4, 1]), rng.normal(size=13)
    sums = np.stack([np.bincount(codes, values), np.bincount(codes)], axis=1)
    by_sums = bootstrap_sums(sums, mean, draws=40, rng=np.random.default_rng(9))
    weights = np.concatenate(list(bootstrap_weights(6, 40, np.random.default_rng(9))))
    by_rows = [values[np.repeat(np.arange(13), row[codes].astype(int))].mean() for row in weights]
    assert by_sums == pytest.approx(by_rows, abs=1e-12)


def test_bootstrap_of_sums_keeps_the_axes_between_clusters_and_sums() -> None:
    sums = np.random.default_rng(0).random((8, 3, 2))  # 8 clusters, 3 systems
    drawn = bootstrap_sums(sums, mean, draws=11, rng=np.random.default_rng(1))
    alone = bootstrap_sums(sums[:, 1], mean, draws=11, rng=np.random.default_rng(1))
    assert drawn.shape == (11, 3)
    assert drawn[:, 1] == pytest.approx(alone)


def test_jackknife_leaves_each_cluster_out_by_sums_and_by_rows() -> None:
    codes, values = np.array([0, 0, 1, 2, 2, 2]), np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    sums = np.stack([np.bincount(codes, values), np.bincount(codes)], axis=1)
    expected = [60 / 4, 59 / 5, 7 / 3]
    assert jackknife_sums(sums, mean) == pytest.approx(expected)
    assert jackknife(lambda rows: float(values[rows].mean()), codes, 3) == pytest.approx(expected)


def test_correlation_of_many_clusters_is_drawn_in_groups() -> None:
    rng = np.random.default_rng(0)
    n = 2 * MAX_CLUSTERS
    x = rng.normal(size=n)
    y = 0.5 * x + rng.normal(size=n)
    _, drawn, left_out = resampled_correlation("pearson", x, y, np.arange(n), n, draws=2000, rng=rng)
    # Large-sample standard error of r for normal data; groups of two must not change it by more than 10 %.
    error = (1 - np.corrcoef(x, y)[0, 1] ** 2) / np.sqrt(n)
    assert drawn.std() == pytest.approx(error, rel=0.1)
    assert len(left_out) == MAX_CLUSTERS


@pytest.mark.parametrize("share", [0.25, 0.5, 0.8])
def test_subsamples_of_a_mean_vary_as_the_mean_does_for_any_share(share) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=60)
    drawn = subsample(
        lambda rows: float(values[rows].mean()), np.arange(60), 60, draws=4000, rng=rng, share=share
    )
    # Drawing without replacement: the variance is exactly s^2/C, s^2 with n-1. 4,000 draws estimate it to 3 %.
    assert drawn.std() == pytest.approx(values.std(ddof=1) / np.sqrt(60), rel=0.05)
    assert drawn.mean() == pytest.approx(values.mean(), abs=1e-12)


def test_subsamples_take_whole_clusters_and_no_row_twice() -> None:
    codes, seen = np.repeat(np.arange(4), 3), []

    def statistic(rows) -> float:
        seen.append(rows)
        return float(len(rows))

    subsample(statistic, codes, 4, draws=20, rng=np.random.default_rng(0), share=0.5)
    for rows in seen[:-1]:
        assert len(set(rows)) == len(rows) == 6
        assert set(np.bincount(codes[rows], minlength=4)) == {0, 3}


def test_one_cluster_gives_no_subsamples() -> None:
    drawn = subsample(lambda rows: 1.0, np.zeros(5, dtype=int), 1, draws=7, rng=np.random.default_rng(0))
    assert np.isnan(drawn).all()
