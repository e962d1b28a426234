"""Sellers drawn at random from the distribution of each family."""

import numpy as np
import pytest

from turnwise.worlds import booking
from turnwise.worlds.booking.drawn import DRAWN


def means(name: str, draw: int, agents: int = 12, dialogues: int = 40) -> list[float]:
    """The mean reward of each seller, all in the same scenes."""
    found = []
    for seller in booking.family(name, agents=agents, draw=draw).values():
        scores = [booking.WORLD.truth(seller, np.random.default_rng([9, n]))[0] for n in range(dialogues)]
        found.append(float(np.mean(scores)))
    return found


@pytest.mark.parametrize("name", booking.FAMILIES)
def test_every_family_can_be_drawn_and_its_sellers_differ_in_quality(name):
    assert np.ptp(means(name, draw=5)) > 0.25


@pytest.mark.parametrize("name", DRAWN)
def test_the_first_sellers_do_not_depend_on_how_many_are_drawn(name):
    few, many = booking.family(name, agents=3, draw=1), booking.family(name, agents=6, draw=1)
    assert few == {label: many[label] for label in few}


def test_other_seeds_and_other_families_draw_other_sellers():
    draws = [booking.family(name, agents=8, draw=seed) for name in DRAWN for seed in (1, 2)]
    habits = [repr(seller.habits) for drawn in draws for seller in drawn.values()]
    assert len(set(habits)) == len(habits)
    assert len({label for drawn in draws for label in drawn}) == len(habits)
