"""MAUVE: known ends of its range, its settings, and what the real side is."""

from itertools import pairwise

import numpy as np
import pytest

from tests.metrics.distribution.test_metric_prd import FAR, cloud, items
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.distribution import mauve
from turnwise.metrics.distribution.curve import principal_share
from turnwise.metrics.distribution.mauve import FittedMauve, Mauve, area


def score(generated: np.ndarray, real: np.ndarray, **settings: object) -> float:
    return FittedMauve({}, Mauve(**settings))._distance(generated, real)  # type: ignore[arg-type]


def test_equal_sets_score_1_whatever_their_order() -> None:
    rows = cloud(200, 0, 0)
    assert score(rows[::-1], rows) == pytest.approx(1)


def test_sets_without_a_common_cluster_score_near_0() -> None:
    one, other = np.eye(8)[0] * FAR, np.eye(8)[1] * FAR
    assert score(cloud(100, 0, 0) + one, cloud(100, 0, 1) + other) < 0.01


def test_an_agent_that_says_half_of_what_people_say_scores_between() -> None:
    one, other = np.eye(8)[0] * FAR, np.eye(8)[1] * FAR
    real = np.vstack([cloud(100, 0, 0) + one, cloud(100, 0, 1) + other])
    assert 0.05 < score(cloud(200, 0, 2) + one, real, clusters=2) < 0.95


def test_a_worked_example_by_hand() -> None:
    # Two clusters; the agent never uses the second. With R = w P + (1 - w) Q = (1 - w/2, w/2):
    # KL(Q | R) = -log(1 - w/2) and KL(P | R) = log(1/2) - (log(1 - w/2) + log(w/2)) / 2.
    # At w = 1/2 they are log(4/3) and log(2/sqrt(3)).
    x, y = (3 / 4) ** 5, (np.sqrt(3) / 2) ** 5
    edge = 1e-6
    left = ((1 - (1 - edge) / 2) ** 5, 1.0)  # w near 1: R is P
    right = (1.0, (4 * (1 - edge / 2) * edge / 2) ** 2.5)  # w near 0: R is Q
    points = [(0.0, 1.0), left, (x, y), right, (1.0, 0.0)]
    expected = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
    assert area(np.array([0.5, 0.5]), np.array([1.0, 0.0]), scale=5, mixtures=3) == pytest.approx(
        expected, abs=1e-6
    )


def test_components_with_a_share_of_the_variance_are_as_few_as_can_be() -> None:
    rng = np.random.default_rng(0)
    for shape in ((300, 20), (15, 60)):  # more rows than dimensions, and fewer
        points = rng.normal(size=shape) * np.geomspace(3, 0.1, shape[1])
        variances = np.sort(np.linalg.svd(points - points.mean(0), compute_uv=False) ** 2)[::-1]
        seen = principal_share(points, 0.9, weights=np.ones(len(points)))
        count = seen.shape[1]
        assert variances[: count - 1].sum() < 0.9 * variances.sum() <= variances[:count].sum()
        assert np.sum((seen - seen.mean(0)) ** 2) == pytest.approx(variances[:count].sum())


def test_one_cluster_for_every_ten_replies_of_the_smaller_side(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = mauve.histograms_of_runs

    def seen(*arguments: object, **settings: object) -> object:
        asked.append(arguments[2])
        return real(*arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(mauve, "histograms_of_runs", seen)
    score(cloud(84, 0, 0), cloud(200, 0, 1))
    score(cloud(84, 0, 0), cloud(200, 0, 1), clusters=7)
    assert asked == [8, 7]


def test_the_metric_by_its_name() -> None:
    metric = resolve("mauve", model="hashing").fit(items(80, 0))  # type: ignore[union-attr]
    rows = metric.rows(items(80, 1))
    assert 0 <= metric.reduce(rows) <= 1
    assert "mauve|k:n/10|pca:0.9|c:5.0|mixtures:25|runs:5|seed:0" in str(metric.signature)
    assert set(metric.details(rows)) == {"floor", "thinned", "n_real"}


@pytest.mark.parametrize(
    "wrong", ["clusters=-1", "variance=0.0", "variance=1.5", "scale=0.0", "mixtures=1", "runs=0", "seed=-1"]
)
def test_invalid_settings_are_errors(wrong: str) -> None:
    with pytest.raises(UsageError, match="`mauve` needs"):
        resolve(f"mauve[{wrong}]")
