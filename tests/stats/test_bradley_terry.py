"""Bradley-Terry strengths, held against choix and a logistic regression, with coverage of their intervals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from turnwise.errors import Refused
from turnwise.stats.bradley_terry import fit
from turnwise.stats.crossed import standard_errors
from turnwise.types import Floats, Ints

NAMES = tuple("abcde")


def comparisons(rng: np.random.Generator, n: int = 400, *, ties: float = 0.0) -> tuple[Ints, Ints, Floats]:
    strengths = rng.normal(size=len(NAMES))
    first = rng.integers(len(NAMES), size=n)
    second = (first + 1 + rng.integers(len(NAMES) - 1, size=n)) % len(NAMES)
    won = rng.random(n) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    return first, second, np.where(rng.random(n) < ties, 0.0, np.where(won, 1.0, -1.0))


def test_strengths_without_ties_are_those_of_choix() -> None:
    choix = pytest.importorskip("choix", reason="choix is absent: pip install choix")
    first, second, outcome = comparisons(np.random.default_rng(0))
    won = [
        (a, b) if o > 0 else (b, a) for a, b, o in zip(first.tolist(), second.tolist(), outcome, strict=True)
    ]
    expected = choix.ilsr_pairwise(len(NAMES), won, alpha=0.0, tol=1e-12)
    found = fit(first, second, outcome, NAMES)
    np.testing.assert_allclose(found.strengths, expected - expected.mean(), atol=1e-6)


def test_strengths_and_effects_of_covariates_are_those_of_a_logistic_regression() -> None:
    linear = pytest.importorskip(
        "sklearn.linear_model", reason="scikit-learn is absent: pip install scikit-learn"
    )
    rng = np.random.default_rng(1)
    first, second, outcome = comparisons(rng)
    position = rng.choice([-1.0, 1.0], len(outcome))
    design = np.zeros((len(outcome), len(NAMES)))
    design[np.arange(len(outcome)), first] = 1
    design[np.arange(len(outcome)), second] = -1
    design = np.column_stack([design[:, 1:], position])
    model = linear.LogisticRegression(
        C=np.inf, fit_intercept=False, tol=1e-12, solver="newton-cg", max_iter=1000
    )
    expected = model.fit(design, outcome > 0).coef_[0]
    strengths = np.append(0.0, expected[:-1])
    found = fit(first, second, outcome, NAMES, covariates=position[:, None])
    np.testing.assert_allclose(found.strengths, strengths - strengths.mean(), atol=1e-6)
    np.testing.assert_allclose(found.effects, expected[-1:], atol=1e-6)


def test_strengths_with_ties_maximise_the_likelihood_of_davidson() -> None:
    first, second, outcome = comparisons(np.random.default_rng(2), ties=0.3)

    def loss(solution: Floats) -> float:
        p = np.exp(solution[:-1])
        between = np.exp(solution[-1]) * np.sqrt(p[first] * p[second])
        numerator = np.where(outcome > 0, p[first], np.where(outcome < 0, p[second], between))
        return float(-np.sum(np.log(numerator / (p[first] + p[second] + between))) + solution[:-1].sum() ** 2)

    expected = minimize(loss, np.zeros(len(NAMES) + 1), tol=1e-12).x
    found = fit(first, second, outcome, NAMES)
    np.testing.assert_allclose(found.strengths, expected[:-1], atol=1e-5)
    assert found.tie == pytest.approx(expected[-1], abs=1e-5)


def test_swapping_the_sides_of_a_comparison_changes_nothing() -> None:
    first, second, outcome = comparisons(np.random.default_rng(3), ties=0.2)
    swapped = np.arange(len(outcome)) % 2 == 0
    other = fit(
        np.where(swapped, second, first),
        np.where(swapped, first, second),
        np.where(swapped, -outcome, outcome),
        NAMES,
    )
    np.testing.assert_allclose(fit(first, second, outcome, NAMES).strengths, other.strengths, atol=1e-9)


def test_unconnected_agents_have_strengths_within_their_component_only() -> None:
    first, second = np.array([0, 0, 0, 2, 2, 2]), np.array([1, 1, 1, 3, 3, 3])
    found = fit(first, second, np.array([1.0, 1, -1, 1, -1, -1]), NAMES[:4])
    assert found.components.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(found.strengths, np.array([1, -1, -1, 1]) * np.log(2) / 2, atol=1e-9)
    assert np.isnan(found.difference(0, 2)[0])


def test_an_agent_that_never_lost_has_no_strength_and_the_reason_names_it() -> None:
    found = fit(np.array([0, 0, 1, 1]), np.array([1, 2, 2, 2]), np.array([1.0, 1, 1, -1]), NAMES[:3])
    assert np.isnan(found.strengths).all()
    assert found.reasons[1] == "`a` never lost to nor tied with the others, so that strengths are unbounded"


def test_an_agent_that_only_won_and_tied_is_refused() -> None:
    with pytest.raises(Refused, match="an agent never lost"):
        fit(np.zeros(5, dtype=np.int64), np.ones(5, dtype=np.int64), np.array([1.0, 1, 0, 0, 0]), NAMES[:2])


def test_ties_bound_strengths_where_their_order_is_contradictory() -> None:
    # a beat b, b beat c, and a tied with c: the gap of a and c cannot grow with the other two.
    found = fit(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([1.0, 1, 0]), NAMES[:3])
    assert np.isfinite(found.strengths).all()
    assert found.strengths[0] > found.strengths[1] > found.strengths[2]


def test_an_agent_without_comparisons_has_no_strength() -> None:
    found = fit(np.array([0, 0]), np.array([1, 1]), np.array([1.0, -1]), NAMES[:3])
    assert found.reasons[2] == "`c` was compared with nobody"
    assert found.strengths[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("first", "second", "outcome", "why"),
    [
        ([0, 1], [1, 0], [0.0, 0.0], "all comparisons are ties"),
        ([0], [0], [1.0], "with itself"),
        ([], [], [], "no compar"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    first: list[int], second: list[int], outcome: list[float], why: str
) -> None:
    with pytest.raises(Refused, match=why):
        fit(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64), np.array(outcome), NAMES[:2])


def test_a_covariate_that_decides_everything_is_refused() -> None:
    outcome = np.array([1.0, -1, 1, -1])
    with pytest.raises(Refused, match="unbounded"):
        fit(
            np.zeros(4, dtype=np.int64),
            np.ones(4, dtype=np.int64),
            outcome,
            NAMES[:2],
            covariates=outcome[:, None],
        )


@pytest.mark.parametrize("size", [1.0, 0.3])
def test_a_covariate_that_the_agents_determine_is_refused_by_name(size: float) -> None:
    rng = np.random.default_rng(4)
    swapped = rng.random(60) < 0.5
    first, second = np.where(swapped, 1, 0), np.where(swapped, 0, 1)
    always_first = np.where(swapped, -size, size)  # agent 0 was shown first in every comparison
    outcome = np.where(rng.random(60) < 0.7, 1.0, -1.0)
    with pytest.raises(Refused, match="`position` cannot be told apart from the agents"):
        fit(
            first,
            second,
            outcome,
            NAMES[:2],
            covariates=np.stack([rng.normal(size=60), always_first], axis=1),
            covariate_names=("length", "position"),
        )


def test_intervals_cover_the_truth_where_contexts_and_raters_are_crossed() -> None:
    rng = np.random.default_rng(7)
    strengths = np.array([0.6, 0.2, -0.2, -0.6])

    def outcomes(d: Floats) -> Floats:
        weights = np.stack([d / 2, -d / 2, np.full(len(d), -0.5)], axis=1) + rng.gumbel(size=(len(d), 3))
        return np.array([1.0, -1.0, 0.0])[weights.argmax(axis=1)]

    def drawn(n: int, context: Ints, rater: Ints) -> tuple[Ints, Ints, Floats]:
        """Comparisons in which contexts and raters favour agents."""
        by_context = rng.normal(0, 0.7, (context.max() + 1, 4))
        by_rater = rng.normal(0, 0.5, (rater.max() + 1, 4))
        first = rng.integers(4, size=n)
        second = (first + 1 + rng.integers(3, size=n)) % 4
        value = strengths + by_context[context] + by_rater[rater]
        at = np.arange(n)
        return first, second, outcomes(value[at, first] - value[at, second])

    many = np.arange(200_000)
    truth = fit(*drawn(len(many), many, many), NAMES[:4]).strengths
    n, covered = 240, np.zeros(4)
    studies = 250
    for _ in range(studies):
        context, rater = np.repeat(np.arange(60), 4), rng.integers(15, size=n)
        found = fit(*drawn(n, context, rater), NAMES[:4])
        errors = standard_errors(found.influence, context, rater, floor=True)
        for agent in range(4):
            low, high = errors.interval(float(found.strengths[agent]), agent) or (np.nan, np.nan)
            covered[agent] += low <= truth[agent] <= high
    # The mean over four agents; three standard errors of one agent's coverage are .041.
    assert 0.93 <= float(covered.mean()) / studies <= 0.98
