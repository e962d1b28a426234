"""Training a head to tell the reply that was given from replies that were not (noise-contrastive).

The examples are (context, true reply, replies of other kinds). What the other kinds are decides what is learned:
random replies teach topic, later and earlier turns of the same dialogue teach what follows what, the last turn itself
(a parrot) teaches that a copy is no answer. Dialogues, not pairs, are held out for early stopping.
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

HELD_OUT = 0.1  # of the dialogues


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Places are rows of `vectors`."""

    vectors: Vectors  # (N, d) of every text, scaled as in `views`
    context: Ints  # (n, t), newest first; -1 where there is no such turn
    reply: Ints  # (n,)
    negatives: Ints  # (n, m) a pool to draw from
    dialogue: Ints  # (n,) which dialogue an example is of


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    turns: int = 3
    decay: float = 0.5
    hidden: int = 64
    dropout: float = 0.2
    drawn: int = 4  # negatives an example and step
    recurrent: bool = False


class Network(torch.nn.Module):
    def __init__(self, dimension: int, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.unit = torch.nn.GRU(dimension, dimension, batch_first=True) if shape.recurrent else None
        self.drop = torch.nn.Dropout(shape.dropout)
        self.first = torch.nn.Linear(4 * dimension, shape.hidden)
        self.last = torch.nn.Linear(shape.hidden, 1)

    def context(self, turns: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        """(b, t, d) newest first, (b, t) which are there -> (b, d)."""
        if self.unit is None:
            ages = torch.arange(turns.shape[1], device=turns.device)
            weights = there * self.shape.decay**ages
            return torch.einsum("bt,btd->bd", weights / weights.sum(dim=1, keepdim=True), turns)
        # Oldest first; a turn that is not there leaves the state as it was: 0.
        lengths = there.sum(dim=1).long()
        order = (lengths[:, None] - 1 - torch.arange(turns.shape[1], device=turns.device)).clamp(min=0)
        packed = turns.gather(1, order[:, :, None].expand_as(turns))
        states, _ = self.unit(packed)
        last: torch.Tensor = states[torch.arange(len(turns), device=turns.device), lengths - 1]
        return last

    def forward(self, context: torch.Tensor, reply: torch.Tensor) -> torch.Tensor:
        """(..., d) and (..., d) -> (...) logits."""
        seen = torch.cat([context * reply, (context - reply).abs(), context, reply], dim=-1)
        logits: torch.Tensor = self.last(self.drop(torch.relu(self.first(self.drop(seen))))).squeeze(-1)
        return logits

    def tensors(self, name: str) -> dict[str, NDArray[Any]]:
        """What `Head.of` reads, in half precision."""
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


def contrast(
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
    """A trained network and its curve: loss, and on dialogues held out loss and share of negatives put below."""
    seed = int(rng.integers(2**31))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(examples.vectors.shape[1], shape).to(device)
    held = rng.permutation(np.unique(examples.dialogue))
    held = held[: max(1, round(HELD_OUT * len(held)))]
    apart = np.isin(examples.dialogue, held)
    learn, test = (np.flatnonzero(part).astype(np.int64) for part in (~apart, apart))
    data = _Data(examples, shape, network, device)

    def measures() -> dict[str, float]:
        return {"above": data.above(test)}

    curve = fit(
        network,
        lambda places: data.losses(learn[np.asarray(places)]),
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
    """The examples on the device, and what a network loses on them."""

    def __init__(self, examples: Examples, shape: Shape, network: Network, device: str) -> None:
        self.network, self.drawn = network, shape.drawn
        self.vectors = torch.tensor(examples.vectors, device=device)
        self.context = torch.tensor(examples.context[:, : shape.turns], device=device)
        self.reply = torch.tensor(examples.reply, device=device)
        self.negatives = torch.tensor(examples.negatives, device=device)

    def logits(self, places: Ints, columns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        at = torch.as_tensor(places, device=self.context.device)
        rows = self.context[at]
        there = (rows >= 0).float()
        context = self.network.context(self.vectors[rows.clamp(min=0)] * there[:, :, None], there)
        others = self.vectors[self.negatives[at[:, None], columns]]
        given = self.network(context, self.vectors[self.reply[at]])
        return given, self.network(context[:, None].expand_as(others), others)

    def losses(self, places: Ints) -> torch.Tensor:
        """Each example's loss, with other negatives every time."""
        pool = self.negatives.shape[1]
        chosen = torch.randint(pool, (len(places), self.drawn), device=self.context.device)
        return _losses(*self.logits(places, chosen))

    def loss(self, places: Ints) -> float:
        return float(torch.cat([_losses(*part) for part in self._parts(places)]).mean())

    def above(self, places: Ints) -> float:
        """How often the given reply stands above one of the others."""
        return float(
            torch.cat([(given[:, None] > others).float() for given, others in self._parts(places)]).mean()
        )

    def _parts(self, places: Ints) -> list[tuple[torch.Tensor, torch.Tensor]]:
        columns = torch.arange(self.negatives.shape[1], device=self.context.device)
        pieces = [places[start : start + 1024] for start in range(0, len(places), 1024)]
        return [self.logits(piece, columns.expand(len(piece), -1)) for piece in pieces]


def _losses(given: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    softplus = torch.nn.functional.softplus
    return softplus(-given) + softplus(others).mean(dim=1)
