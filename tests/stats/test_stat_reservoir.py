"""A seeded sample of clusters: all rows while they fit, then a choice that does not depend on their order."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.stats.reservoir import Reservoir


def filled(pairs: list[tuple[str, str]], *, max_rows: int, seed: int = 0) -> Reservoir:
    """A sample of rows, each of which holds its index in `pairs`."""
    sample = Reservoir(max_rows, seed)
    for place, (cluster, name) in enumerate(pairs):
        sample.add(cluster, name, np.array([float(place)]))
    return sample


def kept(sample: Reservoir, pairs: list[tuple[str, str]]) -> set[tuple[str, str]]:
    return {pairs[int(row[0])] for row in sample.table()[0]}


def test_rows_that_fit_are_all_kept_whatever_their_order() -> None:
    pairs = [(f"c{n % 3}", f"n{n}") for n in range(10)]
    sample = filled(pairs, max_rows=10)
    rows, codes, n_clusters = sample.table()
    assert sample.complete
    assert sorted(rows[:, 0]) == list(range(10))
    assert (
        len({(code, row % 3) for code, row in zip(codes.tolist(), rows[:, 0], strict=True)})
        == n_clusters
        == 3
    )
    backwards = Reservoir(10, 0)
    for place in reversed(range(10)):
        backwards.add(*pairs[place], np.array([float(place)]))
    assert backwards.table()[0].tolist() == rows.tolist()


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=120),
    st.integers(1, 100),
    st.randoms(use_true_random=False),
)
def test_the_sample_does_not_depend_on_the_order_of_rows(
    clusters: list[int], max_rows: int, random: object
) -> None:
    pairs = [(f"c{cluster}", f"n{place}") for place, cluster in enumerate(clusters)]
    one = kept(filled(pairs, max_rows=max_rows), pairs)
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert kept(filled(shuffled, max_rows=max_rows), shuffled) == one
    assert 1 <= len(one) <= max_rows


def test_small_clusters_are_kept_completely_or_not_at_all() -> None:
    pairs = [(f"c{n // 2}", f"n{n}") for n in range(2000)]
    sample = filled(pairs, max_rows=256)
    sizes = Counter(cluster for cluster, _ in kept(sample, pairs))
    assert not sample.complete
    assert set(sizes.values()) == {2}
    assert len(sizes) == 128


def test_a_huge_cluster_leaves_room_for_the_others() -> None:
    pairs = [("giant" if n % 2 else f"c{n % 40}", f"n{n}") for n in range(20_000)]
    sizes = Counter(cluster for cluster, _ in kept(filled(pairs, max_rows=1024), pairs))
    assert len(sizes) == 21
    assert set(sizes.values()) == {1024 // 64}


def test_every_cluster_has_the_same_chance() -> None:
    pairs = [(f"c{n}", f"n{n}") for n in range(400)]
    chosen = Counter(
        name for seed in range(300) for name, _ in kept(filled(pairs, max_rows=100, seed=seed), pairs)
    )
    assert sum(chosen.values()) == 300 * 100
    assert np.std([chosen[f"c{n}"] for n in range(400)]) == pytest.approx(np.sqrt(300 * 0.25 * 0.75), rel=0.2)
