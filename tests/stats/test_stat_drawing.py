"""Drawing items to rate: probabilities add up, draws keep them, and errors are learned from labels."""

import numpy as np
import pytest

from turnwise.stats.drawing import expected_errors, inclusion_probabilities, systematic_draw


def test_probabilities_add_up_to_the_number_of_draws_and_are_at_most_1() -> None:
    sizes = np.array([0.0, 1.0, 1.0, 2.0, 50.0, 60.0])
    for count in range(1, 7):
        found = inclusion_probabilities(sizes, count)
        assert found.sum() == pytest.approx(count)
        assert ((found > 0) & (found <= 1)).all()
    assert inclusion_probabilities(sizes, 6) == pytest.approx(np.ones(6))
    assert inclusion_probabilities(np.zeros(4), 2) == pytest.approx(np.full(4, 0.5))


def test_a_part_of_a_draw_is_uniform() -> None:
    found = inclusion_probabilities(np.array([1.0, 1.0, 2.0, 0.0]), 1, uniform=0.5)
    assert found == pytest.approx([0.25, 0.25, 0.375, 0.125])
    assert inclusion_probabilities(np.array([1.0, 1.0, 2.0, 0.0]), 1).min() == pytest.approx(0.05)


@pytest.mark.parametrize("count", [0, 5])
def test_more_draws_than_items_are_an_error(count: int) -> None:
    with pytest.raises(ValueError, match="cannot be drawn"):
        inclusion_probabilities(np.ones(4), count)


def test_each_item_is_drawn_as_often_as_its_probability_says() -> None:
    rng = np.random.default_rng(0)
    probabilities = inclusion_probabilities(np.arange(1.0, 21.0), 7)
    counts = np.zeros(20)
    for _ in range(4000):
        drawn = systematic_draw(probabilities, rng)
        assert len(drawn) == len(set(drawn.tolist())) == 7
        counts[drawn] += 1
    assert counts / 4000 == pytest.approx(probabilities, abs=0.035)


def test_items_with_certain_probability_are_always_drawn() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        assert {0, 1} <= set(systematic_draw(np.array([1.0, 1.0, 0.5, 0.5]), rng).tolist())
    assert systematic_draw(np.ones(5), rng).tolist() == [0, 1, 2, 3, 4]


def test_errors_are_expected_where_labels_showed_them() -> None:
    rng = np.random.default_rng(2)
    scores = rng.random(2000)
    agents = rng.integers(0, 2, 2000)
    errors = np.where(rng.random(2000) < 0.3, rng.normal(size=2000) * (0.2 + scores) * (1 + agents), np.nan)
    found = expected_errors(scores, errors, agents)
    assert found[(scores > 0.75) & (agents == 0)].mean() > 2 * found[(scores < 0.25) & (agents == 0)].mean()
    assert found[agents == 1].mean() == pytest.approx(2 * found[agents == 0].mean(), rel=0.25)


def test_without_labels_all_errors_are_equal() -> None:
    assert expected_errors(np.arange(5.0), np.full(5, np.nan), np.zeros(5, dtype=int)).tolist() == [1.0] * 5
    assert expected_errors(np.arange(5.0), np.zeros(5), np.zeros(5, dtype=int)).tolist() == [1.0] * 5
