"""A tiny language model learns to please a planted metric, and what it settles on is named."""

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.attacks.planted import scorer, talks
from tests.tiny_models import write_bart, write_llama
from turnwise.agents.language_model import LanguageModelAgent
from turnwise.attacks.policy import Policy
from turnwise.attacks.rl import Settings, TunedPolicy, tune
from turnwise.attacks.target import Target
from turnwise.types import Floats, Item

TALKS = talks(24)


def loves_x(item: Item) -> float:
    return item.reply.count("x") / 8


def agent_of(folder: Path, kind: str = "llama") -> LanguageModelAgent:
    write = {"llama": write_llama, "bart": write_bart}[kind]
    return LanguageModelAgent(write(folder), kind, longest=8, device="cpu", precision="fp32")


def tuned(agent: LanguageModelAgent, metric=loves_x, *, budget: int = 100_000, **settings) -> TunedPolicy:  # type: ignore[no-untyped-def]
    defaults = {"epochs": 3, "updates": 12, "batch": 24, "learning_rate": 0.02, "kl": 0.0, "repetitions": 1}
    return tune(
        agent, Target(scorer(metric), budget), train_on=TALKS[:12], track_on=TALKS[12:18], reply_on=TALKS[18:],
        settings=Settings(**defaults | settings), seed=1,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["llama", "bart"])
def test_the_reward_rises_within_a_few_updates(tmp_path: Path, kind: str) -> None:
    found = tuned(agent_of(tmp_path, kind))
    assert found.stopped is None
    assert found.curves.reward[-1] > found.curves.reward[0] + 0.3
    assert found.best_epoch > 0
    assert set(found.replies) == {context.item.id for context in TALKS[12:]}
    assert all("x" in reply for reply in found.replies.values())
    lengths = {len(getattr(found.curves, name)) for name in found.curves.__slots__}
    assert lengths == {4}


def test_a_collapse_shows_in_entropy_and_response_frequency(tmp_path: Path) -> None:
    curves = tuned(agent_of(tmp_path)).curves
    assert curves.entropy[-1] < curves.entropy[0]
    assert curves.response_frequency[-1] > 0.7


def test_the_kl_term_keeps_the_policy_near_the_untuned_model(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    free, held = tuned(agent, kl=1e-6), tuned(agent, kl=20.0)
    assert held.curves.kl[-1] < 0.2 * free.curves.kl[-1]
    assert held.curves.reward[-1] < free.curves.reward[-1]


def test_the_given_model_is_not_modified(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    before = {name: value.clone() for name, value in agent.model.state_dict().items()}
    tuned(agent, epochs=1, updates=3)
    assert all(torch.equal(value, before[name]) for name, value in agent.model.state_dict().items())


def test_a_loss_that_is_not_finite_ends_the_repetition_and_keeps_the_best_epoch(tmp_path: Path) -> None:
    found = tuned(agent_of(tmp_path), learning_rate=1e30)
    assert "not a number" in str(found.stopped)
    assert found.best_epoch == 0
    assert np.isfinite(found.reward)
    assert len(found.replies) == 12


def test_a_spent_budget_ends_the_repetition(tmp_path: Path) -> None:
    found = tuned(agent_of(tmp_path), budget=60)
    assert "budget" in str(found.stopped)


def test_the_number_of_calls_in_the_settings_is_enough_for_all_epochs(tmp_path: Path) -> None:
    settings = Settings(epochs=2, updates=3, batch=8, learning_rate=1e-9, kl=0.0, repetitions=1)
    target = Target(scorer(loves_x), settings.calls(12, 6))
    found = tune(
        agent_of(tmp_path), target, train_on=TALKS[:12], track_on=TALKS[12:18], reply_on=TALKS[18:],
        settings=settings, seed=1,
    )  # fmt: skip
    assert found.stopped is None
    assert len(found.curves.reward) == 3
    assert (
        target.calls > target.budget - 12 - 12
    )  # people's replies are paid for; untuned, it says the same again


def test_a_metric_that_stops_responding_ends_the_repetition_with_its_best_epoch(tmp_path: Path) -> None:
    go, asked = threading.Event(), Counter[str]()

    def tiring(items: Sequence[Item]) -> Floats:
        asked.update(item.reply for item in items)
        if asked.total() > 40:
            go.wait()
        return np.array([loves_x(item) for item in items])

    target = Target(tiring, 1000, timeout=0.2)
    found = tune(
        agent_of(tmp_path), target, train_on=TALKS[:12], track_on=TALKS[12:18], reply_on=TALKS[18:],
        settings=Settings(epochs=3, updates=4, batch=8, kl=0.0, repetitions=1), seed=1,
    )  # fmt: skip
    go.set()
    assert "no score" in str(found.stopped)
    assert len(found.replies) == 12


def test_replies_without_a_score_do_not_train_the_policy(tmp_path: Path) -> None:
    found = tuned(
        agent_of(tmp_path), lambda item: 1.0 if item.reply in {c.human for c in TALKS} else float("nan"),
        epochs=1, updates=2,
    )  # fmt: skip
    assert found.stopped is None
    assert found.curves.train_reward == [None, None]


def test_the_same_seed_finds_the_same(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    assert tuned(agent, epochs=1, updates=3) == tuned(agent, epochs=1, updates=3)


@pytest.mark.parametrize("kind", ["llama", "bart"])
def test_padding_does_not_change_the_evaluation_of_a_reply(tmp_path: Path, kind: str) -> None:
    policy = Policy(agent_of(tmp_path, kind))
    contexts = sorted(TALKS, key=lambda one: len(one.full_text))
    pair = [contexts[0], contexts[-1]]
    replies = policy.encode_replies(["the cat", "my dog and your guitar"])
    with torch.no_grad():
        together = policy.evaluate(pair, replies).log_prob
        alone = torch.cat(
            [policy.evaluate([one], replies[place : place + 1]).log_prob for place, one in enumerate(pair)]
        )
    assert torch.allclose(together, alone, atol=1e-4)
