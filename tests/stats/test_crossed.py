"""Two-way clustered standard errors."""

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
