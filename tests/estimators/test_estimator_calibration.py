"""Lines from estimates to known means, and when there is none."""

from dataclasses import replace

import numpy as np
import pytest

from tests.small_world import world
from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused
from turnwise.estimators import resolve
from turnwise.estimators.calibration import can_rank, estimates, known_means, line
from turnwise.estimators.refusal import Reach, check_enough, check_reach, measured_distance, measured_reach


def test_prediction_intervals_cover_what_they_promise() -> None:
    """Estimates are off by a line and noise: 95 % of further agents lie within."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(2000):
        known = rng.normal(size=16)
        raw = 2 + 0.5 * known + 0.1 * rng.normal(size=16)
        low, high = line(raw[1:], known[1:]).interval(raw[0])
        covered.append(low <= known[0] <= high)
    assert 0.93 < np.mean(covered) < 0.97


def test_a_line_is_that_of_least_squares() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.1, 4.9, 7.0])
    fitted = line(x, y)
    slope, intercept = np.polyfit(x, y, 1)
    assert (fitted.slope, fitted.intercept) == (pytest.approx(slope), pytest.approx(intercept))
    assert fitted.correlation == pytest.approx(np.corrcoef(x, y)[0, 1])
    can_rank(fitted)


def test_what_does_not_rise_with_the_truth_is_refused() -> None:
    rising = np.arange(6.0)
    with pytest.raises(Refused, match="not ranked"):
        can_rank(line(-rising, rising + np.array([0.1, 0, -0.1, 0.1, 0, -0.1])))
    with pytest.raises(Refused, match="the same estimate"):
        line(np.ones(6), rising)
    with pytest.raises(Refused, match="needs 4 other agents"):
        line(rising[:3], rising[:3])


def test_sharing_gives_what_asking_one_by_one_gives() -> None:
    logs = world(agents=5, dialogues=20)
    rng = np.random.default_rng(0)
    shared = estimates(resolve("robust", model="hashing"), logs, list(logs.agents), rng=rng)
    for agent, one in zip(logs.agents, shared, strict=True):
        alone = resolve("robust", model="hashing").estimate(leave_out(logs, {agent}), agent, rng=rng)
        # Only the principal components differ: together they are found with the agent's own texts among them.
        assert alone.value == pytest.approx(one.value, abs=0.05)


def test_known_means_are_those_of_rated_dialogues() -> None:
    logs = world(agents=3, dialogues=10)
    assert known_means(logs)["a1"] == pytest.approx(logs.reward[logs.agent == 1].mean())


def test_reach_is_near_for_an_agent_that_talks_like_the_others() -> None:
    logs = world(agents=5, dialogues=20)
    found = measured_reach(logs, "a2", "hashing")
    assert found.overlap == pytest.approx(1.0)
    assert found.distance == pytest.approx(0.0, abs=1e-6)
    check_reach("a2", found, [found])
    with pytest.raises(Refused, match="says what nobody"):
        check_reach("a2", Reach(0.0, 0.8), [found])


def test_enough_is_four_agents_and_thirty_dialogues() -> None:
    check_enough(4, 32)
    with pytest.raises(Refused, match="log more agents"):
        check_enough(3, 60)
    with pytest.raises(Refused, match="rate more"):
        check_enough(4, 20)


def test_what_the_others_never_vary_in_is_not_measured_in_units_of_rounding() -> None:
    logs = world(agents=6, dialogues=40)
    own = replace(logs.alternatives["a0"], text=np.full_like(logs.alternatives["a0"].text, len(logs.texts)))
    strange = replace(
        logs,
        texts=(*logs.texts, "Aardvarks zigzag."),
        alternatives={**logs.alternatives, "a0": own},
    )
    known = [name for name in logs.agents if name != "a0"]
    found = measured_distance(strange, "a0", known, "hashing")
    assert found is not None
    assert found.target < 100


def test_agents_that_all_say_the_same_have_no_distance() -> None:
    logs = world(agents=6, dialogues=40)
    same = {name: replace(one, text=np.zeros_like(one.text)) for name, one in logs.alternatives.items()}
    logs = replace(logs, alternatives=same)
    assert measured_distance(logs, "a0", [name for name in logs.agents if name != "a0"], "hashing") is None
