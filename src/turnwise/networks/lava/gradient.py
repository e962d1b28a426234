"""Policy gradient on corpus success, LAVA's own reinforcement learning (eq. 3), for comparison with PLAS.

A latent point is drawn for each turn of a dialogue, the decoder turns it into a reply, and the dialogue's discounted
success is the return of its turns. Only the state encoder is trained. Ours: an update has several rollouts of each
dialogue, and the baseline of a rollout is the mean success of the others; the difficulty of dialogues varies more than
the quality of rollouts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from turnwise.encode.neural.loading import default_device
from turnwise.errors import UsageError
from turnwise.networks.lava.critic import Batch
from turnwise.networks.lava.model import EvaluatedDialogues, Model
from turnwise.networks.lava.network import Gaussian, copy_without_dropout
from turnwise.networks.lava.search import Search
from turnwise.networks.training.loop import descend
from turnwise.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Training settings of the policy gradient."""

    rate: float = 1e-4  # 1e-3 loses the gain again on MultiWOZ, 2e-5 is slow (papers/lava.md)
    gamma: float = 0.99  # LaRL's
    episodes: int = 300_000  # rollouts
    batch: int = 32  # dialogues in an update
    samples: int = 4  # rollouts of each dialogue
    every: int = 20
    device: str = field(default_factory=default_device)

    def __post_init__(self) -> None:
        if min(self.episodes, self.batch, self.every, self.samples - 1) < 1 or not 0 <= self.gamma <= 1:
            raise UsageError("episodes, batch and every are 1 or more, samples 2 or more, and gamma 0 to 1")
        if self.episodes < self.batch * self.samples:
            raise UsageError(
                f"{self.episodes} rollouts are less than one update of {self.batch * self.samples}"
            )


def train(
    model: Model,
    train_data: EvaluatedDialogues,
    held_out: EvaluatedDialogues,
    *,
    settings: Settings,
    seed: int,
    stop: Callable[[], bool] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[Model, Search]:
    """Train the state encoder on the success of its rollouts in `train_data`; the model itself is not changed.

    Returns the policy with the best held-out success, and the search with its curve.
    """
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        actor = copy_without_dropout(model.network.state)
        optimiser = torch.optim.Adam(actor.parameters(), lr=settings.rate)
        search = Search(model, actor, held_out, report)
        order = np.random.default_rng([seed, 1])

        def update(_: int) -> dict[str, float]:
            """One update on rollouts of random dialogues; returns the mean success (`reward`) and the loss."""
            drawn = order.integers(len(train_data), size=settings.batch).repeat(settings.samples)
            batch = Batch.of(train_data.corpus, torch.as_tensor(drawn, device=train_data.corpus.user.device))
            chosen: Gaussian = actor(batch.user, batch.state)
            with torch.no_grad():
                point = chosen.draw(torch.randn_like(chosen.mean))
            success = train_data.successes(model.texts(point), drawn.tolist())
            advantage = torch.as_tensor(_advantages(success, settings.samples), dtype=torch.float32)
            loss = -(_returns(advantage, batch, settings.gamma) * chosen.log_density(point)).mean()
            descend(optimiser, [loss], clip=1.0)
            return {"reward": float(success.mean()), "loss": float(loss.detach())}

        updates = settings.episodes // (settings.batch * settings.samples)
        search.run(updates, update, every=settings.every, stop=stop)
    return search.best, search


def _advantages(success: Floats, samples: int) -> Floats:
    """(rollouts,) success minus the mean success of the other rollouts of the same dialogue, which are adjacent."""
    by_dialogue = success.reshape(-1, samples)
    others = (by_dialogue.sum(axis=1, keepdims=True) - by_dialogue) / (samples - 1)
    advantage: Floats = (by_dialogue - others).ravel()
    return advantage


def _returns(advantage: Tensor, batch: Batch, gamma: float) -> Tensor:
    """(m,) at each turn, the advantage of its dialogue times gamma to the number of turns until the end."""
    lengths = batch.there.sum(dim=1, keepdim=True)
    steps = torch.arange(batch.there.shape[1], device=lengths.device)
    discount = gamma ** (lengths - 1 - steps).float()
    return (advantage.to(discount).unsqueeze(1) * discount)[batch.there]
