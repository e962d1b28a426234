"""Sums of logs are the same however the logs are dealt out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.small_world import world
from turnwise.encode.episodes import kept
from turnwise.estimators.linear import sums
from turnwise.estimators.linear.raw_features import Basis, RawFeatures, text_moments
from turnwise.estimators.vectors import vectors

LOGS = world(agents=4, dialogues=10)
VECTORS = vectors(LOGS.texts, "hashing")
MOMENTS = text_moments(LOGS, VECTORS)
BASIS = Basis.fit(*MOMENTS)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 3), min_size=40, max_size=40), st.randoms(use_true_random=False))
def test_sums_of_shards_in_any_order_are_the_sums_of_all(shard: list[int], random) -> None:
    whole = RawFeatures(LOGS, VECTORS, BASIS, True)
    parts = [kept(LOGS, np.array(shard) == number) for number in set(shard)]
    random.shuffle(parts)
    points = [RawFeatures(part, VECTORS, BASIS, True) for part in parts]
    logged = sums.merged(*(sums.logged_sums(one) for one in points))
    instead = sums.merged(
        *(sums.target_sums(one, one.rows(one.episodes.alternatives["a1"])) for one in points)
    )
    all_logged, all_instead = (
        sums.logged_sums(whole),
        sums.target_sums(whole, whole.rows(LOGS.alternatives["a1"])),
    )
    assert set(logged) == set(all_logged)
    for agent in all_logged:
        for mine, true in ((logged[agent], all_logged[agent]), (instead[agent], all_instead[agent])):
            for slot in type(true).__dataclass_fields__:
                assert np.asarray(getattr(mine, slot)) == pytest.approx(
                    np.asarray(getattr(true, slot)), abs=1e-9
                )


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_spreads_of_shards_add_up(shard: list[int]) -> None:
    parts = [text_moments(kept(LOGS, np.array(shard) == number), VECTORS) for number in set(shard)]
    for at, true in enumerate(MOMENTS):
        total = parts[0][at]
        for part in parts[1:]:
            total = total + part[at]
        assert total.n == true.n
        assert total.outer == pytest.approx(true.outer, abs=1e-9)
        assert total.total == pytest.approx(true.total, abs=1e-9)
