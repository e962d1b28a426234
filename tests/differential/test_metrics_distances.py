"""Distances between distributions against scipy's matrix square root and scikit-learn's k-means and kernels."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import rbf_kernel

from tests.frechet import frechet
from turnwise.metrics.distribution.curve import histograms, principal
from turnwise.metrics.distribution.kernel import RealSample
from turnwise.metrics.distribution.kmeans import kmeans


def by_square_root(x: np.ndarray, y: np.ndarray) -> float:
    """The usual way: a generic square root of the product of the covariances."""
    s, t = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    root = sqrtm(s @ t)
    return float(np.sum((x.mean(0) - y.mean(0)) ** 2) + np.trace(s) + np.trace(t) - 2 * np.trace(root).real)


@pytest.mark.parametrize(("n", "m", "d"), [(300, 500, 40), (1000, 800, 96)])
def test_frechet_is_what_a_matrix_square_root_gives_where_that_is_exact(n: int, m: int, d: int) -> None:
    rng = np.random.default_rng(d)
    mix = rng.normal(size=(d, d))
    x, y = rng.normal(size=(n, d)) @ mix, rng.normal(size=(m, d)) + 0.2
    assert frechet(x, y) == pytest.approx(by_square_root(x, y), rel=1e-9)


def test_with_fewer_vectors_than_dimensions_the_square_root_is_the_one_that_errs() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 120))
    assert abs(by_square_root(x, x)) > 1e-9
    assert frechet(x, x) < 1e-9


def test_our_clusters_are_as_tight_as_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    points = np.vstack([rng.normal(size=(60, 8)) + 3 * rng.normal(size=8) for _ in range(12)])

    def inertia(labels: np.ndarray) -> float:
        return sum(
            float(np.sum((points[labels == k] - points[labels == k].mean(0)) ** 2))
            for k in set(labels.tolist())
        )

    ours = [
        inertia(kmeans(points, 12, weights=np.ones(len(points)), rng=np.random.default_rng(s)))
        for s in range(10)
    ]
    peers = [inertia(KMeans(12, n_init=1, random_state=s).fit(points).labels_) for s in range(10)]
    assert min(ours) <= 1.01 * min(peers)
    assert np.mean(ours) <= 1.05 * np.mean(peers)


def test_principal_components_span_what_a_decomposition_does() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(400, 60)) @ np.diag(0.8 ** np.arange(60))
    seen = principal(points, 8, weights=np.ones(400), rng=rng)
    centred = points - points.mean(0)
    best = np.linalg.svd(centred, compute_uv=False)[:8]
    assert np.linalg.svd(seen, compute_uv=False) == pytest.approx(best, rel=0.02)


def test_f1_is_that_of_scikit_learns_clusters_in_the_mean() -> None:
    """Clusters differ from run to run, so the two are compared over many."""
    rng = np.random.default_rng(3)
    real, generated = rng.normal(size=(300, 16)), rng.normal(size=(300, 16)) + 0.4

    def peer(seed: int) -> float:
        labels = KMeans(20, n_init=1, random_state=seed).fit(np.vstack([real, generated])).labels_
        r, g = np.bincount(labels[:300], minlength=20) / 300, np.bincount(labels[300:], minlength=20) / 300
        weights = np.tan(np.linspace(1e-10, np.pi / 2 - 1e-10, 1001))[:, None]
        precision = np.minimum(weights * r, g).sum(axis=1)
        recall = precision / weights[:, 0]
        return float(np.max(2 * precision * recall / (precision + recall)))

    ours = [histograms(real, generated, 20, rng=np.random.default_rng(s)).f1() for s in range(30)]
    peers = [peer(s) for s in range(30)]
    spread = np.hypot(np.std(ours), np.std(peers)) / np.sqrt(30)
    assert np.mean(ours) == pytest.approx(np.mean(peers), abs=4 * spread + 0.01)


def test_discrepancy_is_that_of_a_full_kernel_matrix() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(50, 6)) + 0.5, rng.normal(size=(70, 6))
    reference = RealSample.of(y)
    gamma = 1 / (2 * reference.width**2)

    def within(rows: np.ndarray) -> float:
        kernel = rbf_kernel(rows, gamma=gamma)
        return float((kernel.sum() - np.trace(kernel)) / (len(rows) * (len(rows) - 1)))

    expected = within(x) + within(y) - 2 * float(rbf_kernel(x, y, gamma=gamma).mean())
    assert reference.discrepancy(x) == pytest.approx(expected, rel=1e-9)
