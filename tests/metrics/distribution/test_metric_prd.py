"""PRD: exact maxima on known distributions, stable clusters, and the paper's variant."""

import numpy as np
import pytest

from turnwise.errors import DataError, TooFewItems, UsageError
from turnwise.metrics import resolve
from turnwise.metrics.distribution.curve import Curve, Histograms, histograms, principal
from turnwise.metrics.distribution.kmeans import kmeans, mini_batches
from turnwise.metrics.distribution.prd import FittedPrd, Prd
from turnwise.types import Item, Turn

FAR = 100.0


def cloud(n: int, centre: float, seed: int, d: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) + centre


def both(real: np.ndarray, generated: np.ndarray, *, components: int | None = 32) -> Histograms:
    return histograms(real, generated, 20, components=components, rng=np.random.default_rng(0))


def test_one_of_two_real_modes_has_full_precision_and_half_the_recall() -> None:
    real = np.vstack([cloud(500, 0, 0), cloud(500, FAR, 1)])
    curve = both(real, cloud(1000, 0, 2)).curve()
    assert curve.precision.max() == pytest.approx(1, abs=0.02)
    assert curve.recall.max() == pytest.approx(0.5, abs=0.02)


def test_two_modes_where_people_have_one_have_full_recall_and_half_the_precision() -> None:
    generated = np.vstack([cloud(500, 0, 0), cloud(500, FAR, 1)])
    curve = both(cloud(1000, 0, 2), generated).curve()
    assert curve.precision.max() == pytest.approx(0.5, abs=0.02)
    assert curve.recall.max() == pytest.approx(1, abs=0.02)


def test_sets_without_a_common_cluster_score_0() -> None:
    shares = both(cloud(300, 0, 0), cloud(300, FAR, 1))
    assert shares.f1() == 0
    assert shares.curve().f1 == 0


def test_equal_sets_score_1_whatever_their_order() -> None:
    rows = cloud(200, 0, 0)
    shares = both(rows, rows[::-1])
    assert shares.f1() == 1
    assert shares.curve().precision.max() == shares.curve().recall.max() == 1


def test_samples_of_one_distribution_score_high_and_below_1() -> None:
    assert 0.8 < both(cloud(1000, 0, 0), cloud(1000, 0, 1)).f1() < 1


def test_the_exact_maximum_is_at_least_that_of_the_angles_and_close_to_it() -> None:
    shares = both(cloud(300, 0, 0), cloud(300, 0.7, 1))
    assert shares.f1() >= shares.at_angles(1001).f1
    assert shares.f1() == pytest.approx(shares.at_angles(100_001).f1, abs=1e-4)


def test_a_worked_example_by_hand() -> None:
    # The ratios G/R are 2 and 1/3; the third cluster holds nothing real.
    shares = Histograms(np.array([0.25, 0.75, 0.0]), np.array([0.5, 0.25, 0.25]))
    # l = 1/3: min(1/12, .5) + min(.25, .25) = 1/3, F1 = 2/3 / (4/3) = .5; l = 2: .5 + .25 = .75, F1 = 1.5/3 = .5.
    assert shares.f1() == pytest.approx(0.5)
    curve = shares.curve()
    assert curve.precision.tolist() == pytest.approx([0.0, 1 / 3, 0.75, 0.75])
    assert curve.recall.tolist() == pytest.approx([1.0, 1.0, 0.375, 0.0])


