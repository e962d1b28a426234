"""The paper's attack (Deriu et al.): advantage actor-critic on a language model, with the metric as the reward.

The paper's Algorithm 1 fits Q(c, r) with a c' and r' that it does not define. A reply ends its episode, so there is no
next state, and we use a value baseline V(c): the advantage is R(c, r) - V(c). The paper has no regularisation against
collapse; here `kl` (to the untuned model) and `entropy` are options, and a loss that is not finite ends a repetition.
The reward is in standard deviations of people's scores, so that one learning rate suits every metric. Curves are in the
metric's own unit, negated if lower is better.

Training, choice of the epoch and the final test use three different sets of contexts. The paper uses two, and chooses
the epoch on the set that it reports.
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
from turnwise.attacks.target import BudgetSpent, Hangs, Target

BATCH = 64  # contexts in one batch when replies are generated and evaluated without training


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the training. Epochs, updates and repetitions are the paper's, which does not state the others."""

    epochs: int = 15
    updates: int = 500  # per epoch
    batch: int = 16
    learning_rate: float = 1e-5
    value_rate: float = 1e-2  # learning rate of the value head
    kl: float = 0.05  # weight of the KL divergence to the untuned model
    entropy: float = 0.0  # weight of the entropy bonus
    clip: float = 1.0  # maximum norm of the gradient
    repetitions: int = 10
    minutes: float | None = None  # time limit of a repetition

    def calls(self, trained: int, tracked: int) -> int:
        """Maximum number of metric calls of a repetition, with this many contexts for training and for tracking.

        People's replies are scored in the training contexts, and the policy's in the tracking contexts after each epoch
        and before the first.
        """
        return trained + self.epochs * self.updates * self.batch + (self.epochs + 1) * tracked


@dataclass(frozen=True, slots=True)
class Curves:
    """One value for each epoch, starting with the untuned model (the paper's Figure 2)."""

    reward: list[float] = field(default_factory=list)  # on the tracking contexts
    train_reward: list[float | None] = field(default_factory=list)  # None for the untuned model
    lm_loss: list[float] = field(default_factory=list)  # loss on people's replies, in nats per token
    entropy: list[float] = field(default_factory=list)  # entropy of the policy's tokens, in nats
    kl: list[float | None] = field(default_factory=list)  # to the untuned model, in nats per token
    response_frequency: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TunedPolicy:
    """The result of one repetition; `replies` has the best epoch's reply by id of the context.

    Epoch 0 is the untuned model; `stopped` says why the repetition ended early.
    """

    repetition: int
    curves: Curves
    best_epoch: int  # by the reward on the tracking contexts; 0 is the untuned model
    replies: dict[str, str]  # context -> reply of the best epoch, for tracking and test contexts
    stopped: str | None  # why the repetition ended early

    @property
    def reward(self) -> float:
        """The mean score of the best epoch's replies on the tracking contexts."""
        return self.curves.reward[self.best_epoch]


