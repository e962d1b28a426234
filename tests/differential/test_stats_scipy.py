"""Correlations against scipy. Ties are wanted: most values come from a short scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from turnwise.stats.correlation import kendall, pearson, row_correlations, spearman, tau_c
from turnwise.types import Floats

SCALE = st.integers(1, 5).map(float)
REAL = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda value: round(value, 6))


@st.composite
def two_columns(draw: st.DrawFn, rows: int = 1) -> tuple[Floats, Floats]:
    """Two columns that vary, of whole or real numbers."""
    n = draw(st.integers(2, 40))
    columns = []
    for _ in range(2):
        values = draw(st.sampled_from([SCALE, REAL]))
        columns.append(np.array(draw(st.lists(values, min_size=n, max_size=n).filter(varies))))
    return columns[0], columns[1]


def varies(values: list[float]) -> bool:
    return np.ptp(values) > 1e-3


def oracle(statistic: str, x: Floats, y: Floats) -> float:
    if statistic == "pearson":
        return float(stats.pearsonr(x, y).statistic)
    if statistic == "spearman":
        return float(stats.spearmanr(x, y).statistic)
    return float(stats.kendalltau(x, y).statistic)


@given(two_columns())
def test_pearson_equals_scipy(columns: tuple[Floats, Floats]) -> None:
    assert pearson(*columns) == pytest.approx(oracle("pearson", *columns), abs=1e-9)


@given(two_columns())
def test_spearman_equals_scipy(columns: tuple[Floats, Floats]) -> None:
    assert spearman(*columns) == pytest.approx(oracle("spearman", *columns), abs=1e-9)


@given(two_columns())
def test_kendall_equals_scipy(columns: tuple[Floats, Floats]) -> None:
    assert kendall(*columns) == pytest.approx(oracle("kendall", *columns), abs=1e-9)


@pytest.mark.parametrize("values", [3, 100, 10**9])
def test_kendall_of_many_items_is_the_number_of_scipy(values: int) -> None:
    rng = np.random.default_rng(values)
    x, y = (rng.integers(values, size=5000).astype(float) for _ in range(2))
    assert kendall(x, x + y) == oracle("kendall", x, x + y)


@given(two_columns())
def test_tau_c_equals_scipy(columns: tuple[Floats, Floats]) -> None:
    expected = stats.kendalltau(*columns, variant="c").statistic
    assert tau_c(*columns) == pytest.approx(expected, abs=1e-9)
    assert row_correlations("tau-c", *(side[None] for side in columns))[0] == pytest.approx(
        expected, abs=1e-9
    )


@given(two_columns())
def test_kendall_equals_its_definition_over_pairs(columns: tuple[Floats, Floats]) -> None:
    # tau-b (Kendall 1945) pair by pair.
    x, y = columns
    i, j = np.triu_indices(len(x), 1)
    dx, dy = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
    defined = np.sum(dx * dy) / np.sqrt(np.sum(dx != 0) * np.sum(dy != 0))
    assert kendall(x, y) == pytest.approx(defined, abs=1e-9)


@given(st.sampled_from(["pearson", "spearman", "kendall"]), st.data())
def test_rows_of_a_table_equal_scipy_one_by_one(statistic: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    row = st.lists(st.one_of(SCALE, REAL), min_size=n, max_size=n).filter(varies)
    table = st.lists(row, min_size=3, max_size=3).map(np.array)
    x, y = data.draw(table), data.draw(table)
    expected = [oracle(statistic, a, b) for a, b in zip(x, y, strict=True)]
    assert row_correlations(statistic, x, y) == pytest.approx(expected, abs=1e-9)