@pytest.mark.parametrize("batch", [None, 256])
def test_rounding_of_the_vectors_does_not_change_the_clusters(batch: int | None) -> None:
    """What another batch size or machine does to a neural vector: 1e-7 of its length."""
    rng = np.random.default_rng(8)
    real, generated = (rng.normal(size=(150, 64)) + shift for shift in (0.0, 0.2))
    settings = {"components": None if batch else 32, "batch": batch}
    one = histograms(real, generated, 20, **settings, rng=np.random.default_rng(0))
    noise = (1 + 1e-7 * rng.normal(size=(150, 64)) for _ in range(2))
    two = histograms(
        real * next(noise), generated * next(noise), 20, **settings, rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(one.real, two.real)
    np.testing.assert_array_equal(one.generated, two.generated)


def test_an_empty_side_and_a_nan_are_errors() -> None:
    rows = cloud(5, 0, 0)
    with pytest.raises(TooFewItems):
        both(rows, rows[:0])
    broken = rows.copy()
    broken[0, 0] = np.nan
    with pytest.raises(DataError, match="NaN"):
        both(rows, broken)


def test_kmeans_finds_separated_clusters() -> None:
    points = np.vstack([cloud(50, FAR * place, place, 3) for place in range(5)])
    labels = kmeans(points, 5, weights=np.ones(250), rng=np.random.default_rng(0))
    groups = labels.reshape(5, 50)
    assert all(len(set(group)) == 1 for group in groups.tolist())
    assert len(set(groups[:, 0].tolist())) == 5


def test_mini_batches_find_separated_clusters() -> None:
    points = np.vstack([cloud(50, FAR * place, place, 3) for place in range(5)])
    labels = mini_batches(points, 5, weights=np.ones(250), rng=np.random.default_rng(0), size=100)
    assert all(len(set(group)) == 1 for group in labels.reshape(5, 50).tolist())
    few = mini_batches(points[:3], 5, weights=np.ones(3), rng=np.random.default_rng(0), size=100)
    assert few.tolist() == [0, 1, 2]


def test_a_weighted_point_equals_repeated_points() -> None:
    points = cloud(40, 0, 0, 3)
    weights = np.arange(1.0, 41.0)
    labels = kmeans(points, 4, weights=weights, rng=np.random.default_rng(0))
    means = np.array(
        [np.average(points[labels == k], axis=0, weights=weights[labels == k]) for k in range(4)]
    )
    nearest = np.argmin(((points[:, None] - means) ** 2).sum(axis=2), axis=1)
    assert nearest.tolist() == labels.tolist()  # Lloyd has settled on the weighted means


def test_with_fewer_points_than_clusters_each_point_is_a_cluster() -> None:
    assert kmeans(cloud(3, 0, 0), 20, weights=np.ones(3), rng=np.random.default_rng(0)).tolist() == [0, 1, 2]


def test_kmeans_ends_for_equal_points() -> None:
    labels = kmeans(np.zeros((30, 2)), 5, weights=np.ones(30), rng=np.random.default_rng(0))
    assert len(labels) == 30


def test_principal_components_keep_the_variance_that_is_in_few_directions() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 100)) + 0.01 * rng.normal(size=(300, 100))
    seen = principal(points, 4, weights=np.ones(300), rng=rng)
    assert seen.shape == (300, 4)
    assert seen.var(axis=0).sum() == pytest.approx(points.var(axis=0).sum(), rel=1e-3)


def items(count: int, seed: int) -> list[Item]:
    rng = np.random.default_rng(seed)
    words = [f"{a}{b}" for a in "bdfgk" for b in ("an", "en", "in", "on", "ul")]
    made = []
    for place in range(count):
        texts = [" ".join(rng.choice(words, size=6)) for _ in range(3)]
        turns = (Turn("user", texts[0]), Turn("assistant", texts[1], references=(texts[2],)))
        made.append(Item(f"{seed}{place}", str(place), "bot", turns, 1, cluster=str(place), pair=str(place)))
    return made


def fitted(name: str, **options: object) -> FittedPrd:
    metric = resolve(name, model="hashing", **options)
    assert isinstance(metric, Prd)
    return metric.fit(items(80, 0))


def test_components_have_a_definite_sign(monkeypatch: pytest.MonkeyPatch):
    """An eigenvector is one with either sign, and which one is found depends on the processor."""
    points = np.random.default_rng(0).standard_normal((60, 50)) * np.linspace(3, 1, 50)
    found = principal(points, 6, weights=np.ones(60), rng=np.random.default_rng(1))
    eigh = np.linalg.eigh
    monkeypatch.setattr(
        np.linalg, "eigh", lambda matrix: (eigh(matrix)[0], eigh(matrix)[1] * np.resize([1, -1], len(matrix)))
    )
    again = principal(points, 6, weights=np.ones(60), rng=np.random.default_rng(1))
    assert np.array_equal(found, again)


def test_the_paper_averages_ten_curves_at_its_angles() -> None:
    metric = fitted("prd-paper")
    rows = metric.rows(items(80, 1))
    curve = metric.curve(rows)
    assert len(curve.precision) == 1001
    assert metric.reduce(rows) == Curve(*curve).f1
    assert "k:20|pca:no|angles:1001|runs:10|batch:1024|seed:0" in str(metric.signature)


def test_the_default_is_exact_and_its_curve_ends_at_both_axes() -> None:
    metric = fitted("prd")
    rows = metric.rows(items(80, 1))
    curve = metric.curve(rows)
    assert metric.reduce(rows) == pytest.approx(curve.f1, rel=1e-12)
    assert curve.precision[0] == curve.recall[-1] == 0
    assert "angles:exact|runs:1|batch:all" in str(metric.signature)


def test_the_seed_of_the_clusters_is_in_the_signature() -> None:
    values = {seed: fitted("prd", seed=seed) for seed in range(4)}
    assert len({str(metric.signature) for metric in values.values()}) == 4
    rows = values[0].rows(items(80, 1))
    assert len({metric.reduce(rows) for metric in values.values()}) > 1


def test_invalid_numbers_of_runs_angles_and_clusters_are_errors() -> None:
    with pytest.raises(UsageError, match="angles"):
        resolve("prd", runs=10)
    with pytest.raises(UsageError, match="1 cluster"):
        resolve("prd", clusters=0)
