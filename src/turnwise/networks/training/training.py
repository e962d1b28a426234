"""Training on dialogues: order, updates, looks at what is held out, early stopping, checkpoints.

An update adds up the gradients of its parts (`at_once` dialogues each), so that how a batch is cut does not change it.
Order and chance follow from the seed and the number of the update: training that was stopped goes on as if it had
not been. What is learned is the matter of an `Objective`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from turnwise.encode.neural.loading import default_device
from turnwise.errors import TooFewItems, Unmeasured, UsageError
from turnwise.networks.hred.encoder import Tokens
from turnwise.networks.subwords import Subwords
from turnwise.networks.training.checkpoint import Checkpoint
from turnwise.networks.training.task import Trained
from turnwise.types import Dialogue

Say = Callable[[str], None]  # takes one line of progress
Point = dict[str, float]  # a look at the held-out dialogues
_POOL = 32  # batches that are sorted by length together
_FEWEST = 10  # dialogues
_AT_LEAST = {"vocabulary": 8, "max_turns": 2, "max_tokens": 2}  # 1 for every other number


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The sizes of the encoder, and how it is trained. Learning rate and below are not stated in the papers."""

    vocabulary: int = 8000
    embedding: int = 256
    utterance: int = 512
    context: int = 1000  # the paper: 2000
    max_tokens: int = 40  # of a turn
    max_turns: int = 12  # a longer dialogue is read in pieces
    batch: int = 64  # dialogues in an update
    at_once: int = 64  # of them in memory together
    learning_rate: float = 1e-3
    clip: float = 1.0  # greatest norm of a gradient
    updates: int = 100_000  # at most
    every: int = 500  # updates between looks at the held-out dialogues
    patience: int = 5  # looks without a better one
    held_out: float = 0.05  # of the dialogues
    device: str = field(default_factory=default_device)

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if isinstance(value, int) and name not in ("latent", "anneal") and value < _AT_LEAST.get(name, 1):
                raise UsageError(f"training cannot take `{name}` = {value}")
        if not 0 < self.held_out < 1:
            raise UsageError(f"training takes `held_out` between 0 and 1, not {self.held_out}")


