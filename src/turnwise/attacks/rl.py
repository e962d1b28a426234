"""The paper's attack: advantage actor-critic on a language model, with the metric as the reward.

The paper's Algorithm 1 fits Q(c, r) with a c' and r' that it does not define; a reply ends its episode, so
there is nothing after it, and we read Q as a value baseline V(c): the advantage is R(c, r) - V(c). It has no
control against collapse; `kl` (to the untuned model) and `entropy` are options here, and a loss that is not
a number ends a repetition instead of spoiling it. The reward is in standard deviations of people's scores, so
that one learning rate does for every metric; curves are in the metric's own unit, turned so that more is better.

Training, choice of the epoch and verdict are on three different sets of contexts; the paper has two, and chooses
on the one that it reports.
"""

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np
import torch

from turnwise.agents.language_model import LanguageModelAgent
from turnwise.attacks.context import Context
from turnwise.attacks.policy import Policy
from turnwise.attacks.target import Hangs, Spent, Target

AT_ONCE = 64  # contexts answered in a batch when the policy is looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The paper has 15 epochs of 500 updates and 10 repetitions, and does not state the rest."""

    epochs: int = 15
    updates: int = 500  # an epoch
    batch: int = 16
    learning_rate: float = 1e-5
    value_rate: float = 1e-2
    kl: float = 0.05
    entropy: float = 0.0
    clip: float = 1.0  # norm of the gradient
    repetitions: int = 10
    minutes: float | None = None  # after which a repetition ends with what it has; None: never

    def calls(self, trained: int, tracked: int) -> int:
        """Metric calls of a repetition at most, with so many contexts to train and to track the reward on.

        People's replies are scored where it is trained, and the policy's where it is tracked, untuned too.
        """
        return trained + self.epochs * self.updates * self.batch + (self.epochs + 1) * tracked


@dataclass(frozen=True, slots=True)
class Curves:
    """One value an epoch, the untuned model first (the paper's Figure 2)."""

    reward: list[float] = field(default_factory=list)  # on contexts that are not trained on
    train_reward: list[float | None] = field(default_factory=list)  # None: nothing was trained on yet
    lm_loss: list[float] = field(default_factory=list)  # of people's replies, nats a token
    entropy: list[float] = field(default_factory=list)  # of the policy's words, nats
    kl: list[float | None] = field(default_factory=list)  # to the untuned model, nats a token
    response_frequency: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a repetition came to."""

    repetition: int
    curves: Curves
    best_epoch: int  # by the tracked reward; 0 is the untuned model
    replies: dict[str, str]  # context -> the best epoch's reply, on tracked and judged contexts
    stopped: str | None  # why it ended early

    @property
    def reward(self) -> float:
        return self.curves.reward[self.best_epoch]


def tune(
    agent: LanguageModelAgent,
    target: Target,
    *,
    train_on: Sequence[Context],
    track_on: Sequence[Context],
    answer: Sequence[Context],
    settings: Settings,
    seed: int,
    repetition: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> Tuned:
    """One repetition; the best epoch's policy answers `answer` too, which it is not judged by here."""
    torch.manual_seed(seed + repetition)
    policy = Policy(copy.deepcopy(agent))
    reference = copy.deepcopy(policy.model).requires_grad_(False) if settings.kl else None
    people = target.scores([(context, context.human) for context in train_on])
    known = people[~np.isnan(people)]
    spread = float(known.std()) if len(known) else 0.0
    run = _Run(
        policy,
        reference,
        target,
        settings,
        centre=float(known.mean()) if len(known) else 0.0,
        spread=spread if spread > 0 else 1.0,
        rng=np.random.default_rng([seed, repetition]),
        chance=torch.Generator().manual_seed(1000 * seed + repetition),
    )
    return run.tuned(train_on, track_on, answer, repetition, report)


