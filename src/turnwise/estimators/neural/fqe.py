"""Neural fitted Q evaluation and neural LSTDQ: what ENIGMA's ablation calls Deep Q and LSTDQ (figures 2 and 3).

Q(s, a) is the expected rating after a in s if the target continues. At a last turn it is the rating, at any other the
mean Q of the target's replies to the next state; the value is the mean Q of its replies to first states.

`fqe-neural` fits Q to targets from an earlier copy of itself (a target network), which is renewed every `renewal`
steps. `lstdq-neural` searches for the Q whose errors no function of (s, a) can predict, by the game

    least in Q, greatest in w:  mean of  w (r + Q' - Q) - w^2 / 2,

whose solution for linear Q and w is LSTDQ (Lagoudakis and Parr 2003) exactly. The paper prints neither's formula.
Both may be linear: `hidden=0`. Ratings are standardised for the training. Unlike `enigma` both use the ratings in every
step of the training, and sparse rewards make them converge slowly.
"""

import copy
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from turnwise.errors import Refused
from turnwise.estimators.neural.batches import Batch
from turnwise.estimators.neural.cards import CARDS
from turnwise.estimators.neural.heads import Head
from turnwise.estimators.neural.minimax import reverse
from turnwise.estimators.neural.neural import Contributions, LearnerInputs, Neural, parts
from turnwise.types import Card, Floats, Ints

LARGEST_REWARD = 1e30  # a 32-bit float is at most 3.4e38


class _Q:
    """A head for Q with its measurements; subclasses define the loss. Ratings are standardised inside."""

    def __init__(self, setup: LearnerInputs, *, tuned: bool) -> None:
        self.setup, self.batches, self.size = setup, setup.batches, setup.batches.size
        self.at_once = 64 if tuned else 4096
        reward = setup.data.reward
        if float(np.max(np.abs(reward))) > LARGEST_REWARD:
            raise Refused(
                "ratings beyond {largest:g} in size do not fit the numbers of a network; map them to a smaller scale",
                "ratings-too-large",
                largest=LARGEST_REWARD,
            )
        self.centre, self.spread = float(reward.mean()), float(reward.std()) or 1.0
        self.q = self.head()

    def head(self) -> Head:
        """A new head on the rows, near 0 at the start."""
        setup = self.setup
        made = Head(setup.batches.source.width, setup.hidden, start=0.0, generator=setup.generator)
        return made.to(setup.device)

    @abstractmethod
    def objective(self, batch: Batch) -> torch.Tensor:
        """The loss of a batch, a scalar."""
        ...

    def state(self) -> list[torch.Tensor]:
        """An empty list: there is nothing beside the parameters."""
        return []

    def loss(self, dialogues: Ints) -> torch.Tensor:
        """The loss of these dialogues, by index."""
        return self.objective(self.batches[dialogues])

    def reading(self) -> Mapping[str, float]:
        """The objective and the estimate (the mean of Q at first states) over all dialogues."""
        objective, values = self._objective_and_values()
        return {"objective": objective, "estimate": float(values.mean())}

    def contributions(self) -> Contributions:
        """The value of each dialogue's first state, and the objective."""
        objective, values = self._objective_and_values()
        return Contributions(values, {"objective": objective})

    def backup(self, batch: Batch, q: torch.Tensor) -> torch.Tensor:
        """(B, T) the regression target of Q at each turn: the rating at the last turn, otherwise the next Q.

        `q` (m,) is Q of all rows of the batch.
        """
        reward = ((batch.reward - self.centre) / self.spread)[:, None]
        after = (q[batch.target] * batch.weight).sum(dim=-1)
        after = torch.cat([after[:, 1:], after[:, :1]], dim=1)
        turn = torch.arange(after.shape[1], device=after.device)
        return torch.where(turn == batch.last[:, None], reward, after)

    def _objective_and_values(self) -> tuple[float, Floats]:
        """The objective, and (N,) the value of each dialogue's first state on the scale of the ratings."""
        total, found = 0.0, []
        with torch.no_grad():
            for dialogues in parts(self.size, self.at_once):
                batch = self.batches[dialogues]
                total += float(self.objective(batch)) * len(dialogues)
                first = (self.q(batch.rows)[batch.target[:, 0]] * batch.weight[:, 0]).sum(dim=-1)
                found.append(first.double().cpu().numpy())
        return total / self.size, self.centre + self.spread * np.concatenate(found)