class Objective(Protocol):
    """What is learned. Sums are over the words or pairs of a whole batch, whatever its parts."""

    @property
    def kind(self) -> str: ...

    @property
    def network(self) -> torch.nn.Module: ...

    def losses(self, batch: Tokens, number: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
        """The loss of each part of a batch; they add up to the loss of the batch."""
        ...

    def measure(self, held: Tokens, generator: torch.Generator) -> Point:
        """How the held-out dialogues fare: `bound`, which is to fall, and what else is to be seen."""
        ...

    def weight(self, number: int) -> float:
        """Early stopping looks only at what was measured once this is 1."""
        ...


def train(
    dialogues: Sequence[Dialogue],
    objective: Callable[[Subwords, Tokens], Objective],
    *,
    settings: Settings,
    rng: np.random.Generator,
    say: Say,
    work: Path | None,
) -> Trained:
    """Train what `objective` makes on these dialogues, of which a part is held out."""
    seed = int(rng.integers(2**32))
    spoken = ([turn.text for turn in dialogue.turns if turn.text.strip()] for dialogue in dialogues)
    texts = [turns for turns in spoken if len(turns) > 1]
    if len(texts) < _FEWEST:
        raise TooFewItems(
            f"training needs {_FEWEST} dialogues of 2 turns or more, and there are {len(texts)}"
        )
    order = np.random.default_rng([seed, 0]).permutation(len(texts))
    n_held = max(1, round(settings.held_out * len(texts)))
    held, kept = [texts[at] for at in order[:n_held]], [texts[at] for at in order[n_held:]]
    subwords = Subwords.learn((text for turns in kept for text in turns), size=settings.vocabulary)
    data = _encoded(kept, subwords, settings)
    # The library initialises from its global generator, whose state is put back.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        learned = objective(subwords, data)
    run = _Run(settings, learned, data, _encoded(held, subwords, settings), seed)
    run.go(Checkpoint(work, run.identity), say)
    config = {"settings": asdict(replace(settings, device="cpu")), "subwords": subwords.stored()}
    best = {**run.best_point, "dialogues": len(held)}
    card = {"held_out": best, "trained_on": len(kept), "languages": "those of the training text"}
    return Trained(kind=learned.kind, tensors=run.tensors(), config=config, card=card, curve=run.curve)


def _encoded(texts: Sequence[Sequence[str]], subwords: Subwords, settings: Settings) -> list[list[list[int]]]:
    """Dialogues as tokens, in pieces that overlap by a turn, which is then context."""
    flat = subwords.encode([text for turns in texts for text in turns], longest=settings.max_tokens)
    ends = np.cumsum([0, *map(len, texts)])
    return [
        flat[first : min(end, first + settings.max_turns)]
        for start, end in pairwise(ends.tolist())
        for first in range(start, end - 1, settings.max_turns - 1)
    ]


class _Run:
    def __init__(
        self, settings: Settings, objective: Objective, data: Tokens, held: Tokens, seed: int
    ) -> None:
        self.settings, self.objective, self.data, self.held, self.seed = settings, objective, data, held, seed
        self.network = objective.network.to(settings.device)
        # With the usual 1e-8 an update of a weight whose gradient is rounding error is as large as any other, and
        # cutting a batch in parts moved the loss by .006 after 20 updates; so it moves by 4e-5.
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate, eps=1e-6)
        self.done = 0
        self.curve: list[Point] = []
        self.best: dict[str, torch.Tensor] = {}
        self.epoch, self.batches = -1, list[list[int]]()

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal for a checkpoint to be ours; how the work is cut and how long it goes on is not."""
        how = {"at_once", "updates", "patience", "device"}
        chosen = {name: value for name, value in asdict(self.settings).items() if name not in how}
        size = sum(len(turn) for dialogue in self.data for turn in dialogue)
        told = {"kind": self.objective.kind, "seed": self.seed, "dialogues": len(self.data), "tokens": size}
        return {**told, "settings": chosen}

    def go(self, checkpoint: Checkpoint, say: Say) -> None:
        if (state := checkpoint.read(self.network, self.optimiser)) is not None:
            self.done, self.curve, self.best = state
            say(f"resumed after update {self.done}")
        while self.done < self.settings.updates and not self._stale():
            self._update(self.done)
            self.done += 1
            if self.done % self.settings.every == 0 or self.done == self.settings.updates:
                line = self._look()
                checkpoint.write(self.network, self.optimiser, self.done, self.curve, self.best)
                say(line)

    @property
    def best_point(self) -> Point:
        return min(self._counted() or self.curve, key=lambda point: point["bound"])

    def tensors(self) -> dict[str, NDArray[Any]]:
        return {name: tensor.detach().cpu().numpy() for name, tensor in self.best.items()}

    def _counted(self) -> list[Point]:
        return [point for point in self.curve if point["weight"] >= 1.0]

    def _stale(self) -> bool:
        seen, patience = [point["bound"] for point in self._counted()], self.settings.patience
        return len(seen) > patience and min(seen[-patience:]) > min(seen)

    def _look(self) -> str:
        """How the held-out dialogues fare; the best weights are kept."""
        self.network.eval()
        with torch.no_grad():
            measured = self.objective.measure(self.held, self._chance(3))
        self.network.train()
        point = {"update": float(self.done), "weight": self.objective.weight(self.done), **measured}
        self.curve.append(point)
        if point is self.best_point:
            state = self.network.state_dict()
            self.best = {name: tensor.detach().cpu().clone() for name, tensor in state.items()}
        return f"update {self.done}: held-out " + ", ".join(
            f"{name} {value:.4f}" for name, value in measured.items()
        )

    def _update(self, number: int) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        total = 0.0
        for loss in self.objective.losses(self._batch(number), number, self._chance(2, number)):
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        if not np.isfinite(total):
            raise Unmeasured(f"training diverged at update {number}; a lower learning rate may help")
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimiser.step()

    def _chance(self, *names: int) -> torch.Generator:
        """On the CPU, so that every device draws the same."""
        return torch.Generator().manual_seed(int(np.random.default_rng([self.seed, *names]).integers(2**62)))

    def _batch(self, number: int) -> Tokens:
        """Dialogues of like length, drawn anew in every epoch."""
        size = self.settings.batch
        epoch, at = divmod(number, -(-len(self.data) // size))
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, self._deal(epoch)
        return [self.data[place] for place in self.batches[at]]

    def _deal(self, epoch: int) -> list[list[int]]:
        size = self.settings.batch
        rng = np.random.default_rng([self.seed, 1, epoch])
        order = rng.permutation(len(self.data))
        batches: list[list[int]] = []
        for first in range(0, len(order), size * _POOL):
            pool = sorted(order[first : first + size * _POOL], key=lambda place: len(self.data[place]))
            batches += [pool[start : start + size] for start in range(0, len(pool), size)]
        return [batches[place] for place in rng.permutation(len(batches))]