@dataclass(slots=True)
class _Run:
    policy: Policy
    reference: torch.nn.Module | None
    target: Target
    settings: Settings
    centre: float  # of people's scores
    spread: float
    rng: np.random.Generator
    chance: torch.Generator

    def tuned(
        self,
        train_on: Sequence[Context],
        track_on: Sequence[Context],
        answer: Sequence[Context],
        repetition: int,
        report: Callable[[str], None],
    ) -> Tuned:
        curves = Curves()
        kept, best, stopped = dict[str, str](), 0, None
        minutes = self.settings.minutes
        until = np.inf if minutes is None else monotonic() + 60 * minutes
        optimiser = torch.optim.AdamW(
            [
                {"params": self.policy.model.parameters(), "lr": self.settings.learning_rate},
                {"params": self.policy.head.parameters(), "lr": self.settings.value_rate},
            ],
            weight_decay=0.0,
        )
        for epoch in range(self.settings.epochs + 1):
            try:
                seen, stopped = self._epoch(
                    train_on, optimiser, updates=self.settings.updates if epoch else 0
                )
                if stopped is None:
                    replies = self._tracked(track_on, curves, seen)
            except Spent:
                stopped = "the budget of metric calls was used up"
            except Hangs as error:
                if epoch == 0:  # there is no policy yet to end with
                    raise
                stopped = str(error)
            if stopped is not None:
                stopped = f"{stopped} in epoch {epoch}"
                break
            if epoch == 0 or curves.reward[-1] > curves.reward[best]:
                kept, best = replies | self._answers(answer), epoch
            report(
                f"repetition {repetition + 1}, epoch {epoch}: reward {curves.reward[-1]:.3f}, "
                f"most frequent reply {curves.response_frequency[-1]:.0%}"
            )
            if monotonic() > until:
                stopped = f"its time was up after epoch {epoch}"
                break
        return Tuned(repetition, curves, best, kept, stopped)

    def _epoch(
        self, train_on: Sequence[Context], optimiser: torch.optim.Optimizer, *, updates: int
    ) -> tuple[list[tuple[float, float]], str | None]:
        """(reward, distance) of each update, and why it ended early."""
        seen: list[tuple[float, float]] = []
        for _ in range(updates):
            chosen = self.rng.choice(len(train_on), self.settings.batch)
            found = self._update([train_on[place] for place in chosen], optimiser)
            if found is None:
                return seen, "the loss was not a number"
            seen.append(found)
        return seen, None

    def _update(
        self, contexts: list[Context], optimiser: torch.optim.Optimizer
    ) -> tuple[float, float] | None:
        """One step; None where the loss or its gradient is not a number."""
        drawn = self.policy.draw(contexts, self.chance)
        scores = torch.tensor(self.target.scores(list(zip(contexts, drawn.texts, strict=True))))
        known = ~scores.isnan()
        if not known.any():
            return float("nan"), float("nan")  # nothing to learn from, and nothing spoilt
        told = self.policy.judge(contexts, drawn.tokens)
        weight = known.to(told.value)
        reward = ((scores - self.centre) / self.spread).nan_to_num().to(told.value)
        advantage = (reward - told.value).detach()
        # Over the mean length, not each reply's own: dividing by its own would pay for long bad replies.
        loss = -(advantage * told.log_prob * weight).mean() / told.length.float().mean()
        loss = loss + ((told.value - reward) ** 2 * weight).mean()
        loss = loss - self.settings.entropy * told.entropy.mean()
        distance = torch.tensor(float("nan"))
        if self.reference is not None:
            distance = self._distance(contexts, drawn.tokens, told.per_token, told.length)
            loss = loss + self.settings.kl * distance
        if not torch.isfinite(loss):
            return None
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.settings.clip)
        if not torch.isfinite(norm):
            return None
        optimiser.step()
        return float(scores[known].mean()), float(distance.detach())

    def _distance(
        self, contexts: list[Context], tokens: torch.Tensor, per_token: torch.Tensor, length: torch.Tensor
    ) -> torch.Tensor:
        """KL(policy || untuned model) a token, estimated from the drawn words and never negative (k3)."""
        own, self.policy.model = self.policy.model, self.reference
        try:
            with torch.no_grad():
                before = self.policy.judge(contexts, tokens).per_token
        finally:
            self.policy.model = own
        ratio = (before - per_token) * (tokens >= 0)
        return ((ratio.exp() - 1 - ratio).sum(dim=1) / length).mean()

    def _answers(self, contexts: Sequence[Context]) -> dict[str, str]:
        """The likeliest replies, so that what the policy has settled on shows."""
        replies: dict[str, str] = {}
        for first in range(0, len(contexts), AT_ONCE):
            some = contexts[first : first + AT_ONCE]
            drawn = self.policy.draw(some, self.chance, temperature=0)
            replies.update(zip((one.item.id for one in some), drawn.texts, strict=True))
        return replies

    @torch.no_grad()
    def _tracked(
        self, contexts: Sequence[Context], curves: Curves, seen: Sequence[tuple[float, float]]
    ) -> dict[str, str]:
        """Adds one point to every curve; returns what was answered."""
        replies = self._answers(contexts)
        losses: list[float] = []
        entropies: list[float] = []
        for first in range(0, len(contexts), AT_ONCE):
            some = contexts[first : first + AT_ONCE]
            person = self.policy.judge(some, self.policy.encoded([one.human for one in some]))
            own = self.policy.judge(some, self.policy.encoded([replies[one.item.id] for one in some]))
            losses += (-person.log_prob / person.length).tolist()
            entropies += own.entropy.tolist()
        curves.reward.append(self.target.mean([(one, replies[one.item.id]) for one in contexts]))
        curves.train_reward.append(_mean([reward for reward, _ in seen]))
        curves.kl.append(_mean([distance for _, distance in seen]))
        curves.lm_loss.append(float(np.mean(losses)))
        curves.entropy.append(float(np.mean(entropies)))
        curves.response_frequency.append(Counter(replies.values()).most_common(1)[0][1] / len(replies))
        return replies


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else None
