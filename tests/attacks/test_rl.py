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
from turnwise.attacks.rl import Settings, TunedPolicy, kl_loss, tune
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


@pytest.mark.slow
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


@pytest.mark.slow
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


ARM_REWARDS = torch.tensor([1.0, 0.6, 0.3, 0.0, -0.5, -1.0])
UNTUNED = torch.log_softmax(torch.tensor([-1.0, 0.5, 0.0, 1.5, 0.3, -0.7]), dim=0)


def test_the_kl_term_leads_a_bandit_to_the_best_policy() -> None:
    """One token of six: the best policy under the penalty is proportional to untuned * exp(reward / weight)."""
    weight = 0.5
    logits = torch.zeros(6, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=0.05)
    generator = torch.Generator().manual_seed(0)
    for _ in range(1500):
        log_probs = torch.log_softmax(logits, dim=0)
        drawn = torch.multinomial(log_probs.detach().exp(), 256, replacement=True, generator=generator)
        exact = (log_probs.exp() * (log_probs - UNTUNED)).sum().expand(256, 1)
        reward = ARM_REWARDS[drawn] - ARM_REWARDS[drawn].mean()
        loss = -(reward * log_probs[drawn]).mean() + weight * kl_loss(log_probs[drawn].unsqueeze(1), exact)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def objective(log_probs: torch.Tensor) -> float:
        return float((log_probs.exp() * (ARM_REWARDS - weight * (log_probs - UNTUNED))).sum())

    best = torch.log_softmax(UNTUNED + ARM_REWARDS / weight, dim=0)
    reached = torch.log_softmax(logits.detach(), dim=0)
    assert objective(reached) == pytest.approx(objective(best), abs=2e-3)
    assert torch.allclose(reached.exp(), best.exp(), atol=0.02)


def test_the_gradient_of_the_kl_term_is_that_of_the_divergence_of_whole_replies() -> None:
    """Replies of two tokens out of three, all of them enumerated: the second's distribution depends on the first."""
    generator = torch.Generator().manual_seed(1)
    first = torch.randn(3, generator=generator, dtype=torch.float64).requires_grad_()
    second = torch.randn(3, 3, generator=generator, dtype=torch.float64).requires_grad_()
    before = [
        torch.log_softmax(torch.randn(one.shape, generator=generator, dtype=torch.float64), dim=-1)
        for one in (first, second)
    ]
    one, two = torch.log_softmax(first, dim=-1), torch.log_softmax(second, dim=-1)
    of_first = (one.exp() * (one - before[0])).sum()
    of_second = (two.exp() * (two - before[1])).sum(dim=-1)
    whole = of_first + (one.exp() * of_second).sum()
    wanted = torch.autograd.grad(whole, (first, second), retain_graph=True)
    expected = torch.zeros((), dtype=torch.float64)
    replies = [(i, j) for i in range(3) for j in range(3)]
    for i, j in replies:
        for k, m in replies:  # a batch of two: each is the other's baseline
            probability = (one[i] + two[i, j] + one[k] + two[k, m]).detach().exp()
            per_token = torch.stack([torch.stack([one[i], two[i, j]]), torch.stack([one[k], two[k, m]])])
            divergence = torch.stack(
                [torch.stack([of_first, of_second[i]]), torch.stack([of_first, of_second[k]])]
            )
            expected = expected + probability * kl_loss(per_token, divergence)
    found = torch.autograd.grad(expected, (first, second))
    for got, right in zip(found, wanted, strict=True):
        assert torch.allclose(got, right, atol=1e-12)
