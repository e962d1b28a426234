"""Two-way clustered standard errors."""

from collections.abc import Callable

import numpy as np
import pytest

from turnwise.stats.crossed import standard_errors


def test_one_way_errors_of_a_mean_are_the_textbook_ones() -> None:
    values = np.random.default_rng(0).normal(size=50)
    influence = (values - values.mean())[:, None] / 50
    found = standard_errors(influence, np.arange(50))
    assert found.values[0] == pytest.approx(values.std(ddof=1) / np.sqrt(50))
    assert found.degrees[0] == 49


def test_if_every_observation_has_its_own_rater_two_way_errors_are_those_by_cluster() -> None:
    rng = np.random.default_rng(1)
    influence = rng.normal(size=(60, 2))
    clusters = np.repeat(np.arange(20), 3)
    one = standard_errors(influence, clusters)
    two = standard_errors(influence, clusters, np.arange(60))
    np.testing.assert_allclose(one.values, two.values)


def test_a_side_with_one_member_gives_no_interval_and_no_p() -> None:
    found = standard_errors(np.ones((4, 1)), np.arange(4), np.zeros(4, dtype=np.int64))
    assert found.interval(1.0) is None
    assert np.isnan(found.p_value(1.0))


def test_raters_who_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(2)
    raters = np.tile(np.arange(10), 30)
    clusters = np.repeat(np.arange(30), 10)
    values = rng.normal(size=10)[raters] + rng.normal(size=300)
    influence = (values - values.mean())[:, None] / 300
    assert (
        standard_errors(influence, clusters, raters).values[0]
        > 3 * standard_errors(influence, clusters).values[0]
    )


def test_observations_of_two_clusters_are_dependent_where_they_share_one() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(8, size=(40, 2))
    influence = rng.normal(size=(40, 2))
    expected = np.zeros(2)
    for i, mine in enumerate(codes):
        for j, theirs in enumerate(codes):
            if set(mine.tolist()) & set(theirs.tolist()):
                expected += influence[i] * influence[j]
    np.testing.assert_allclose(standard_errors(influence, codes).values ** 2, expected * 8 / 7)


def test_the_cells_of_two_clusters_and_a_rater_are_counted_once() -> None:
    rng = np.random.default_rng(4)
    both, raters = rng.integers(7, size=(60, 2)), rng.integers(5, size=60)
    effects = rng.normal(size=7)[both].sum(axis=1) + rng.normal(size=5)[raters]
    influence = (effects + rng.normal(size=60))[:, None]

    def summed(related: Callable[[int, int], bool]) -> float:
        pairs = [(i, j) for i in range(60) for j in range(60) if related(i, j)]
        return float(sum(influence[i, 0] * influence[j, 0] for i, j in pairs))

    def share(i: int, j: int) -> bool:
        return bool(set(both[i].tolist()) & set(both[j].tolist()))

    def shared_cells(i: int, j: int) -> bool:
        return share(i, j) and bool(raters[i] == raters[j])

    cells = min(len({(side, rater) for side, rater in zip(both[:, k], raters, strict=True)}) for k in (0, 1))
    expected = summed(share) * 7 / 6 + summed(lambda i, j: bool(raters[i] == raters[j])) * 5 / 4
    expected -= summed(shared_cells) * cells / (cells - 1)
    assert standard_errors(influence, both, raters).values[0] ** 2 == pytest.approx(expected)


def test_two_equal_clusters_are_one() -> None:
    rng = np.random.default_rng(5)
    codes, influence = rng.integers(9, size=30), rng.normal(size=(30, 2))
    np.testing.assert_allclose(
        standard_errors(influence, np.stack([codes, codes], axis=1)).values,
        standard_errors(influence, codes).values,
    )
