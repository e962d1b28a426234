"""What must hold of correlations whatever the numbers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from turnwise.stats import weighted
from turnwise.stats.correlation import STATISTICS, row_correlations
from turnwise.stats.pairs.item_pairs import item_pairs
from turnwise.stats.pairs.pairwise import pairwise_accuracy, tie_calibration
from turnwise.stats.resample import bootstrap_weights, resampled_correlation
from turnwise.stats.weighted import weighted_correlation
from turnwise.types import Floats

COARSE = st.integers(-4, 4).map(float)


@st.composite
def two_columns(draw: st.DrawFn, least: int = 2, max_pairs: int = 25) -> tuple[Floats, Floats]:
    n = draw(st.integers(least, max_pairs))
    x, y = (draw(arrays(np.float64, n, elements=COARSE)) for _ in range(2))
    return x, y


def plainly(statistic: str, x: Floats, y: Floats, epsilon: float) -> float:
    if statistic == "pairwise":
        return pairwise_accuracy(x, y, epsilon=epsilon)
    return STATISTICS[statistic](x, y)


@given(two_columns(), st.sampled_from(["spearman", "kendall"]))
def test_rank_correlations_are_unchanged_by_strictly_increasing_maps(columns, statistic) -> None:
    x, y = columns
    mapped = STATISTICS[statistic](np.exp(x) + 3 * x, np.arctan(y))
    assert mapped == pytest.approx(STATISTICS[statistic](x, y), abs=1e-12, nan_ok=True)


@given(two_columns(), st.floats(0.1, 10), st.floats(-10, 10))
def test_pearson_is_unchanged_by_shift_and_scale(columns, scale, shift) -> None:
    x, y = columns
    assert STATISTICS["pearson"](scale * x + shift, y) == pytest.approx(
        STATISTICS["pearson"](x, y), abs=1e-9, nan_ok=True
    )


@given(two_columns(), st.sampled_from(sorted(STATISTICS)))
def test_the_order_of_items_does_not_matter(columns, statistic) -> None:
    x, y = columns
    assert STATISTICS[statistic](x[::-1], y[::-1]) == pytest.approx(
        STATISTICS[statistic](x, y), abs=1e-12, nan_ok=True
    )


@given(two_columns(), st.sampled_from(["pearson", "spearman", "kendall"]))
def test_negating_a_metric_negates_the_correlation(columns, statistic) -> None:
    x, y = columns
    assert STATISTICS[statistic](-x, y) == pytest.approx(-STATISTICS[statistic](x, y), abs=1e-12, nan_ok=True)


@given(st.integers(2, 60))
def test_every_pair_of_items_occurs_once(n) -> None:
    met = [(i, j) for [(a, b)] in item_pairs(np.arange(n), chunk=50) for i, j in np.broadcast(a, b)]
    assert sorted((min(p), max(p)) for p in met) == [(i, j) for i in range(n) for j in range(i + 1, n)]


def test_sampled_pairs_are_distinct_and_share_items_evenly() -> None:
    met = [
        (min(p), max(p))
        for [(a, b)] in item_pairs(np.arange(300), max_pairs=3000)
        for p in np.broadcast(a, b)
    ]
    assert len(met) == len(set(met)) == 3000
    assert set(np.bincount(np.array(met).ravel())) == {20}


@given(two_columns(), st.sampled_from([0.0, 0.5, 1.0, 2.0, 9.0]))
def test_no_threshold_beats_the_calibrated_one(columns, epsilon) -> None:
    x, y = columns
    best = pairwise_accuracy(x, y, epsilon=tie_calibration(x, y))
    assert best >= pairwise_accuracy(x, y, epsilon=epsilon)


@given(two_columns(), st.floats(0, 5))
def test_pairwise_accuracy_equals_a_loop_over_pairs(columns, epsilon) -> None:
    x, y = columns
    right = [
        abs(x[i] - x[j]) <= epsilon
        if y[i] == y[j]
        else abs(x[i] - x[j]) > epsilon and (x[i] > x[j]) == (y[i] > y[j])
        for i in range(len(x))
        for j in range(i)
    ]
    assert pairwise_accuracy(x, y, epsilon=epsilon) == pytest.approx(np.mean(right), abs=1e-12)


@given(two_columns())
def test_a_row_of_a_table_has_the_pairwise_accuracy_at_no_threshold(columns) -> None:
    x, y = columns
    assert row_correlations("pairwise", x[None], y[None])[0] == pytest.approx(
        pairwise_accuracy(x, y), abs=1e-12
    )


@pytest.mark.slow
@given(two_columns(least=6), st.data())
@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_bootstrap_by_weights_equals_a_loop_over_resampled_rows(statistic, columns, data) -> None:
    x, y = columns
    n_clusters = data.draw(st.integers(2, 6))
    codes = data.draw(arrays(np.int64, len(x), elements=st.integers(0, n_clusters - 1)))
    _, drawn, _ = resampled_correlation(
        statistic, x, y, codes, n_clusters, draws=20, rng=np.random.default_rng(3)
    )
    weights = np.concatenate(list(bootstrap_weights(n_clusters, 20, np.random.default_rng(3))))
    epsilon = tie_calibration(x, y)
    rows = [np.repeat(np.arange(len(x)), row[codes].astype(int)) for row in weights]
    looped = [plainly(statistic, x[row], y[row], epsilon) for row in rows]
    assert drawn == pytest.approx(looped, abs=1e-9, nan_ok=True)


@given(two_columns(least=6))
@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_jackknife_equals_leaving_clusters_out_by_hand(statistic, columns) -> None:
    x, y = columns
    codes = np.arange(len(x)) // 2
    n_clusters = int(codes[-1]) + 1
    _, _, left_out = resampled_correlation(
        statistic, x, y, codes, n_clusters, draws=1, rng=np.random.default_rng(3)
    )
    epsilon = tie_calibration(x, y)
    by_hand = [plainly(statistic, x[codes != c], y[codes != c], epsilon) for c in range(n_clusters)]
    assert left_out == pytest.approx(by_hand, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_sampling_pairs_changes_the_statistic_by_sampling_error_only(statistic, monkeypatch) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=1500)
    y = np.round(x + rng.normal(size=1500))
    codes, weights = np.arange(1500) // 5, rng.multinomial(300, np.full(300, 1 / 300), size=4).astype(float)
    whole = weighted_correlation(statistic, x, y, codes, 300, epsilon=0.3)(weights)
    monkeypatch.setattr(weighted, "_MAX_PAIRS", 200_000)
    sampled = weighted_correlation(statistic, x, y, codes, 300, epsilon=0.3)(weights)
    # Five standard errors of a mean of 200,000 pairs, each of which is at most 1 off.
    assert sampled == pytest.approx(whole, abs=5 / np.sqrt(200_000))


@pytest.mark.parametrize("statistic", ["kendall", "pairwise"])
def test_draws_from_sampled_pairs_have_the_variance_of_those_from_all(statistic, monkeypatch) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=2000)
    y, codes = np.round(x + rng.normal(size=2000)), np.arange(2000) // 5
    spreads = []
    for max_pairs in (2**26, 400_000):
        monkeypatch.setattr(weighted, "_MAX_PAIRS", max_pairs)
        _, drawn, _ = resampled_correlation(
            statistic, x, y, codes, 400, draws=1000, rng=np.random.default_rng(0)
        )
        spreads.append(drawn.std())
    assert spreads[1] == pytest.approx(spreads[0], rel=0.1)


@given(two_columns(least=3))
@pytest.mark.parametrize("statistic", ["spearman", "kendall"])
def test_an_infinite_score_ranks_as_any_largest_score(statistic, columns) -> None:
    x, y = columns
    assume(np.ptp(x) > 0)
    endless = np.where(x == x.max(), np.inf, x)
    codes, ones = np.arange(len(x)), np.ones((1, len(x)))
    expected = pytest.approx(STATISTICS[statistic](x, y), abs=1e-9, nan_ok=True)
    assert STATISTICS[statistic](endless, y) == expected
    assert weighted_correlation(statistic, endless, y, codes, len(x))(ones)[0] == expected
