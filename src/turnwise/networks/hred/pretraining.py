"""How HRED and VHRED are pretrained: Adam on the likelihood of the next turn, or on its lower bound (ADEM 5.1).

As in the paper, a quarter of the decoder's input words are dropped and the weight of the KL term rises from 0 to 1 over
`anneal` updates; otherwise the decoder learns to ignore the latent variable. Early stopping uses the bound with the KL
at its full weight, and only once the weight has reached 1: before that the bound is not comparable.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from turnwise.networks.hred.dialogue_model import DialogueModel, ElboTerms
from turnwise.networks.hred.encoder import Tokens
from turnwise.networks.training import on_dialogues
from turnwise.networks.training.checkpoint import Point
from turnwise.networks.training.loop import Say
from turnwise.networks.training.task import TrainedModel
from turnwise.types import Dialogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(on_dialogues.Settings):
    """Sizes and training settings of HRED and VHRED."""

    decoder: int = 512
    latent: int = 0  # dimensions of the latent variable of a turn; 0: HRED; VHRED's paper: 100
    anneal: int = 60_000  # updates over which the weight of the KL rises to 1
    word_drop: float = 0.25

    def network(self, vocabulary: int) -> DialogueModel:
        """The untrained network for a vocabulary of this size."""
        return DialogueModel(
            vocabulary=vocabulary,
            embedding=self.embedding,
            utterance=self.utterance,
            context=self.context,
            decoder=self.decoder,
            latent=self.latent,
        )


def train(
    dialogues: Sequence[Dialogue],
    *,
    settings: Settings,
    rng: np.random.Generator,
    say: Say = lambda _: None,
    work: Path | None = None,
) -> TrainedModel:
    """Train HRED, or VHRED if the settings have a latent variable."""
    return on_dialogues.train(
        dialogues,
        lambda subwords, _: Likelihood(settings, settings.network(len(subwords))),
        settings=settings,
        rng=rng,
        say=say,
        work=work,
    )


class Likelihood:
    """The objective: negative log-likelihood of the next turn, or its variational bound."""

    def __init__(self, settings: Settings, network: DialogueModel) -> None:
        self.settings, self.network = settings, network
        self.kind: Literal["hred", "vhred"] = "vhred" if settings.latent else "hred"

    def weight(self, number: int) -> float:
        """The weight of the KL at this update: rises linearly to 1 over `anneal` updates; always 1 for HRED."""
        return (
            min(1.0, number / self.settings.anneal) if self.settings.latent and self.settings.anneal else 1.0
        )

    def losses(self, batch: Tokens, number: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
        """The loss of each part of the batch, in nats per word of the whole batch."""
        tokens = sum(len(turn) for dialogue in batch for turn in dialogue[1:])
        for bound in self._bounds(batch, generator, drop=self.settings.word_drop):
            yield (bound.loss + self.weight(number) * bound.divergence) / tokens

    def measure(self, held: Tokens, generator: torch.Generator) -> Point:
        """Nats per word without the KL (`loss`) and with it (`bound`), KL per turn, and exp(`bound`) (`perplexity`)."""
        bounds = list(self._bounds(held, generator, drop=0.0))
        tokens, turns = sum(bound.tokens for bound in bounds), sum(bound.turns for bound in bounds)
        loss = sum(float(bound.loss) for bound in bounds)
        divergence = sum(float(bound.divergence) for bound in bounds)
        total = (loss + divergence) / tokens
        perplexity = float(np.exp(total))
        return {"loss": loss / tokens, "kl": divergence / turns, "bound": total, "perplexity": perplexity}

    def _bounds(self, dialogues: Tokens, generator: torch.Generator, *, drop: float) -> Iterator[ElboTerms]:
        """The bound of each part of a batch; random numbers are drawn for the whole batch at once."""
        counts = [len(dialogue) - 1 for dialogue in dialogues]
        noise = torch.randn(sum(counts), self.settings.latent, generator=generator)
        dropped = torch.rand(sum(counts), self.settings.max_tokens, generator=generator) < drop
        device, size = self.settings.device, self.settings.at_once
        ends = np.cumsum([0, *counts])
        for first in range(0, len(dialogues), size):
            part = dialogues[first : first + size]
            rows = slice(int(ends[first]), int(ends[first + len(part)]))
            yield self.network.bound(part, noise[rows].to(device), dropped[rows].to(device))
