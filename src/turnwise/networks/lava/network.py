"""LAVA's three parts: the state encoder (theta), the action encoder (phi) and the decoder (omega).

A state is the user's last turn, the belief state and the database; an action is a reply. Each becomes a Gaussian
over the same latent space, and the decoder generates a reply from a point of that space alone. The parts share no
weights, so each can be trained while the others are frozen.

As in LaRL and LAVA: GRUs, attention over the words of a turn, mean and variance of the latent variable linear in
the encoding. Ours: the decoder gets the point at every word, not only at the first, so a change of the point can change
the end of a reply too; all cells are GRUs (their decoder is an LSTM).
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from turnwise.networks.subwords import BEGIN, END, PAD, UNKNOWN

_LOOK = 8  # words between checks whether all replies have ended; each check synchronises the GPU
Copied = TypeVar("Copied", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The widths of the three parts."""

    vocabulary: int
    state: int  # bits
    embedding: int
    hidden: int
    latent: int
    dropout: float


class Gaussian(NamedTuple):
    """Diagonal Gaussians; mean and log variance are (n, z)."""

    mean: Tensor
    log_var: Tensor

    @property
    def dimensions(self) -> int:
        """z, the size of the latent space."""
        return self.mean.shape[1]

    def draw(self, noise: Tensor) -> Tensor:
        """(n, z) mean + noise times the standard deviation."""
        return self.mean + noise * (0.5 * self.log_var).exp()

    def divergence(self, other: "Gaussian | None" = None) -> Tensor:
        """(n,) KL(self || other) in nats, summed over the dimensions; without another, from the standard normal."""
        mean, log_var = (0.0, torch.zeros(())) if other is None else other
        log_var = log_var.to(self.mean) if other is None else log_var
        ratio = self.log_var - log_var
        return 0.5 * (ratio.exp() + (self.mean - mean) ** 2 / log_var.exp() - 1 - ratio).sum(dim=1)

    def log_density(self, point: Tensor) -> Tensor:
        """(n,) log density up to a constant."""
        return -0.5 * ((point - self.mean) ** 2 / self.log_var.exp() + self.log_var).sum(dim=1)


class Reader(nn.Module):
    """Words -> a vector: a GRU, and attention over its states."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.embedding, padding_idx=PAD)
        self.recurrent = nn.GRU(sizes.embedding, sizes.hidden, batch_first=True)
        self.attention = nn.Sequential(
            nn.Linear(sizes.hidden, sizes.hidden), nn.Tanh(), nn.Linear(sizes.hidden, 1, bias=False)
        )
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, words: Tensor) -> Tensor:
        """(n, w) words -> (n, h); padding gets no attention."""
        states, _ = self.recurrent(self.dropout(self.embedding(words)))
        weights = self.attention(states).squeeze(2).masked_fill(words == PAD, -torch.inf).softmax(dim=1)
        read: Tensor = (weights.unsqueeze(2) * states).sum(dim=1)
        return read


class StateEncoder(nn.Module):
    """p(z|s): from a state to a Gaussian over latent actions; after training with PLAS, the policy."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.reader = Reader(sizes)
        self.dropout = nn.Dropout(sizes.dropout)
        self.latent = nn.Linear(sizes.hidden + sizes.state, 2 * sizes.latent)

    def forward(self, user: Tensor, state: Tensor) -> Gaussian:
        """(n, u) words of the user and (n, b) bits -> Gaussians of the latent action."""
        read = torch.cat([self.dropout(self.reader(user)), state], dim=1)
        return Gaussian(*self.latent(read).chunk(2, dim=1))


