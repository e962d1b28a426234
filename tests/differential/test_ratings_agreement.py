"""Agreement of real sequences of ratings equals the `krippendorff` package, scikit-learn and scipy."""

from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr
from sklearn.metrics import cohen_kappa_score

from turnwise.ratings.agreement import agreement
from turnwise.types import Rating

LEVELS = ("nominal", "ordinal", "interval")
marks = st.none() | st.integers(1, 5)
tables = st.lists(st.tuples(marks, marks, marks), min_size=2, max_size=25)


def rated(columns: list[tuple[int | None, ...]]) -> list[Rating]:
    return [
        Rating(f"i{j}", "overall", value, name, scale=(1, 5))
        for j, column in enumerate(columns)
        for name, value in zip(("ann", "ben", "cho"), column, strict=True)
        if value is not None
    ]


@given(tables)
def test_alpha_equals_the_krippendorff_package(columns: list[tuple[int | None, ...]]) -> None:
    matrix = np.array([[np.nan if v is None else v for v in column] for column in columns], dtype=float).T
    for row in agreement(rated(columns), intervals=False):
        for level in LEVELS:
            figure = getattr(row, f"alpha_{level}")
            if figure.reason is None:
                peer = krippendorff.alpha(matrix, level_of_measurement=level)
                assert figure.value == pytest.approx(peer, abs=1e-9)


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=5, max_size=30))
def test_pairwise_coefficients_equal_those_of_sklearn_and_scipy(columns: list[tuple[int, ...]]) -> None:
    row = agreement(rated(list(columns)), intervals=False)[0]
    raters = list(zip(*columns, strict=True))
    pairs = [(a, b) for a, b in combinations(raters, 2) if len({*a, *b}) > 1]
    varied = [(a, b) for a, b in pairs if len(set(a)) > 1 and len(set(b)) > 1]
    steps = [1, 2, 3, 4, 5]
    if row.pairwise_kappa.reason is None:
        plain = [cohen_kappa_score(a, b) for a, b in pairs]
        quadratic = [cohen_kappa_score(a, b, labels=steps, weights="quadratic") for a, b in pairs]
        assert row.pairwise_kappa.value == pytest.approx(np.median(plain), abs=1e-9)
        assert row.pairwise_kappa_quadratic.value == pytest.approx(np.median(quadratic), abs=1e-9)
    if row.pairwise_correlation.reason is None:
        peers = [pearsonr(a, b).statistic for a, b in varied]
        assert row.pairwise_correlation.value == pytest.approx(np.median(peers), abs=1e-9)
