"""Votes between two agents: the same answer in both orders, and an interval that agrees with its test."""

import numpy as np
import pytest

from tests.compared_pairs import chosen
from turnwise.meta.preferences import About, strengths, win_rate
from turnwise.meta.verdicts import interval_at, with_verdicts

ABOUT = About(metric="preference:overall", group=None, unscored={})


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("anytime", [False, True])
def test_votes_the_other_way_round_are_the_mirror_to_the_last_bit(seed: int, anytime: bool):
    rng = np.random.default_rng(seed)
    pairs = [
        chosen(int(rng.choice([-1, 0, 1], p=[0.2, 0.2, 0.6])), at=at // 2, rater=f"r{rng.integers(3)}")
        for at in range(int(rng.integers(12, 40)))
    ]
    forth = win_rate(pairs, ("a", "b"), ABOUT, anytime=anytime)
    back = win_rate([pairs[at] for at in rng.permutation(len(pairs))], ("b", "a"), ABOUT, anytime=anytime)
    assert (forth.estimate, forth.p, forth.leads) == (-(back.estimate or 0), back.p, back.leads)
    if forth.interval is None:  # too few raters for one that holds at every look
        assert back.interval is None
        assert anytime
        assert (forth.p or 0) > 0.05
        return
    assert forth.interval == tuple(-end for end in (back.interval or ())[::-1])
    low, high = forth.interval
    assert (low < 0 < high) == ((forth.p or 0) > 0.05)
    assert forth.anytime is anytime
    # Every number, also those that are adjusted together with others.
    other = win_rate(pairs[:9], ("a", "b"), ABOUT, anytime=anytime)
    both = with_verdicts([forth, other], {"": 0.1})
    turned = with_verdicts([back, other.mirrored()], {"": 0.1})
    assert both == tuple(record.mirrored() for record in turned)
    assert both == tuple(record.mirrored().mirrored() for record in both)


@pytest.mark.parametrize("seed", range(20))
def test_strengths_do_not_depend_on_the_order_of_the_agents(seed: int):
    rng = np.random.default_rng(seed)
    pairs = [chosen(int(rng.choice([-1, 0, 1])), at=at // 2, rater=f"r{rng.integers(3)}") for at in range(30)]
    assert strengths(pairs, ("a", "b"), ABOUT) == strengths(pairs, ("b", "a"), ABOUT)


@pytest.mark.parametrize("n", [3, 5, 6, 9])
def test_an_agent_that_won_all_has_an_interval_that_agrees_with_the_sign_test(n: int):
    pairs = [chosen(1, at=at, rater=None) for at in range(n)]
    (record,) = with_verdicts([win_rate(pairs, ("a", "b"), ABOUT)])
    assert record.p == min(1.0, 2 * 0.5**n)
    assert ((record.interval or (0, 0))[0] > 0) == (n >= 6)
    assert record.verdict == ("a is better" if n >= 6 else "not shown")
    narrow, wide = interval_at(record, 0.95), interval_at(record, 0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0]
