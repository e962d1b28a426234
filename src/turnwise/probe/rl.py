"""The paper's attack: advantage actor-critic on a language model, with the metric as the reward.

The paper's Algorithm 1 fits Q(c, r) with a c' and r' that it does not define; a reply ends its episode, so
there is nothing after it, and we read Q as a value baseline V(c): the advantage is R(c, r) - V(c). It has no
control against collapse; `kl` (to the untuned model) and `entropy` are options here, and a loss that is not
a number ends a repetition instead of spoiling it. Training is on one half of the contexts and the reward is
tracked on the other.
"""

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from turnwise.agents.language_model import LanguageModelAgent
from turnwise.probe.context import Context
from turnwise.probe.naming import Named, named
from turnwise.probe.policy import Policy
from turnwise.probe.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """15 epochs of 500 updates and 10 repetitions are the paper's; the rest it does not state."""

    epochs: int = 15
    updates: int = 500  # an epoch
    batch: int = 16
    learning_rate: float = 1e-5
    value_rate: float = 1e-3
    kl: float = 0.0
    entropy: float = 0.0
    clip: float = 1.0  # norm of the gradient
    repetitions: int = 1


@dataclass(frozen=True, slots=True)
class Curves:
    """One value an epoch, the untuned model first (the paper's Figure 2)."""

    reward: list[float] = field(default_factory=list)  # on test contexts
    train_reward: list[float] = field(default_factory=list)
    lm_loss: list[float] = field(default_factory=list)  # of people's replies, nats a token
    entropy: list[float] = field(default_factory=list)
    response_frequency: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a repetition converged to."""

    repetition: int
    curves: Curves
    named: Named
    replies: dict[str, str]  # context -> the reply of the best epoch
    stopped: str | None  # why it ended early

    @property
    def best(self) -> float:
        return max(self.curves.reward)


def tune(
    agent: LanguageModelAgent,
    target: Target,
    train_on: Sequence[Context],
    test_on: Sequence[Context],
    *,
    settings: Settings,
    seed: int,
    report: Callable[[str], None] = lambda _: None,
) -> list[Tuned]:
    """Every repetition, the one with the highest test reward first."""
    found = []
    for repetition in range(settings.repetitions):
        torch.manual_seed(seed + repetition)
        policy = Policy(copy.deepcopy(agent))
        reference = copy.deepcopy(policy.model).eval().requires_grad_(False) if settings.kl else None
        run = _Run(
            policy, reference, target, settings, np.random.default_rng(seed + repetition), repetition, report
        )
        found.append(run.tuned(train_on, test_on))
    return sorted(found, key=lambda one: -one.best)


@dataclass(slots=True)
class _Run:
    policy: Policy
    reference: torch.nn.Module | None
    target: Target
    settings: Settings
    rng: np.random.Generator
    repetition: int
    report: Callable[[str], None]

    def tuned(self, train_on: Sequence[Context], test_on: Sequence[Context]) -> Tuned:
        curves, best, kept, stopped = Curves(), -np.inf, {}, None
        generator = torch.Generator().manual_seed(int(self.rng.integers(2**31)))
        optimiser = torch.optim.AdamW(
            [
                {"params": self.policy.model.parameters(), "lr": self.settings.learning_rate},
                {"params": self.policy.head.parameters(), "lr": self.settings.value_rate},
            ]
        )
        for epoch in range(self.settings.epochs + 1):
            rewards = []
            for _ in range(self.settings.updates if epoch else 0):
                chosen = self.rng.choice(len(train_on), self.settings.batch)
                reward = self._update([train_on[place] for place in chosen], optimiser, generator)
                if reward is None:
                    stopped = f"the loss was not a number in epoch {epoch}"
                    break
                rewards.append(reward)
            if stopped:
                break
            replies = self._tested(test_on, curves, rewards, generator)
            if curves.reward[-1] > best:
                best, kept = curves.reward[-1], replies
            self.report(
                f"repetition {self.repetition}, epoch {epoch}: reward {curves.reward[-1]:.3f}, "
                f"most frequent reply {curves.response_frequency[-1]:.0%}"
            )
        texts = [context.whole for context in test_on]
        strategy = named(texts, [kept[context.item.id] for context in test_on])
        return Tuned(self.repetition, curves, strategy, kept, stopped)

    def _update(
        self, contexts: list[Context], optimiser: torch.optim.Optimizer, generator: torch.Generator
    ) -> float | None:
        drawn = self.policy.draw(contexts, generator)
        scores = torch.tensor(self.target.scores(list(zip(contexts, drawn.texts, strict=True))))
        known = ~scores.isnan()
        if not known.any():
            return float("nan")
        self.policy.train()
        told = self.policy.judge(contexts, drawn.tokens)
        reward = scores.nan_to_num().float().to(told.value.device)
        weight = known.float().to(reward.device)
        advantage = (reward - told.value).detach()
        loss = -(advantage * told.log_prob / told.length * weight).mean()
        loss = (
            loss + ((told.value - reward) ** 2 * weight).mean() - self.settings.entropy * told.entropy.mean()
        )
        if self.reference is not None:
            loss = loss + self.settings.kl * self._distance(
                contexts, drawn.tokens, told.per_token, told.length
            )
        if not torch.isfinite(loss):
            return None
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.settings.clip)
        if not torch.isfinite(norm):
            return None
        optimiser.step()
        return float(scores[known].mean())

    def _distance(
        self, contexts: list[Context], tokens: torch.Tensor, per_token: torch.Tensor, length: torch.Tensor
    ) -> torch.Tensor:
        """Schulman's estimate of KL(policy || untuned model) a token, never negative."""
        own, self.policy.model = self.policy.model, self.reference
        try:
            with torch.no_grad():
                before = self.policy.judge(contexts, tokens).per_token
        finally:
            self.policy.model = own
        ratio = (before - per_token) * (tokens[:, : before.shape[1]] >= 0)
        return ((ratio.exp() - 1 - ratio).sum(dim=1) / length).mean()

    @torch.no_grad()
    def _tested(
        self, test_on: Sequence[Context], curves: Curves, rewards: list[float], generator: torch.Generator
    ) -> dict[str, str]:
        """Adds one point to every curve; returns what was answered."""
        replies: dict[str, str] = {}
        losses, entropies = [], []
        for first in range(0, len(test_on), 32):
            some = list(test_on[first : first + 32])
            drawn = self.policy.draw(some, generator, temperature=0.7)
            replies.update(zip((one.item.id for one in some), drawn.texts, strict=True))
            person = self.policy.judge(some, self.policy.encoded([one.human for one in some]))
            losses.append(float(-(person.log_prob / person.length).mean()))
            entropies.append(float(self.policy.judge(some, drawn.tokens).entropy.mean()))
        scores = self.target.scores([(one, replies[one.item.id]) for one in test_on])
        curves.reward.append(float(np.nanmean(scores)))
        curves.train_reward.append(float(np.mean(rewards)) if rewards else float("nan"))
        curves.lm_loss.append(float(np.mean(losses)))
        curves.entropy.append(float(np.mean(entropies)))
        curves.response_frequency.append(Counter(replies.values()).most_common(1)[0][1] / len(replies))
        return replies