class ActionEncoder(nn.Module):
    """q(z|r): from a reply to a Gaussian over latent actions."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.reader = Reader(sizes)
        self.dropout = nn.Dropout(sizes.dropout)
        self.latent = nn.Linear(sizes.hidden, 2 * sizes.latent)

    def forward(self, reply: Tensor) -> Gaussian:
        """(n, r) words of a reply -> Gaussians of its latent action."""
        return Gaussian(*self.latent(self.dropout(self.reader(reply))).chunk(2, dim=1))


class Decoder(nn.Module):
    """p(x|z): from a latent action to a reply, word by word."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.embedding, padding_idx=PAD)
        self.begin = nn.Linear(sizes.latent, sizes.hidden)
        self.recurrent = nn.GRU(sizes.embedding + sizes.latent, sizes.hidden, batch_first=True)
        self.dropout = nn.Dropout(sizes.dropout)
        self.logits = nn.Linear(sizes.hidden, sizes.vocabulary)

    def loss(self, point: Tensor, reply: Tensor) -> Tensor:
        """(n,) negative log-likelihood of each reply given its point, in nats."""
        inputs_before = torch.cat([torch.full_like(reply[:, :1], BEGIN), reply[:, :-1]], dim=1)
        states, _ = self._states(inputs_before, point, self.begin(point).tanh().unsqueeze(0))
        logits = self.logits(self.dropout(states))
        nats = functional.cross_entropy(
            logits.flatten(0, 1).float(), reply.flatten(), ignore_index=PAD, reduction="none"
        )
        return nats.view_as(reply).sum(dim=1)

    @torch.no_grad()
    def generate(self, point: Tensor, *, longest: int) -> Tensor:
        """(n, at most `longest`) greedy decoding; a reply is padded after its end."""
        state = self.begin(point).tanh().unsqueeze(0)
        word = torch.full((len(point), 1), BEGIN, device=point.device)
        over = torch.zeros(len(point), dtype=torch.bool, device=point.device)
        said = []
        for step in range(longest):
            states, state = self._states(word, point, state)
            logits = self.logits(states.squeeze(1))
            logits[:, [PAD, BEGIN, UNKNOWN]] = -torch.inf
            word = logits.argmax(dim=1).masked_fill(over, PAD).unsqueeze(1)
            said.append(word)
            over = over | (word.squeeze(1) == END)
            if step % _LOOK == 0 and bool(over.all()):
                break
        return torch.cat(said, dim=1)

    def _states(self, words: Tensor, point: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """(n, w, h) states of the decoder after these words, and its last state."""
        points = point.unsqueeze(1).expand(-1, words.shape[1], -1)
        inputs = torch.cat([self.dropout(self.embedding(words)), points], dim=2)
        states: Tensor
        states, state = self.recurrent(inputs, state)
        return states, state


class Lava(nn.Module):
    """State encoder (the policy), action encoder and decoder."""

    def __init__(self, state: StateEncoder, action: ActionEncoder, decoder: Decoder) -> None:
        super().__init__()
        self.state, self.action, self.decoder = state, action, decoder

    @classmethod
    def new(cls, sizes: Sizes) -> "Lava":
        """The untrained network."""
        return cls(StateEncoder(sizes), ActionEncoder(sizes), Decoder(sizes))

    def acting(self, actor: StateEncoder) -> "Lava":
        """The network with another policy; the other parts are shared."""
        return Lava(actor, self.action, self.decoder)


def copied(part: Copied) -> Copied:
    """A copy with contiguous recurrent weights, as cuDNN requires."""
    copy = deepcopy(part)
    for inner in copy.modules():
        if isinstance(inner, nn.GRU):
            inner.flatten_parameters()
    return copy


def copy_without_dropout(encoder: StateEncoder) -> StateEncoder:
    """A copy without dropout in training mode: a GRU on a GPU has gradients only in training mode."""
    copy = copied(encoder).train()
    for part in copy.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return copy


@torch.no_grad()
def soft_update(source: nn.Module, target: nn.Module, rate: float) -> None:
    """Soft update in place: move the weights of `target` towards those of `source` by this rate."""
    for new, old in zip(source.parameters(), target.parameters(), strict=True):
        old.lerp_(new, rate)
