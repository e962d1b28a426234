import numpy as np
import pytest

from turnwise.stats.components import REST, separable, variance_components, variance_of_mean


def test_a_balanced_design_has_the_components_of_the_analysis_of_variance() -> None:
    # Mean squares: between 18, within 2; three values a task: (18 - 2) / 3.
    values = np.array([1.0, 2.0, 3.0, 5.0, 7.0, 6.0, 1.0, 4.0, 1.0])
    tasks = np.repeat([0, 1, 2], 3)
    between = 3 * np.var([2.0, 6.0, 2.0], ddof=1)
    within = (2 + 2 + 6) / 6
    found = variance_components(values, {"task": tasks})
    assert found == pytest.approx({"task": (between - within) / 3, REST: within})


def test_sources_of_a_crossed_design_are_found_again() -> None:
    rng = np.random.default_rng(0)
    task, trial, rater = (axis.ravel() for axis in np.meshgrid(range(40), range(3), range(6), indexing="ij"))
    found = []
    for _ in range(40):
        values = rng.normal(size=40)[task] + 0.5 * rng.normal(size=120)[task * 3 + trial]
        values += 0.7 * rng.normal(size=6)[rater] + 0.4 * rng.normal(size=len(task))
        sources = {"task": task, "trial": task * 3 + trial, "rater": rater}
        found.append(list(variance_components(values, sources).values()))
    assert np.mean(found, axis=0) == pytest.approx([1.0, 0.25, 0.49, 0.16], abs=0.12)


def test_what_cannot_be_told_apart_is_left_out() -> None:
    one_trial_each = {"task": np.arange(5), "trial": np.arange(5)}
    assert separable(one_trial_each) == {}
    tasks = np.repeat(np.arange(5), 2)
    assert list(separable({"task": tasks, "rater": tasks, "trial": np.arange(10)})) == ["task"]
    assert variance_components(np.arange(10.0), {"task": tasks, "rater": tasks}) is None


def test_the_variance_of_a_mean_counts_levels_by_their_weights() -> None:
    tasks = np.array([0, 0, 1, 1])
    equal = variance_of_mean(np.full(4, 0.25), {"task": tasks})
    assert equal == pytest.approx({"task": 1 / 2, REST: 1 / 4})
    uneven = variance_of_mean(np.array([0.7, 0.1, 0.1, 0.1]), {"task": tasks})
    assert uneven["task"] == pytest.approx(0.8**2 + 0.2**2)
