"""Self-play evaluation: the computed or learned reward of the target's dialogues."""

from dataclasses import replace

import numpy as np
import pytest

from turnwise.encode.episodes import encode, leave_out, whole
from turnwise.errors import Refused, TooFewItems
from turnwise.estimators.baselines.selfplay import Reward, SelfPlay
from turnwise.run.dialogues.selfplay import (
    episodes_by_agent,
)
from turnwise.types import Dialogue, Rating, Turn


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def chats(agent: str, warmth: float, count: int, *, rated: bool = True, seed: int = 0) -> list[Dialogue]:
    """Dialogues whose rating is the share of kind replies."""
    draw = np.random.default_rng([seed, int(100 * warmth)])
    found = []
    for number in range(count):
        kind = draw.random(4) < warmth
        turns = [
            turn
            for one in kind
            for turn in (
                Turn("user", "hello"),
                Turn("assistant", "lovely to see you" if one else "go away now"),
            )
        ]
        identity = f"{agent}{number}"
        ratings = (Rating(identity, "overall", float(kind.mean()), scale=(0.0, 1.0)),) if rated else ()
        found.append(Dialogue(identity, agent, tuple(turns), ratings))
    return found


def episodes(dialogues: list[Dialogue]):
    rewards = {one.id: one.ratings[0].value for one in dialogues}
    return encode(whole(dialogues, rewards), rating="overall", scale=(0.0, 1.0))


LOGS = [one for index in range(6) for one in chats(f"a{index}", index / 5, 20)]


def test_the_learned_reward_predicts_the_ratings():
    estimator = SelfPlay(model="hashing").with_dialogues(
        episodes_by_agent(
            chats("cold", 0.2, 50, rated=False) + chats("warm", 0.8, 50, rated=False), "overall"
        )
    )
    cold, warm = (estimator.estimate(episodes(LOGS), name, rng=rng()) for name in ("cold", "warm"))
    assert cold.value == pytest.approx(0.2, abs=0.08)
    assert warm.value == pytest.approx(0.8, abs=0.08)
    assert warm.contributions.mean() == pytest.approx(warm.value)
    assert len(warm.contributions) == 50
    assert warm.diagnostics["reward_r2"] > 0.9


def test_predictions_stay_on_the_scale():
    reward = Reward.learn(episodes(LOGS), "hashing", components=4, ridge=1.0)
    predicted = reward.predict(episodes(chats("x", 1.0, 20)))
    assert predicted.max() <= 1.0
    assert predicted.min() >= 0.0


def test_the_explained_share_is_computed_by_leaving_out_one_dialogue_at_a_time():
    logs = episodes(LOGS[:60])
    reward = Reward.learn(logs, "hashing", components=2, ridge=2.0)
    noise = replace(logs, reward=np.random.default_rng(1).random(60))
    assert Reward.learn(noise, "hashing", components=2, ridge=2.0).r2 < 0.2 < reward.r2


def test_computed_rewards_are_used_unchanged():
    held = chats("x", 0.5, 10)
    estimate = SelfPlay(model="hashing", played=episodes_by_agent(held, "overall")).estimate(
        episodes(LOGS), "x", rng=rng()
    )
    np.testing.assert_array_equal(estimate.contributions, [one.ratings[0].value for one in held])


def test_ratings_of_the_target_are_not_used():
    logs = episodes(LOGS)
    estimator = SelfPlay(
        model="hashing", played=episodes_by_agent(chats("a1", 0.2, 30, rated=False), "overall")
    )
    wrong = replace(logs, reward=np.where(logs.agent == 1, 1.0, logs.reward))
    assert estimator.estimate(wrong, "a1", rng=rng()).value == estimator.estimate(logs, "a1", rng=rng()).value
    single_reply = leave_out(logs, {"a1"})
    assert (
        estimator.estimate(single_reply, "a1", rng=rng()).value
        == estimator.estimate(logs, "a1", rng=rng()).value
    )


def test_missing_dialogues_or_ratings_are_errors():
    with pytest.raises(Refused, match="respond --self-play"):
        SelfPlay(model="hashing").estimate(episodes(LOGS), "nobody", rng=rng())
    few = SelfPlay(model="hashing", played=episodes_by_agent(chats("x", 0.5, 5, rated=False), "overall"))
    with pytest.raises(TooFewItems, match="30 rated dialogues of other agents, and there are 20"):
        few.estimate(episodes(LOGS[:20]), "x", rng=rng())