def tune(
    agent: LanguageModelAgent,
    target: Target,
    *,
    train_on: Sequence[Context],
    track_on: Sequence[Context],
    reply_on: Sequence[Context],
    settings: Settings,
    seed: int,
    repetition: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> TunedPolicy:
    """Run one repetition on a copy of the agent; `repetition` counts from 0 and also seeds it.

    The epoch is chosen by the reward on `track_on`; its policy also replies in the contexts `reply_on`. The agent
    itself is not changed.
    """
    torch.manual_seed(seed + repetition)
    policy = Policy(copy.deepcopy(agent))
    reference = copy.deepcopy(policy.model).requires_grad_(False) if settings.kl else None
    people = target.scores([(context, context.human) for context in train_on])
    known = people[~np.isnan(people)]
    spread = float(known.std()) if len(known) else 0.0
    run = _PolicyTuning(
        policy,
        reference,
        target,
        settings,
        centre=float(known.mean()) if len(known) else 0.0,
        spread=spread if spread > 0 else 1.0,
        rng=np.random.default_rng([seed, repetition]),
        generator=torch.Generator().manual_seed(1000 * seed + repetition),
    )
    return run.run(train_on, track_on, reply_on, repetition, report)


@dataclass(slots=True)
class _PolicyTuning:
    """The state of one repetition; `centre` and `spread` are mean and standard deviation of people's scores."""

    policy: Policy
    reference: torch.nn.Module | None
    target: Target
    settings: Settings
    centre: float  # mean of people's scores
    spread: float  # standard deviation of people's scores
    rng: np.random.Generator
    generator: torch.Generator

    def run(
        self,
        train_on: Sequence[Context],
        track_on: Sequence[Context],
        reply_on: Sequence[Context],
        repetition: int,
        report: Callable[[str], None],
    ) -> TunedPolicy:
        """Train epoch by epoch, and return the curves and the replies of the best epoch.

        Ends early when the calls or the time are used up, the loss is not finite, or the metric hangs; if it hangs
        before any epoch, `Hangs` is raised. `BudgetSpent` in the first tracking leaves no replies.
        """
        curves = Curves()
        best_replies, best, stopped = dict[str, str](), 0, None
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
                updates_done, stopped = self._epoch(
                    train_on, optimiser, updates=self.settings.updates if epoch else 0
                )
                if stopped is None:
                    replies = self._track(track_on, curves, updates_done)
            except BudgetSpent:
                stopped = "the budget of metric calls was used up"
            except Hangs as error:
                if epoch == 0:  # there is no policy yet to end with
                    raise
                stopped = str(error)
            if stopped is not None:
                stopped = f"{stopped} in epoch {epoch}"
                break
            if epoch == 0 or curves.reward[-1] > curves.reward[best]:
                best_replies, best = replies | self._greedy_replies(reply_on), epoch
            report(
                f"repetition {repetition + 1}, epoch {epoch}: reward {curves.reward[-1]:.3f}, "
                f"most frequent reply {curves.response_frequency[-1]:.0%}"
            )
            if monotonic() > until:
                stopped = f"its time was up after epoch {epoch}"
                break
        return TunedPolicy(repetition, curves, best, best_replies, stopped)

    def _epoch(
        self, train_on: Sequence[Context], optimiser: torch.optim.Optimizer, *, updates: int
    ) -> tuple[list[tuple[float, float]], str | None]:
        """Train for `updates` updates; returns (mean score, KL divergence) of each, and why it ended early or None."""
        updates_done: list[tuple[float, float]] = []
        for _ in range(updates):
            chosen = self.rng.choice(len(train_on), self.settings.batch)
            found = self._update([train_on[index] for index in chosen], optimiser)
            if found is None:
                return updates_done, "the loss was not a number"
            updates_done.append(found)
        return updates_done, None

    def _update(
        self, contexts: list[Context], optimiser: torch.optim.Optimizer
    ) -> tuple[float, float] | None:
        """One update of the policy on sampled replies; returns (mean score, KL divergence per token).

        None if the loss or its gradient is not finite. Both are NaN, and nothing is updated, if no reply has a score;
        the divergence is NaN without a reference model.
        """
        drawn = self.policy.sample_replies(contexts, self.generator)
        scores = torch.tensor(self.target.scores(list(zip(contexts, drawn.texts, strict=True))))
        known = ~scores.isnan()
        if not known.any():
            return float("nan"), float("nan")  # no scores: skip the update
        evaluation = self.policy.evaluate(contexts, drawn.tokens, self.reference)
        mean_length = evaluation.length.float().mean()
        weight = known.to(evaluation.value)
        reward = ((scores - self.centre) / self.spread).nan_to_num().to(evaluation.value)
        advantage = (reward - evaluation.value).detach()
        # Divided by the mean length, because dividing by each reply's own length would favour long bad replies.
        loss = -(advantage * evaluation.log_prob * weight).mean() / mean_length
        loss = loss + ((evaluation.value - reward) ** 2 * weight).mean()
        loss = loss - self.settings.entropy * evaluation.entropy.mean()
        divergence = float("nan")
        if evaluation.divergence is not None:
            loss = (
                loss + self.settings.kl * kl_loss(evaluation.per_token, evaluation.divergence) / mean_length
            )
            divergence = float(evaluation.divergence.detach().sum(dim=1).mean() / mean_length)
        if not torch.isfinite(loss):
            return None
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.settings.clip)
        if not torch.isfinite(norm):
            return None
        optimiser.step()
        return float(scores[known].mean()), divergence

    def _greedy_replies(self, contexts: Sequence[Context]) -> dict[str, str]:
        """The policy's replies at temperature 0, by id of the context."""
        replies: dict[str, str] = {}
        for first in range(0, len(contexts), BATCH):
            some = contexts[first : first + BATCH]
            drawn = self.policy.sample_replies(some, self.generator, temperature=0)
            replies.update(zip((one.item.id for one in some), drawn.texts, strict=True))
        return replies

    @torch.no_grad()
    def _track(
        self, contexts: Sequence[Context], curves: Curves, updates_done: Sequence[tuple[float, float]]
    ) -> dict[str, str]:
        """Add one point to every curve, and return the greedy replies in these contexts by id.

        `updates_done` has (reward, divergence) of the epoch's updates.
        """
        replies = self._greedy_replies(contexts)
        losses: list[float] = []
        entropies: list[float] = []
        for first in range(0, len(contexts), BATCH):
            some = contexts[first : first + BATCH]
            human = self.policy.evaluate(some, self.policy.encode_replies([one.human for one in some]))
            own = self.policy.evaluate(
                some, self.policy.encode_replies([replies[one.item.id] for one in some])
            )
            losses += (-human.log_prob / human.length).tolist()
            entropies += own.entropy.tolist()
        curves.reward.append(self.target.mean([(one, replies[one.item.id]) for one in contexts]))
        curves.train_reward.append(_mean_or_none([reward for reward, _ in updates_done]))
        curves.kl.append(_mean_or_none([divergence for _, divergence in updates_done]))
        curves.lm_loss.append(float(np.mean(losses)))
        curves.entropy.append(float(np.mean(entropies)))
        curves.response_frequency.append(Counter(replies.values()).most_common(1)[0][1] / len(replies))
        return replies


def kl_loss(per_token: torch.Tensor, divergence: torch.Tensor) -> torch.Tensor:
    """A loss whose expected gradient is that of KL(policy || reference) of whole replies.

    `divergence` (b, longest) has the exact divergence of each token's distribution, given the tokens before it, and
    `per_token` the policy's log probabilities of the tokens. The first changes with the distributions directly; the
    choice of a token also changes which divergences follow. That second part is a policy gradient with the divergence
    of the later tokens as its cost, and the mean of the other replies as its baseline.

    The gradient of a non-negative estimator on the sampled tokens alone (Schulman's k3) would be that of
    KL(reference || policy): its expectation has the right value and the wrong slope.
    """
    spent = divergence.detach()
    later = spent.flip(1).cumsum(1).flip(1) - spent
    if len(later) > 1:
        later = later - (later.sum(dim=0) - later) / (len(later) - 1)
    return (divergence + per_token * later).sum(dim=1).mean()


def _mean_or_none(values: Sequence[float]) -> float | None:
    """The mean of the values that are not NaN; None if there is none."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else None
