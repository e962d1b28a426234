"""Training a network on the turns of dialogues: tokens, batches of similar length, held-out part, early stopping.

The network and its loss are an `Objective`; the loop is `networks/training/loop.py`. An update adds up the gradients of
its parts (`at_once` dialogues each), so its result does not depend on how a batch is divided. Order and random numbers
follow from the seed and the number of the update, so a resumed training equals one that was not interrupted.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from turnwise.encode.neural.loading import default_device
from turnwise.errors import TooFewItems, UsageError
from turnwise.networks.hred.encoder import Tokens
from turnwise.networks.subwords import Subwords
from turnwise.networks.training.checkpoint import FILE, Checkpoint, Curve, Point, Progress
from turnwise.networks.training.loop import Hooks, Say, descend, run
from turnwise.networks.training.task import TrainedModel
from turnwise.types import Dialogue

_POOL = 32  # batches that are sorted by length together
_FEWEST = 10  # smallest number of dialogues to train on
_AT_LEAST = {"vocabulary": 8, "max_turns": 2, "max_tokens": 2}  # smallest values; 1 for every other setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Sizes of the encoder and training settings. The papers do not state `learning_rate` and the fields after it."""

    vocabulary: int = 8000
    embedding: int = 256
    utterance: int = 512
    context: int = 1000  # the paper: 2000
    max_tokens: int = 40  # most tokens of a turn
    max_turns: int = 12  # a longer dialogue is split into pieces
    batch: int = 64  # dialogues in an update
    at_once: int = 64  # dialogues computed together
    learning_rate: float = 1e-3
    clip: float = 1.0  # largest norm of the gradient
    updates: int = 100_000  # at most
    every: int = 500  # updates between measurements on the held-out dialogues
    patience: int = 5  # measurements without a better one before stopping
    held_out: float = 0.05  # share of the dialogues
    device: str = field(default_factory=default_device)

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, int) and name not in ("latent", "anneal") and value < _AT_LEAST.get(name, 1):
                raise UsageError(f"training cannot take `{name}` = {value}")
        if not 0 < self.held_out < 1:
            raise UsageError(f"training takes `held_out` between 0 and 1, not {self.held_out}")


