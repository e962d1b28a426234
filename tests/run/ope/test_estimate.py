"""From raw estimates to an answer: calibration over agents that were each left out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.small_world import world
from turnwise.estimators.calibration import known_means
from turnwise.estimators.linear.regression import Direct
from turnwise.estimators.refusal import Reach
from turnwise.run.ope.estimate import Measured, Request, TargetEstimate, _with_estimate, estimate_target
from turnwise.run.ope.logged_data import LoggedData
from turnwise.run.ope.truth import validation
from turnwise.types import Estimate

TRUTH = np.array([0.3, 0.42, 0.5, 0.61, 0.8, 0.95])
NEW = 0.9
NEAR = Reach(overlap=1.0, distance=0.0)


def estimate(value: float, level: float) -> Estimate:
    return Estimate(value=value, contributions=np.array([value]), level=level)


def calibrated(own: Estimate, others: list[Estimate], means: np.ndarray) -> TargetEstimate:
    reaches = {"new": NEAR, **{str(place): NEAR for place in range(len(others))}}
    known = Measured(means, np.zeros(len(means)))
    return _with_estimate(
        TargetEstimate(target="new", estimator="any"), own, others, known, reaches, calibrate=True
    )


@given(strength=st.floats(0.01, 3), up=st.floats(-10, 10))
def test_an_estimator_that_tells_agents_apart_a_little_is_stretched_to_the_truth(strength, up):
    """Its values lie around the mean of those it was made from, which lacks the agent that is asked about."""
    means = TRUTH + up

    def value(mean: float, level: float) -> Estimate:
        return estimate(level + strength * (mean - level), level)

    others = [value(mean, float(np.delete(means, place).mean())) for place, mean in enumerate(means)]
    found = calibrated(value(NEW + up, float(means.mean())), others, means)
    assert found.estimate == pytest.approx(NEW + up, abs=1e-6)


def test_what_is_on_a_scale_of_its_own_is_calibrated_as_it_is():
    others = [estimate(100 - 7 * mean, 0.0) for mean in -TRUTH]
    found = calibrated(estimate(100 + 7 * NEW, 0.0), others, TRUTH)
    assert found.estimate == pytest.approx(NEW)


def test_the_mean_of_the_others_ranks_nobody():
    others = [
        estimate(float(np.delete(TRUTH, k).mean()), float(np.delete(TRUTH, k).mean())) for k in range(6)
    ]
    found = calibrated(estimate(float(TRUTH.mean()), float(TRUTH.mean())), others, TRUTH)
    assert found.estimate is None
    assert "cannot rank" in (found.reason or "")


class Slow(Direct):
    """An estimator that is asked once about each agent, and not anew for each target."""

    nested = False


@pytest.mark.parametrize(
    ("kind", "calibrate", "saw"), [(Slow, True, True), (Slow, False, False), (Direct, True, False)]
)
def test_only_what_calibrates_and_was_estimated_once_saw_the_targets_dialogues(kind, calibrate, saw):
    logs = world(agents=6, dialogues=10)
    everyone = np.ones(len(logs.dialogues), dtype=np.bool_)
    means = known_means(logs)
    ready = {name: Estimate(value=mean, contributions=logs.reward, level=0.0) for name, mean in means.items()}
    asked = Request(
        data=LoggedData("reward", logs, everyone, {}, False, 0),
        estimators={"any": kind(model="hashing")},
        model="hashing",
        calibrate=calibrate,
        seed=0,
        precomputed={"any": ready},
    )
    (found,) = estimate_target(asked, "a3")
    assert found.interval is not None
    assert ("saw the target's dialogues" in found.method) is saw


def asked_about(reward: np.ndarray, scale: tuple[float, float] | None, own: Estimate) -> TargetEstimate:
    """What is said of agent a0 without calibration, if an estimator gives `own`."""
    logs = world(agents=3, dialogues=10)
    logs = replace(logs, reward=reward if len(reward) else logs.reward, scale=scale)
    everyone = np.ones(len(logs.dialogues), dtype=np.bool_)
    request = Request(
        data=LoggedData("reward", logs, everyone, {}, False, 0),
        estimators={"any": Direct(model="hashing")},
        model="hashing",
        calibrate=False,
        seed=0,
        precomputed={"any": {logs.agents[0]: own}},
    )
    (found,) = estimate_target(request, logs.agents[0])
    return found


AS_LOGGED = np.array([])


def test_ratings_that_are_all_equal_support_no_estimate():
    found = asked_about(np.ones(30), (0, 1), estimate(1.0, 1.0))
    assert found.estimate is None
    assert "all 20 rated dialogues of other agents have the same rating, 1: nothing shows" in (
        found.reason or ""
    )


@pytest.mark.parametrize(
    ("contributions", "estimated"),
    [
        ([-19.0, -18.9, -19.1], None),  # its interval is outside the scale
        ([-19.0], None),  # it has no interval
        ([1.3, 1.4, 1.5], None),
        ([1.05], 1.0),  # clipped
        ([-0.5, 0.2, 0.1], 0.0),  # its interval is partly on the scale
        ([-0.1, -0.11, -0.05], None),  # its interval ends at -.007: clipped, it would be the point 0
        ([0.4, 0.5, 0.6], 0.5),
    ],
)
def test_an_estimate_far_outside_the_scale_is_refused(contributions, estimated):
    values = np.array(contributions)
    own = Estimate(value=float(values.mean()), contributions=values, level=0.5)
    found = asked_about(AS_LOGGED, (0, 1), own)
    assert found.estimate == (None if estimated is None else pytest.approx(estimated))
    assert ("outside the scale 0 to 1" in (found.reason or "")) == (estimated is None)
    assert found.diagnostics.raw == own.value
    assert asked_about(AS_LOGGED, None, own).estimate == own.value


def test_an_interval_that_is_the_whole_scale_is_marked():
    wide, narrow = (np.array(values) for values in ([0.0, 0.5, 1.0], [0.4, 0.5, 0.6]))
    for values, marked in ((wide, True), (narrow, False)):
        found = asked_about(AS_LOGGED, (0, 1), Estimate(value=0.5, contributions=values, level=0.5))
        assert found.diagnostics.whole_scale is marked
    assert found.interval != (0.0, 1.0)


def test_what_is_refused_is_kept_aside_to_check_the_refusal():
    """The known agents rank backwards here: no estimate is given, but what it would have been is in the diagnostics."""
    others = [estimate(-mean, 0.0) for mean in TRUTH]
    found = calibrated(estimate(-NEW, 0.0), others, TRUTH)
    assert found.estimate is None
    assert found.interval is None
    assert found.diagnostics.withheld.estimate == pytest.approx(NEW)
    given_one = calibrated(estimate(NEW, 0.0), [estimate(mean, 0.0) for mean in TRUTH], TRUTH)
    assert given_one.estimate == pytest.approx(NEW)
    assert given_one.diagnostics.withheld is None


def test_coverage_allows_for_the_error_of_a_logged_mean():
    """The interval is [.4, .6] and the logged mean .65: outside, unless its own error of .05 is allowed for."""
    one = TargetEstimate(target="a", estimator="any", estimate=0.5, interval=(0.4, 0.6))
    (exact,) = validation("reward", ["any"], [one], {"a": 0.65}, {"a": 0.0})
    (logged,) = validation("reward", ["any"], [one], {"a": 0.65}, {"a": 0.06})
    assert (exact.coverage, logged.coverage) == (0.0, 1.0)
    assert exact.half_width == logged.half_width == pytest.approx(0.1)
