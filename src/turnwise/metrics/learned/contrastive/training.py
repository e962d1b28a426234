"""Training of a contrastive head: it learns to separate the logged reply from wrong replies (negatives).

The kinds of negatives decide what is learned. With random replies it is the topic; with other turns of the same
dialogue it is also the order of turns; with the last turn itself it is that a copy of the context is wrong. Whole
dialogues, not single pairs, are held out for early stopping.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from turnwise.encode import Vectors
from turnwise.metrics.learned.contrastive.head import GATES
from turnwise.networks.training.loop import Plan, fit
from turnwise.types import Ints

HELD_OUT = 0.1  # share of the dialogues that are held out


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Training examples; texts are given as row numbers of `vectors`."""

    vectors: Vectors  # (N, d) of every text, scaled as by `turn_vectors`
    context: Ints  # (n, t), newest first; -1 for missing turns
    reply: Ints  # (n,) the logged reply
    negatives: Ints  # (n, m) wrong replies, from which each step draws
    dialogue: Ints  # (n,) number of the example's dialogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Hyper-parameters of a head."""

    turns: int = 3  # turns of context
    decay: float = 0.5  # weight of a turn relative to the next newer one
    hidden: int = 64
    dropout: float = 0.2
    drawn: int = 4  # negatives that are drawn for each example and step
    recurrent: bool = False  # encode the context with a recurrent unit instead of a weighted mean


class Network(torch.nn.Module):
    """A contrastive head as a torch module; `Head` computes the same in numpy."""

    def __init__(self, dimension: int, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.unit = torch.nn.GRU(dimension, dimension, batch_first=True) if shape.recurrent else None
        self.drop = torch.nn.Dropout(shape.dropout)
        self.first = torch.nn.Linear(4 * dimension, shape.hidden)
        self.last = torch.nn.Linear(shape.hidden, 1)

    def context(self, turns: torch.Tensor, exists: torch.Tensor) -> torch.Tensor:
        """(b, d) context vectors from turns (b, t, d), newest first, and a mask (b, t) of the turns that exist."""
        if self.unit is None:
            ages = torch.arange(turns.shape[1], device=turns.device)
            weights = exists * self.shape.decay**ages
            return torch.einsum("bt,btd->bd", weights / weights.sum(dim=1, keepdim=True), turns)
        # Oldest first: the turns of each context are reversed and missing ones come last.
        lengths = exists.sum(dim=1).long()
        order = (lengths[:, None] - 1 - torch.arange(turns.shape[1], device=turns.device)).clamp(min=0)
        packed = turns.gather(1, order[:, :, None].expand_as(turns))
        states, _ = self.unit(packed)
        last: torch.Tensor = states[torch.arange(len(turns), device=turns.device), lengths - 1]
        return last

    def forward(self, context: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """(...) logits of replies (..., d) in contexts (..., d)."""
        inputs = torch.cat([context * reply, (context - reply).abs(), context, reply], dim=-1)
        logits: torch.Tensor = self.last(self.drop(torch.relu(self.first(self.drop(inputs))))).squeeze(-1)
        return logits

    def tensors(self, name: str) -> dict[str, NDArray[Any]]:
        """The parameters under the names that `Head.of` expects, in half precision."""
        parts = {
            "first": self.first.weight,
            "bias": self.first.bias,
            "last": self.last.weight[0],
            "offset": self.last.bias,
        }
        if self.unit is not None:
            parts |= {f"unit.{key}": getattr(self.unit, f"{key}_l0") for key in GATES}
        return {
            f"{name}.{key}": part.detach().cpu().numpy().astype(np.float16) for key, part in parts.items()
        }


def train_head(
    examples: Examples,
    shape: Shape,
    *,
    plan: Plan,
    rng: np.random.Generator,
    device: str = "cpu",
    work: Path | None = None,
    about: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Network, list[dict[str, float]]]:
    """Train a head. Returns it with its curve: training loss, and loss and ranking accuracy on held-out dialogues.

    A tenth of the dialogues is held out. `work` is the folder of checkpoints, `about` identifies the training in it.
    """
    seed = int(rng.integers(2**31))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(examples.vectors.shape[1], shape).to(device)
    shuffled = rng.permutation(np.unique(examples.dialogue))
    in_test = np.isin(examples.dialogue, shuffled[: max(1, round(HELD_OUT * len(shuffled)))])
    learn, test = (np.flatnonzero(part).astype(np.int64) for part in (~in_test, in_test))
    data = _Data(examples, shape, network, device)

    def measures() -> dict[str, float]:
        """`above`: the share of negatives in held-out dialogues that score below the logged reply."""
        return {"above": data.above(test)}

    curve = fit(
        network,
        lambda rows: data.losses(learn[np.asarray(rows)]),
        len(learn),
        plan=plan,
        validate=lambda: data.loss(test),
        measures=measures,
        work=work,
        about=about,
        say=say,
    )
    return network, curve


class _Data:
    """The examples on the device, with the loss of a network on them."""

    def __init__(self, examples: Examples, shape: Shape, network: Network, device: str) -> None:
        self.network, self.drawn = network, shape.drawn
        self.vectors = torch.tensor(examples.vectors, device=device)
        self.context = torch.tensor(examples.context[:, : shape.turns], device=device)
        self.reply = torch.tensor(examples.reply, device=device)
        self.negatives = torch.tensor(examples.negatives, device=device)

    def logits(self, rows: Ints, columns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits of the examples' logged replies (b,), and of their negatives in these columns (b, k)."""
        at = torch.as_tensor(rows, device=self.context.device)
        turns = self.context[at]
        exists = (turns >= 0).float()
        context = self.network.context(self.vectors[turns.clamp(min=0)] * exists[:, :, None], exists)
        wrong = self.vectors[self.negatives[at[:, None], columns]]
        logged = self.network(context, self.vectors[self.reply[at]])
        return logged, self.network(context[:, None].expand_as(wrong), wrong)

    def losses(self, rows: Ints) -> torch.Tensor:
        """(b,) the loss of each example, with randomly drawn negatives."""
        pool = self.negatives.shape[1]
        chosen = torch.randint(pool, (len(rows), self.drawn), device=self.context.device)
        return _losses(*self.logits(rows, chosen))

    def loss(self, rows: Ints) -> float:
        """The mean loss of examples, with all their negatives."""
        return float(torch.cat([_losses(*part) for part in self._parts(rows)]).mean())

    def above(self, rows: Ints) -> float:
        """The share of the examples' negatives that score below the logged reply."""
        return float(
            torch.cat([(logged[:, None] > wrong).float() for logged, wrong in self._parts(rows)]).mean()
        )

    def _parts(self, rows: Ints) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The logits of the logged replies and of all their negatives, 1024 examples at a time."""
        columns = torch.arange(self.negatives.shape[1], device=self.context.device)
        pieces = [rows[start : start + 1024] for start in range(0, len(rows), 1024)]
        return [self.logits(piece, columns.expand(len(piece), -1)) for piece in pieces]


def _losses(logged: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
    """(b,) binary cross-entropy of the logged reply (logits (b,)) plus its mean over wrong replies (logits (b, k))."""
    softplus = torch.nn.functional.softplus
    return softplus(-logged) + softplus(wrong).mean(dim=1)