class Objective(Protocol):
    """A network and its loss. Losses are averaged over the words or pairs of a whole batch, not of its parts."""

    @property
    def kind(self) -> str:
        """The kind of the model's folder, such as `hred`."""
        ...

    @property
    def network(self) -> torch.nn.Module:
        """The network that is trained, whose weights are stored."""
        ...

    def losses(self, batch: Tokens, number: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
        """The losses of the parts of a batch; their sum is the loss of the batch."""
        ...

    def measure(self, held: Tokens, generator: torch.Generator) -> Point:
        """The loss on the held-out dialogues as `bound` (lower is better), and further numbers for the curve."""
        ...

    def weight(self, number: int) -> float:
        """Weight of the annealed term at this update; early stopping ignores measurements taken before it is 1."""
        ...


def train(
    dialogues: Sequence[Dialogue],
    objective: Callable[[Subwords, Tokens], Objective],
    *,
    settings: Settings,
    rng: np.random.Generator,
    say: Say,
    work: Path | None,
) -> TrainedModel:
    """Train the objective on these dialogues, a part of which is held out; returns the best weights.

    Empty turns are dropped, then dialogues of one turn; fewer than ten are `TooFewItems`. `objective` makes the network
    from the subwords and the training tokens. With `work`, an interrupted training resumes.
    """
    seed = int(rng.integers(2**32))
    spoken = ([turn.text for turn in dialogue.turns if turn.text.strip()] for dialogue in dialogues)
    texts = [turns for turns in spoken if len(turns) > 1]
    if len(texts) < _FEWEST:
        raise TooFewItems(
            "training needs {needed} dialogues of 2 turns or more, and there are {n}",
            "too-few-dialogues-to-train",
            n=len(texts),
            needed=_FEWEST,
        )
    order = np.random.default_rng([seed, 0]).permutation(len(texts))
    n_held = max(1, round(settings.held_out * len(texts)))
    held, kept = [texts[at] for at in order[:n_held]], [texts[at] for at in order[n_held:]]
    subwords = Subwords.learn((text for turns in kept for text in turns), size=settings.vocabulary)
    data = _encoded(kept, subwords, settings)
    # torch initialises from its global generator, whose state is restored.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = objective(subwords, data)
    training = _Training(settings, made, data, _encoded(held, subwords, settings), seed)
    progress = training.run(work, say)
    config = {"settings": asdict(replace(settings, device="cpu")), "subwords": subwords.stored()}
    best = {**progress.curve[_best(progress.curve)], "dialogues": len(held)}
    card = {"held_out": best, "trained_on": len(kept), "languages": "those of the training text"}
    tensors = {name: tensor.numpy() for name, tensor in progress.best.items()}
    return TrainedModel(kind=made.kind, tensors=tensors, config=config, card=card, curve=progress.curve)


def _encoded(texts: Sequence[Sequence[str]], subwords: Subwords, settings: Settings) -> list[list[list[int]]]:
    """Dialogues as tokens, in pieces of `max_turns` that overlap by one turn, so that every turn has a context.

    A turn has at most `max_tokens` tokens, the end mark included.
    """
    flat = subwords.encode([text for turns in texts for text in turns], longest=settings.max_tokens)
    ends = np.cumsum([0, *map(len, texts)])
    return [
        flat[first : min(end, first + settings.max_turns)]
        for start, end in pairwise(ends.tolist())
        for first in range(start, end - 1, settings.max_turns - 1)
    ]


class _Training:
    """The updates and measurements of one training."""

    def __init__(
        self, settings: Settings, objective: Objective, data: Tokens, held: Tokens, seed: int
    ) -> None:
        self.settings, self.objective, self.data, self.held, self.seed = settings, objective, data, held, seed
        self.network = objective.network.to(settings.device)
        # With the usual eps of 1e-8 a weight whose gradient is only rounding error moves as far as any other: dividing
        # a batch into parts then changed the loss by .006 after 20 updates, and with 1e-6 by 4e-5.
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate, eps=1e-6)
        self.epoch, self.batches = -1, list[list[int]]()

    def run(self, work: Path | None, say: Say) -> Progress:
        """Train up to `updates` updates, or until `patience` measurements in a row were no better.

        Resumes from a checkpoint in `work`; without `work` none is written.
        """
        settings = self.settings
        identity = json.dumps(self._identity, sort_keys=True)
        return run(
            self._update,
            self._measure,
            updates=settings.updates,
            hooks=Hooks(
                measured=lambda done: done > 0 and (done % settings.every == 0 or done == settings.updates),
                best=_best,
                finished=lambda curve: _is_stale(curve, settings.patience),
                line=_line,
            ),
            weights=self.network.state_dict,
            optimiser=self.optimiser,
            checkpoint=None if work is None else Checkpoint(work / FILE, identity, strict=True),
            say=say,
        )

    @property
    def _identity(self) -> dict[str, Any]:
        """What a checkpoint must share to be resumed. Settings that only divide or lengthen the work may differ."""
        free = {"at_once", "updates", "patience", "device"}
        chosen = {name: value for name, value in asdict(self.settings).items() if name not in free}
        size = sum(len(turn) for dialogue in self.data for turn in dialogue)
        data = {"kind": self.objective.kind, "seed": self.seed, "dialogues": len(self.data), "tokens": size}
        return {**data, "settings": chosen}

    def _measure(self, done: int) -> Point:
        """A point of the curve on the held-out dialogues after `done` updates."""
        self.network.eval()
        with torch.no_grad():
            measured = self.objective.measure(self.held, self._generator(3))
        self.network.train()
        return {"update": float(done), "weight": self.objective.weight(done), **measured}

    def _update(self, number: int) -> None:
        """One gradient step on the batch of this number."""
        losses = self.objective.losses(self._batch(number), number, self._generator(2, number))
        descend(self.optimiser, losses, clip=self.settings.clip)

    def _generator(self, *names: int) -> torch.Generator:
        """A generator that depends on the seed and `names`; on the CPU, so that every device draws the same numbers."""
        return torch.Generator().manual_seed(int(np.random.default_rng([self.seed, *names]).integers(2**62)))

    def _batch(self, number: int) -> Tokens:
        """The dialogues of one update; every epoch has an order of its own."""
        size = self.settings.batch
        epoch, at = divmod(number, -(-len(self.data) // size))
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, self._batches_of_epoch(epoch)
        return [self.data[index] for index in self.batches[at]]

    def _batches_of_epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch as positions of dialogues; those of a batch have similar numbers of turns."""
        size = self.settings.batch
        rng = np.random.default_rng([self.seed, 1, epoch])
        order = rng.permutation(len(self.data))
        batches: list[list[int]] = []
        for first in range(0, len(order), size * _POOL):
            pool = sorted(order[first : first + size * _POOL], key=lambda index: len(self.data[index]))
            batches += [pool[start : start + size] for start in range(0, len(pool), size)]
        return [batches[index] for index in rng.permutation(len(batches))]


def _counted(curve: Curve) -> list[int]:
    """Indices of the points that early stopping considers: those with the annealed term at its full weight."""
    return [index for index, point in enumerate(curve) if point["weight"] >= 1.0]


def _best(curve: Curve) -> int:
    """Index of the lowest `bound` among the points at full weight; among all points if there are none."""
    return min(_counted(curve) or range(len(curve)), key=lambda index: curve[index]["bound"])


def _is_stale(curve: Curve, patience: int) -> bool:
    """Whether none of the last `patience` points at full weight reached the best one."""
    seen = [curve[index]["bound"] for index in _counted(curve)]
    return len(seen) > patience and min(seen[-patience:]) > min(seen)


def _line(point: Point) -> str:
    """The progress line of a point: the update, and its held-out numbers."""
    measured = (f"{name} {value:.4f}" for name, value in point.items() if name not in ("update", "weight"))
    return f"update {point['update']:.0f}: held-out " + ", ".join(measured)