def _mean(values: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    """The mean of (B, T) values over the existing turns."""
    return (values * inside).sum() / inside.sum()


class _Fitted(_Q):
    """The learner of `fqe-neural`; `before` is the target network, renewed every `renewal` steps."""

    def __init__(self, setup: LearnerInputs, *, tuned: bool, renewal: int) -> None:
        super().__init__(setup, tuned=tuned)
        self.renewal, self.steps = renewal, torch.zeros((), dtype=torch.int64)
        self.before = copy.deepcopy(self.q).requires_grad_(False)

    def groups(self) -> list[tuple[float, list[torch.nn.Parameter]]]:
        """All parameters, of Q and of the encoder, with factor 1."""
        return [(1.0, [*self.q.parameters(), *self.batches.source.parameters()])]

    def state(self) -> list[torch.Tensor]:
        """The number of steps and the target network."""
        return [self.steps, *self.before.parameters()]

    def loss(self, dialogues: Ints) -> torch.Tensor:
        """The loss of these dialogues, by index; counts the step and renews the target network when it is due."""
        if int(self.steps) % self.renewal == 0:
            self.before.load_state_dict(self.q.state_dict())
        self.steps += 1
        return super().loss(dialogues)

    def objective(self, batch: Batch) -> torch.Tensor:
        """The mean squared error of Q at logged replies against `backup` by the target network."""
        wanted = self.backup(batch, self.before(batch.rows.detach()))
        return _mean((self.q(batch.rows)[batch.logged] - wanted).square(), batch.inside)


class _Game(_Q):
    """The learner of `lstdq-neural`; `w` is the opponent, which predicts the errors of Q."""

    def __init__(self, setup: LearnerInputs, *, tuned: bool) -> None:
        super().__init__(setup, tuned=tuned)
        self.w = self.head()

    def groups(self) -> list[tuple[float, list[torch.nn.Parameter]]]:
        """Q and encoder with factor 1, w with the factor `nu_rate`."""
        encoder = self.batches.source.parameters()
        return [
            (1.0, [*self.q.parameters(), *encoder]),
            (self.setup.settings.nu_rate, [*self.w.parameters()]),
        ]

    def objective(self, batch: Batch) -> torch.Tensor:
        """The mean of w (r + Q' - Q) - w^2 / 2 over turns, with the gradient of w reversed."""
        q, w = self.q(batch.rows), reverse(self.w(batch.rows[batch.logged]))
        error = self.backup(batch, q) - q[batch.logged]
        return _mean(w * error - w.square() / 2, batch.inside)


@dataclass(frozen=True, kw_only=True)
class NeuralFqe(Neural):
    """The estimator `fqe-neural`: fitted Q with a target network that is renewed every `renewal` steps."""

    name: ClassVar[str] = "fqe-neural"
    card: ClassVar[Card] = CARDS["fqe-neural"]

    renewal: int = 20  # steps between renewals of the target network

    def learner(self, setup: LearnerInputs) -> _Fitted:
        """The untrained Q with its target network on these inputs."""
        return _Fitted(setup, tuned=self.tuned, renewal=self.renewal)


@dataclass(frozen=True, kw_only=True)
class NeuralLstdq(Neural):
    """The estimator `lstdq-neural`: LSTDQ as a game between Q and a second head."""

    name: ClassVar[str] = "lstdq-neural"
    card: ClassVar[Card] = CARDS["lstdq-neural"]

    nu_rate: float | None = None  # learning-rate factor of w

    def learner(self, setup: LearnerInputs) -> _Game:
        """The untrained Q and its opponent on these inputs."""
        return _Game(setup, tuned=self.tuned)
