"""The threshold of ties of pairwise accuracy, found in three ways: from all pairs, distinct points, and a sample."""

import numpy as np
import pytest

from turnwise.stats.pairs import item_pairs, pairwise
from turnwise.stats.pairs.pairwise import calibrated_accuracy, pairwise_accuracy, tie_calibration
from turnwise.types import Floats


def by_trying_all(x: Floats, y: Floats) -> tuple[float, float]:
    """The smallest of the best thresholds and its accuracy: every difference of two scores is tried."""
    epsilons = np.unique(np.append(0.0, np.abs(np.subtract.outer(x, x))))
    found = [pairwise_accuracy(x, y, epsilon=epsilon) for epsilon in epsilons]
    best = int(np.argmax(found))
    return float(epsilons[best]), found[best]


def columns(scores: int, ratings: int, n: int = 60, seed: int = 0) -> tuple[Floats, Floats]:
    """Correlated columns with at most so many different values each."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    return tuple(
        np.floor(np.argsort(np.argsort(side)) * steps / n)
        for side, steps in ((x, scores), (y, ratings))  # type: ignore[return-value]
    )


@pytest.mark.parametrize("scores", [2, 5, 60])
@pytest.mark.parametrize("ratings", [2, 5, 60])
@pytest.mark.parametrize("seed", range(3))
def test_the_threshold_is_the_smallest_of_the_best(scores: int, ratings: int, seed: int) -> None:
    x, y = columns(scores, ratings, seed=seed)
    x = np.sqrt(x)  # differences of all sizes
    assert (tie_calibration(x, y), calibrated_accuracy(x, y)) == pytest.approx(by_trying_all(x, y), abs=1e-15)


def test_many_equal_points_give_the_exact_threshold_where_pairs_would_be_sampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = columns(5, 7, n=300)
    exact = tie_calibration(x, y), calibrated_accuracy(x, y)
    monkeypatch.setattr(pairwise, "MAX_PAIRS", 2000)
    assert (tie_calibration(x, y), calibrated_accuracy(x, y)) == exact


def test_a_sample_of_the_pairs_has_an_accuracy_near_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = columns(600, 9, n=600)
    exact = calibrated_accuracy(x, y)
    monkeypatch.setattr(pairwise, "MAX_PAIRS", 30_000)
    monkeypatch.setattr(item_pairs.item_pairs, "__kwdefaults__", {"chunk": 2**12, "max_pairs": 30_000})
    x = x + 1.0  # changes no pair, and is not remembered
    assert calibrated_accuracy(x, y) == pytest.approx(exact, abs=5 / np.sqrt(30_000))
    assert calibrated_accuracy(x, y) != exact


@pytest.mark.parametrize("scale", [2.0**-1070, 2.0**-500, 2.0**1000])
def test_the_scale_of_scores_changes_no_accuracy(scale: float) -> None:
    x, y = columns(60, 5)
    assert calibrated_accuracy(x * scale, y) == calibrated_accuracy(x, y)
