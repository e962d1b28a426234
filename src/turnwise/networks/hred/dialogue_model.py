"""HRED and VHRED: dialogue models that predict a turn from the turns before it (Serban et al. 2016a, b; ADEM app. C).

HRED decodes the next turn from the state of the hierarchical encoder. VHRED also draws a Gaussian variable for each
turn, from a prior given the context. In training it is drawn from a posterior given context and turn, and the lower
bound of the likelihood subtracts KL(posterior || prior). A KL of zero means that the variable carries no information.

Differences from the papers: the output layer is tied to the embedding; the decoder reads context and variable at every
word as well as at its start; the first turn of a dialogue is context only and is not predicted.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from turnwise.networks.hred.encoder import HierarchicalEncoder, Tokens, padded
from turnwise.networks.subwords import BEGIN, PAD, UNKNOWN

_SCALE = 0.1  # scale of the softplus that gives a standard deviation, its initial value, as in VHRED's code


class Gaussian(NamedTuple):
    """n diagonal Gaussians of z dimensions."""

    mean: Tensor  # (n, z)
    deviation: Tensor  # (n, z)

    def draw(self, noise: Tensor) -> Tensor:
        """(n, z) mean + deviation * noise."""
        return self.mean + self.deviation * noise

    def divergence(self, other: "Gaussian") -> Tensor:
        """(n,) KL(self || other), in nats."""
        ratio = (self.deviation / other.deviation) ** 2
        gap = ((self.mean - other.mean) / other.deviation) ** 2
        return 0.5 * (ratio + gap - 1 - ratio.log()).sum(dim=1)


class GaussianHead(nn.Module):
    """A feed-forward network whose output is a Gaussian."""

    def __init__(self, inputs: int, latent: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, inputs // 2), nn.Tanh(), nn.Linear(inputs // 2, 2 * latent)
        )

    def forward(self, inputs: Tensor) -> Gaussian:
        """(n, inputs) -> n Gaussians of `latent` dimensions."""
        mean, raw = self.layers(inputs).chunk(2, dim=1)
        return Gaussian(mean, _SCALE * nn.functional.softplus(raw) + 1e-4)


@dataclass(frozen=True, slots=True)
class ElboTerms:
    """Terms of the variational bound, summed over turns."""

    loss: Tensor  # negative log-likelihood of the words, in nats
    divergence: Tensor
    tokens: int
    turns: int


class DialogueModel(nn.Module):
    """HRED, or VHRED if `latent` is above 0."""

    def __init__(
        self, *, vocabulary: int, embedding: int, utterance: int, context: int, decoder: int, latent: int
    ) -> None:
        super().__init__()
        self.encoder = HierarchicalEncoder(
            vocabulary=vocabulary, embedding=embedding, utterance=utterance, context=context
        )
        self.latent = latent
        if latent:
            self.prior = GaussianHead(context, latent)
            self.posterior = GaussianHead(context + utterance, latent)
        self.condition = nn.Linear(context + latent, embedding)
        self.start = nn.Linear(context + latent, 2 * decoder)
        self.decoder = nn.LSTM(2 * embedding, decoder, batch_first=True)
        self.output = nn.Linear(decoder, embedding)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def bound(self, dialogues: Tokens, noise: Tensor, dropped: Tensor) -> ElboTerms:
        """The likelihood of every turn except the first, or its lower bound, as sums over these turns.

        `noise` (predicted turns, latent) makes the draws; `dropped` (predicted turns, longest) says which words the
        decoder reads as unknown.
        """
        spoken, before = self.encoder.turns(dialogues)
        known: list[Tensor] = [before]
        divergence = before.new_zeros(())
        if self.latent:
            posterior = self.posterior(torch.cat([before, spoken], dim=1))
            divergence = posterior.divergence(self.prior(before)).sum()
            known.append(posterior.draw(noise))
        targets = padded([turn for dialogue in dialogues for turn in dialogue[1:]], before.device)
        read = torch.full_like(targets, BEGIN)
        read[:, 1:] = targets[:, :-1]
        # The begin mark is never dropped.
        read[:, 1:] = read[:, 1:].masked_fill(dropped[:, : targets.shape[1] - 1], UNKNOWN)
        states, _ = self.decode(read, *self.begin(torch.cat(known, dim=1)))
        there = targets != PAD
        loss = nn.functional.cross_entropy(self.logits(states[there]), targets[there], reduction="sum")
        return ElboTerms(
            loss, divergence, sum(len(turn) for one in dialogues for turn in one[1:]), len(targets)
        )

    def begin(self, known: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(b, e) the decoder's input at every word, and its initial state; `known` (b, c + z): context, variable."""
        state, cell = self.start(known).tanh().chunk(2, dim=1)
        return self.condition(known), (state.unsqueeze(0).contiguous(), cell.unsqueeze(0).contiguous())

    def decode(
        self, tokens: Tensor, condition: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(b, t) words read -> (b, t, d) states after them, and the last state."""
        words = self.encoder.embedding(tokens)
        inputs = torch.cat([words, condition.unsqueeze(1).expand(-1, words.shape[1], -1)], dim=2)
        states, last = self.decoder(inputs, state)
        return states, last

    def logits(self, states: Tensor) -> Tensor:
        """(..., vocabulary) logits of the next word."""
        return nn.functional.linear(self.output(states), self.encoder.embedding.weight, self.bias)
