"""The learned customer of papers/selfplay.py, and self-play in worlds."""

import numpy as np
import pytest

from papers.learned_customer import LearnedCustomer, play_in_world
from turnwise.encode.episodes import encode, whole
from turnwise.errors import DataError
from turnwise.estimators.baselines.selfplay import SelfPlay
from turnwise.run.dialogues.selfplay import (
    episodes_by_agent,
)
from turnwise.types import Dialogue, Reply, Turn
from turnwise.worlds import booking, task


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def sellers():
    return booking.family("graded", agents=6)


@pytest.fixture(scope="module")
def logs(sellers):
    return [
        booking.WORLD.play(
            agent, np.random.default_rng([index, number]), identity=f"{name}/{number}", name=name
        )
        for index, (name, agent) in enumerate(sellers.items())
        for number in range(15)
    ]


def test_a_learned_customer_states_its_own_facts(logs):
    scene = booking.WORLD.scene(np.random.default_rng(5))
    with_learned_customer = LearnedCustomer.learn(logs)(scene)
    turns = (scene.briefing, Turn("user", "Hi"), Turn("assistant", "What is your name?"))
    assert scene.intent.name in with_learned_customer.next_message(turns, rng())
    assert f"${scene.intent.wishes['price']}" in with_learned_customer.next_message(
        (*turns[:2], Turn("assistant", "What is your budget?")), rng()
    )


def test_self_play_with_a_learned_customer_ranks_sellers(sellers, logs):
    customer = LearnedCustomer.learn(logs)
    held = [
        one
        for name, agent in sellers.items()
        for one in play_in_world(booking.WORLD, agent, name=name, dialogues=40, seed=1, user=customer)
    ]
    truth = [
        np.mean([booking.WORLD.truth(agent, np.random.default_rng([9, number]))[0] for number in range(200)])
        for agent in sellers.values()
    ]
    rated = encode(whole(logs, {}), rating="reward")
    estimator = SelfPlay(model="hashing", played=episodes_by_agent(held, "reward"))
    said = [estimator.estimate(rated, name, rng=rng()).value for name in sellers]
    assert np.corrcoef(said, truth)[0, 1] > 0.9
    again = list(
        play_in_world(
            booking.WORLD, sellers[next(iter(sellers))], name="x", dialogues=2, seed=1, user=customer
        )
    )
    same = list(
        play_in_world(
            booking.WORLD, sellers[next(iter(sellers))], name="x", dialogues=2, seed=1, user=customer
        )
    )
    assert again == same


def test_self_play_in_the_task_world_fills_placeholders_as_the_world_does():
    def policy(turns, rng, /):
        return Reply("[name] has [phone], [address] and [reference].")

    held = list(play_in_world(task.WORLD, policy, name="policy", dialogues=3, seed=0))
    assert not any("[" in turn.text for one in held for turn in one.turns)


def test_a_log_without_customer_turns_is_an_error():
    with pytest.raises(DataError, match="there is nothing to learn from"):
        LearnedCustomer.learn([Dialogue("1", "a", (Turn("assistant", "hi"),))])
