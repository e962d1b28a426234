"""Agreement against scikit-learn and the krippendorff package."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from turnwise.stats.agreement import cohen_kappa, krippendorff_alpha

RATINGS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


@given(RATINGS.filter(lambda pairs: len({value for pair in pairs for value in pair}) > 1))
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_kappa_equals_scikit_learn(weights, pairs) -> None:
    a, b = np.array(pairs).T
    assert cohen_kappa(a, b, weights=weights) == pytest.approx(
        cohen_kappa_score(a, b, weights=weights), abs=1e-9
    )
    steps = np.arange(1, 6)  # with every step of the scale, used or not
    assert cohen_kappa(a, b, weights=weights, categories=steps) == pytest.approx(
        cohen_kappa_score(a, b, weights=weights, labels=steps), abs=1e-9
    )


CELL = st.one_of(st.integers(1, 5).map(float), st.just(float("nan")))


@st.composite
def matrices(draw: st.DrawFn):
    raters, items = draw(st.integers(2, 5)), draw(st.integers(1, 15))
    row = st.lists(CELL, min_size=items, max_size=items)
    matrix = np.array(draw(st.lists(row, min_size=raters, max_size=raters)))
    twice = (~np.isnan(matrix)).sum(axis=0) >= 2
    values = np.unique(matrix[:, twice])
    return draw(st.just(matrix)) if len(values[~np.isnan(values)]) > 1 else np.array([[1.0, 2.0], [1.0, 1.0]])


@given(matrices())
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_krippendorff_alpha_equals_the_krippendorff_package(level, matrix) -> None:
    expected = krippendorff.alpha(reliability_data=matrix, level_of_measurement=level)
    assert krippendorff_alpha(matrix, level) == pytest.approx(expected, abs=1e-9)
