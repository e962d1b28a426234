"""The recurrent critic as published (Lubis et al. 2022, sections 4 and 5.2), with what the paper leaves open.

The input of a GRU over the turns is the user's words, belief state and goal, and an action; every earlier action is the
logged one. Fitted Q with soft updates of a target network; Q is the minimum of K dropout passes, in training and in the
estimate. Actions are words (with a reader of their own), binary acts, any encoder's vectors, or the latent points of a
trained LAVA model (`actions=FOLDER`).

From the paper: hidden size 500, sigmoid, learning rate .01, dropout .3, lambda .1 for latent actions and 0 for words,
100,000 sampled episodes. Not stated, and ours: gamma .9 (see `critic.critic`), K = 10, Adam, 32 episodes a step, a soft
update of .1. Smaller by default, for a CPU: hidden size 100, 12,800 episodes. Eq. 7 subtracts lambda KL from the loss,
where it has no gradient in the critic; here it is subtracted from the value of the next state, its stated purpose, and
not from the reported Q. The paper trains on 8,438 dialogues and values 1,000 others, the only ones with published
replies of systems: here each half is valued by the critic of the other half.
Intervals are, as in the paper, the spread of Q over first turns: they ignore the uncertainty of the training.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from turnwise.encode.neural.loading import default_device
from turnwise.errors import Refused, UsageError
from turnwise.estimators.critic.critic import ONTOLOGY, Critic
from turnwise.estimators.critic.evaluation import FEWEST, SystemValue
from turnwise.estimators.critic.features import Features
from turnwise.estimators.critic.words import WORDS
from turnwise.estimators.neural.actions import Points, points_of
from turnwise.estimators.neural.cards import CARDS
from turnwise.networks.hred.encoder import padded
from turnwise.networks.lava.critic import Batch, Shape
from turnwise.networks.lava.critic import Critic as Network
from turnwise.networks.lava.network import Gaussian, Reader, Sizes, copied, soft_update
from turnwise.networks.lava.words import Words
from turnwise.networks.training.loop import descend, run
from turnwise.types import Card, Episodes, Floats, Ints, RepliesAtPoints, Signature

LONGEST = 20  # largest number of words of a text; nine in ten replies have no more
COMMON = 3  # smallest number of occurrences of a word of the vocabulary


@dataclass(frozen=True)
class PaperCritic(Critic):
    """The estimator `critic-paper`: the recurrent critic as published, trained anew for every system."""

    card: ClassVar[Card] = CARDS["critic-paper"]
    nested: ClassVar[bool] = False

    negatives: float = 0.0  # fixed: this critic has no negatives
    drawn: int = 12800  # sampled episodes; 100,000 in the paper
    batch: int = 32
    hidden: int = 100  # 500 in the paper
    words: int = 32  # width of the reader of words
    passes: int = 10  # K
    dropout: float = 0.3
    rate: float = 0.01
    follow: float = 0.1
    penalty: float | None = None  # lambda; None: 0 with words, .1 with vectors
    folds: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.drawn, self.batch, self.hidden, self.words, self.passes) < 1 or self.folds < 2:
            raise UsageError(
                "critic-paper: drawn, batch, hidden, words and passes are 1 or more, folds 2 or more"
            )
        if self.negatives or self.pessimism:
            raise UsageError("critic-paper has no `negatives` and no `pessimism`: `passes` is its pessimism")

    @property
    def signature(self) -> Signature:
        """The settings that this critic uses, with `auto` resolved, and the signature of the encoder of actions.

        The reward `auto` counts as `rating`.
        """
        passed_over = ["facts", "fewest", "ridge", "negatives", "pessimism", "reward", "gamma"]
        passed_over += ["ontology"] if self.ontology == ONTOLOGY else []
        settings = {**vars(self), "form": self.text_form}
        own = [(name, str(value)) for name, value in settings.items() if name not in passed_over]
        reward = "rating" if self.reward == "auto" else self.reward
        return Signature(
            "critic-paper",
            (("reward", reward), ("gamma", f"{self.discount:g}"), *own),
            self._encoder_signature,
        )

    @property
    def weight(self) -> float:
        """Lambda, the weight of the KL penalty: `penalty`, or its default 0 with words and .1 with vectors."""
        return (0.0 if self.actions == WORDS else 0.1) if self.penalty is None else self.penalty

    def evaluation(self, episodes: Episodes, *, seed: int = 0) -> "Training":  # type: ignore[override]
        """The trainings on these dialogues: `value` trains anew for every system.

        Raises `Refused` with fewer than 30.
        """
        if len(episodes.dialogues) < FEWEST:
            raise Refused(
                "a critic needs {needed} dialogues to learn from, and there are {n}",
                "too-few-dialogues",
                needed=FEWEST,
                n=len(episodes.dialogues),
            )
        return Training(Features(episodes, self.facts), self, seed)


@dataclass(frozen=True)
class Training:
    """The data of the recurrent critic; `value` trains one network for each fold."""

    features: Features
    critic: PaperCritic
    seed: int
    device: torch.device = field(default_factory=lambda: torch.device(default_device()))

    @property
    def episodes(self) -> Episodes:
        """The episodes of the features."""
        return self.features.episodes

    @cached_property
    def _scale(self) -> float:
        """The largest return of a dialogue, by which rewards are divided.

        Refused with negative rewards or none above 0.
        """
        reward = self.features.reward
        if reward.min() < 0 or not reward.max() > 0:
            raise Refused(
                "the published critic ends in a sigmoid: rewards must be 0 or more, and some above 0",
                "rewards-not-positive",
            )
        return float(np.add.reduceat(reward, self.episodes.first[:-1]).max())

    @cached_property
    def _vocabulary(self) -> Words:
        """The words that occur at least `COMMON` times in the logged replies and user turns."""
        said = [*self.episodes.logged.text[:, 0], *self.episodes.user[self.episodes.user >= 0]]
        return Words.learn((self.episodes.texts[index] for index in said), fewest=COMMON)

    @cached_property
    def _tokens(self) -> Tensor:
        """(m + 1, w) tokens of the texts; the last row is a missing text."""
        texts = (*self.episodes.texts, "")
        return padded([self._vocabulary.encode(text, longest=LONGEST) for text in texts], self.device)

    @cached_property
    def _points(self) -> Points | None:
        """(m + 1, z) actions of the texts and of a missing text; None if actions are words."""
        if self.critic.actions == WORDS:
            return None
        found = points_of((*self.episodes.texts, ""), self.critic.actions)
        return Points(found.mean.to(self.device), found.log_var.to(self.device))

    @cached_property
    def _state(self) -> Tensor:
        """(n, k + 13) task facts and the indicator of the turn class; k = 0 if any dialogue has no facts."""
        facts = self.features.facts
        rows = [facts[name].state for name in self.episodes.dialogues if name in facts]
        whole = len(rows) == len(self.episodes.dialogues)  # false where single replies are episodes
        known = np.concatenate(rows) if whole else np.zeros((len(self.episodes.user), 0))
        turn = np.eye(13)[self.features.classes]
        return torch.as_tensor(np.hstack([known, turn]), dtype=torch.float32, device=self.device)

    def value(self, said: RepliesAtPoints) -> SystemValue:
        """The value of the system with these replies: Q of each fold from a critic trained on the other folds.

        Only the first sample of a point is used. Contributions are Q at first turns.
        """
        text = torch.as_tensor(
            said.text[:, 0], device=self.device
        )  # the first sample: the paper's policies are deterministic
        halves = (
            np.random.default_rng([self.seed, 2]).permutation(len(self.episodes.dialogues))
            % self.critic.folds
        )
        q, error = np.zeros(len(text)), np.zeros(len(text))
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(self.seed)
            for fold in range(self.critic.folds):
                learner = Learner(self, text)
                learner.train(np.flatnonzero(halves != fold))
                unseen = np.flatnonzero(halves == fold)
                points = np.concatenate([self._span(int(one)) for one in unseen])
                q[points], error[points] = learner.values_and_errors(unseen)
        first = self.episodes.first[:-1]
        return SystemValue(
            self._scale * q[first], self._scale * q, self._scale * float(np.sqrt(np.mean(error**2)))
        )

    def _span(self, dialogue: int) -> Ints:
        """The indices of the points of a dialogue."""
        return np.arange(self.episodes.first[dialogue], self.episodes.first[dialogue + 1])

    def batch(self, dialogues: Ints) -> Batch:
        """The points of these dialogues, concatenated, as the input of the network."""
        lengths = np.diff(self.episodes.first)[dialogues]
        points = np.concatenate([self._span(int(one)) for one in dialogues])
        last = np.zeros(len(points), dtype=np.bool_)
        last[np.cumsum(lengths) - 1] = True
        there = np.arange(int(lengths.max())) < lengths[:, None]
        rows = self._moved(points)
        user = self._tokens[self._moved(self.episodes.user[points])]
        goal = torch.zeros(len(points), 0, device=self.device)  # it is part of the state
        return Batch(rows, self._moved(there), user, self._state[rows], goal, self._moved(last))

    def _moved(self, array: NDArray[Any]) -> Tensor:
        """The array as a tensor on the device of the training."""
        return torch.as_tensor(array, device=self.device)

    @property
    def sizes(self) -> Sizes:
        """The sizes from which the network is built: vocabulary, state, reader and action."""
        width = self.critic.words if self._points is None else self._points.mean.shape[1]
        return Sizes(
            len(self._vocabulary), self._state.shape[1], self.critic.words, self.critic.words, width, 0.0
        )

    def action(self, reader: Reader | None, text: Tensor) -> Gaussian:
        """The actions of texts by index; words go through the reader, vectors are fixed.

        Raises `TypeError` for words without a reader.
        """
        if self._points is not None:
            return Gaussian(self._points.mean[text], self._points.log_var[text])
        if reader is None:
            raise TypeError("words need a reader")
        read = reader(self._tokens[text])
        return Gaussian(read, torch.zeros_like(read))

    @cached_property
    def reward(self) -> Tensor:
        """(n,) the reward at each point, divided by the largest return."""
        return self._moved(self.features.reward / self._scale).float()


class _Reading(nn.Module):
    """The critic and, with words as actions, their reader."""

    def __init__(self, training: Training) -> None:
        super().__init__()
        settings = training.critic
        self.critic = Network(Shape(training.sizes, 0, settings.hidden, settings.dropout, settings.passes))
        self.action = Reader(training.sizes) if settings.actions == WORDS else None


class Learner:
    """One critic of one system: trained on some dialogues, applied to others."""

    def __init__(self, training: Training, instead: Tensor) -> None:
        """`instead` (n,) are the indices of the system's reply at each point."""
        self.training, self.instead = training, instead
        self.logged = torch.as_tensor(training.episodes.logged.text[:, 0], device=training.device)
        self.network = _Reading(training).to(training.device)
        self.target = copied(self.network)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=training.critic.rate)

    def train(self, dialogues: Ints) -> None:
        """Train on these dialogues, drawn without replacement within a step, until `drawn` episodes were used."""
        settings = self.training.critic
        size = min(settings.batch, len(dialogues))

        def update(_: int) -> None:
            """One step on a random batch; the number of the step is not used."""
            chosen = dialogues[torch.randperm(len(dialogues))[:size].numpy()]
            self._update(self.training.batch(chosen))

        run(update, updates=max(1, settings.drawn // size))

    def _update(self, batch: Batch) -> None:
        """One gradient step on a batch, then a soft update of the target network."""
        with torch.no_grad():
            target = self._bootstrapped(self.target, batch)
        loss = functional.mse_loss(self._of_logged(self.network, batch), target)
        descend(self.optimiser, [loss], clip=1.0)
        soft_update(self.network, self.target, self.training.critic.follow)

    def _of_logged(self, network: _Reading, batch: Batch) -> Tensor:
        """(m,) Q of the logged reply at each turn of the batch."""
        action = self.training.action(network.action, self.logged[batch.rows]).mean
        states, _ = network.critic.logged(network.critic.read(batch), action, batch.there)
        return network.critic.estimate(states)

    def _worth(self, network: _Reading, batch: Batch) -> tuple[Tensor, Tensor]:
        """(m,) Q of the system's reply at each turn, and (m,) the KL penalty of a regression target."""
        logged = self.training.action(network.action, self.logged[batch.rows])
        chosen = self.training.action(network.action, self.instead[batch.rows])
        known = network.critic.read(batch)
        _, before = network.critic.logged(known, logged.mean, batch.there)
        worth = network.critic.estimate(network.critic.instead(known, chosen.mean, before))
        if not self.training.critic.weight:
            return worth, torch.zeros_like(worth)
        return worth, self.training.critic.weight * logged.divergence(chosen) / chosen.dimensions

    def _bootstrapped(self, network: _Reading, batch: Batch) -> Tensor:
        """(m,) the regression target at each turn: reward + discount * (next Q - KL penalty), clipped to 0 to 1."""
        worth, cost = self._worth(network, batch)
        worth = worth - cost
        after = torch.cat([worth[1:], worth[:1]]).masked_fill(batch.last, 0.0)
        settings = self.training.critic
        return (self.training.reward[batch.rows] + settings.discount * after).clamp(0.0, 1.0)

    @torch.no_grad()
    def values_and_errors(self, dialogues: Sequence[int] | Ints) -> tuple[Floats, Floats]:
        """Q of the system's reply at every turn of these dialogues, and the Bellman error of the logged reply.

        Both are on the scale of divided rewards, 0 to 1.
        """
        q, errors = [], []
        for part in np.array_split(np.asarray(dialogues), max(1, len(dialogues) // 256)):
            batch = self.training.batch(part)
            q.append(self._worth(self.network, batch)[0].cpu().numpy())
            error = self._bootstrapped(self.network, batch) - self._of_logged(self.network, batch)
            errors.append(error.cpu().numpy())
        return np.concatenate(q).astype(np.float64), np.concatenate(errors).astype(np.float64)
