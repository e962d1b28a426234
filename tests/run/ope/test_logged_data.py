"""What may be looked at for a target, and what other agents' means are known from."""

import numpy as np
import pytest

from tests.small_world import held, world
from turnwise.encode.episodes import whole
from turnwise.estimators.calibration import known_means
from turnwise.run.ope.logged_data import LoggedData, close_to_target


@pytest.fixture
def logged_data() -> LoggedData:
    """Of a2's experience every dialogue that succeeded is taken away."""
    episodes = world(agents=4, dialogues=10)
    used = np.ones(40, dtype=np.bool_)
    return LoggedData("reward", episodes, used, {"a2": episodes.reward > 0}, False, 0)


def test_a_target_sees_neither_its_own_dialogues_nor_those_taken_from_it(logged_data: LoggedData) -> None:
    seen = logged_data.without("a2")
    assert "a2" not in seen.agents
    assert seen.reward.sum() == 0
    assert len(logged_data.without("a1").dialogues) == 30  # nothing is taken from others


def test_means_are_known_from_all_dialogues_whatever_is_taken_from_a_target(logged_data: LoggedData) -> None:
    """A mean over dialogues that were chosen by their likeness to the target would be no mean of the agent."""
    everything = known_means(logged_data.episodes)
    known = known_means(logged_data.rated("a2"))
    assert known == {agent: everything[agent] for agent in ("a0", "a1", "a3")}


def test_dialogues_near_to_a_target_are_those_whose_every_reply_is() -> None:
    talks = held(agents=3, dialogues=4)
    episodes = list(whole(talks, {}))
    assert close_to_target(episodes, "a0", 1000).all()
    exact = close_to_target(episodes, "a0", 0)
    for episode, near in zip(episodes, exact, strict=True):
        same = [
            episode.turns[p].text == episode.turns[p].alternatives["a0"][0].content for p in episode.points
        ]
        assert near == all(same)
