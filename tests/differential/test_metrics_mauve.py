"""MAUVE against the package of its authors: the same curve for the same shares, the same score but for the clusters.

Known disagreement: for equal shares all points of the curve are (1, 1). The package sorts them, with the two ends,
along each axis and may take an end between them; its area is then below 1. We are right: equal shares have MAUVE 1.
"""

import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from turnwise.metrics.distribution.mauve import FittedMauve, Mauve, area

mauve = pytest.importorskip("mauve")
peer = sys.modules["mauve.compute_mauve"]
SCALE, MIXTURES = 5.0, 25  # the package's defaults
SEEDS = 12

counts = st.lists(st.integers(0, 9), min_size=2, max_size=12).filter(any)


def peers_area(p: np.ndarray, q: np.ndarray) -> float:
    """The area as the package computes it: the mean of the areas along both axes."""
    weights = np.linspace(1e-6, 1 - 1e-6, MIXTURES)
    x, y = peer.get_divergence_curve_for_multinomials(p, q, weights, SCALE).T
    along = [
        peer.compute_area_under_curve(one[order], other[order])
        for one, other in ((x, y), (y, x))
        for order in [np.argsort(one)]
    ]
    return float(np.mean(along))


@given(counts, st.data())
def test_the_area_is_that_of_the_package(one: list[int], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.integers(0, 9), min_size=len(one), max_size=len(one)).filter(any))
    p, q = (np.array(side) / sum(side) for side in (one, other))
    assume(not np.allclose(p, q))
    assert area(p, q, scale=SCALE, mixtures=MIXTURES) == pytest.approx(peers_area(p, q), abs=1e-9)


def test_equal_shares_have_area_1_here_and_less_in_the_package() -> None:
    shares = np.array([0.0, 1.0])
    assert area(shares, shares, scale=SCALE, mixtures=MIXTURES) == 1
    assert peers_area(shares, shares) < 1


def clouds(n: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Two samples of `n` vectors, `shift` standard deviations apart, with more spread in some directions."""
    rng = np.random.default_rng(n)
    spread = np.geomspace(1, 0.05, 48)
    generated, real = rng.normal(size=(2, n, 48)) * spread
    return generated + shift * spread, real


@pytest.mark.parametrize(("n", "shift"), [(150, 0.0), (150, 0.3), (300, 0.2), (300, 0.6)])
def test_the_score_is_that_of_the_package_in_the_mean_and_depends_less_on_the_seed(
    n: int, shift: float
) -> None:
    """Clusters differ from seed to seed, in both; ours is the mean of five clusterings."""
    generated, real = clouds(n, shift)
    ours = [FittedMauve({}, Mauve(seed=seed))._distance(generated, real) for seed in range(SEEDS)]
    theirs = [
        mauve.compute_mauve(p_features=real, q_features=generated, seed=seed).mauve for seed in range(SEEDS)
    ]
    error = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(SEEDS)
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=4 * error + 0.02)
    assert np.std(ours) < np.std(theirs)
