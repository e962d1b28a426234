"""Batches of dialogues: the vectors of their rows, and the row of each logged and target reply."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from turnwise.encode.neural.dialogue import DialogueEncoder
from turnwise.encode.neural.dialogue_layout import Script
from turnwise.estimators.neural.training_data import TrainingData
from turnwise.types import Ints


class Batch(NamedTuple):
    """B dialogues of at most T turns; the m rows are the vectors of all their replies.

    `logged` and `target` are indices of rows, `weight` is the weight of each of the target's K replies at a turn.
    """

    rows: torch.Tensor  # (m, d)
    logged: torch.Tensor  # (B, T) row of the logged reply of a turn; 0 beyond the end
    target: torch.Tensor  # (B, T, K) rows of the target's replies
    weight: torch.Tensor  # (B, T, K)
    inside: torch.Tensor  # (B, T) whether the turn exists
    last: torch.Tensor  # (B,) index of the last turn
    reward: torch.Tensor  # (B,)


class Source(Protocol):
    """A source of the vectors of rows: frozen, or an encoder in training."""

    width: int

    def rows(self, dialogues: Ints, rows: Ints) -> torch.Tensor:
        """(m, width) vectors of the rows of these dialogues; both are indices into all data."""
        ...

    def parameters(self) -> list[torch.nn.Parameter]:
        """The parameters to train; none if the vectors are frozen."""
        ...


class Frozen:
    """Vectors that do not change."""

    def __init__(self, vectors: torch.Tensor) -> None:
        self.vectors, self.width = vectors, vectors.shape[1]

    def rows(self, dialogues: Ints, rows: Ints) -> torch.Tensor:
        """(m, width) the vectors of these rows; `dialogues` is not used."""
        return self.vectors[torch.from_numpy(rows).to(self.vectors.device)]

    def parameters(self) -> list[torch.nn.Parameter]:
        """An empty list: nothing is trained."""
        return []


class Tuned:
    """Vectors of an encoder in training, without dropout as in the released code."""

    def __init__(self, reader: DialogueEncoder, scripts: Sequence[Script]) -> None:
        self.reader, self.scripts, self.width = reader, scripts, reader.dimension
        self.model: Any = reader.fresh_model().requires_grad_(True)

    def rows(self, dialogues: Ints, rows: Ints) -> torch.Tensor:
        """(m, width) the vectors of all rows of these dialogues, with gradients; `rows` is not used."""
        return self.reader.forward(self.model, [self.scripts[index] for index in dialogues.tolist()])

    def parameters(self) -> list[torch.nn.Parameter]:
        """The parameters of the encoder that need a gradient."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]


class Batches:
    """Builds the batch of any dialogues."""

    def __init__(self, data: TrainingData, source: Source, device: str) -> None:
        self.source, self.device = source, device
        self.first_row = data.row
        lengths = data.lengths
        self.size = len(lengths)
        turn = np.arange(int(lengths.max()))
        inside = turn < lengths[:, None]  # (N, T)
        point = np.where(inside, data.first[:-1, None] + turn, 0)
        start = data.row[:-1, None]
        # Rows are numbered from the first row of their dialogue; a batch shifts them by the rows before it.
        self.logged = np.where(inside, data.logged[point] - start, 0)
        weight = np.where(inside[..., None], data.weight[point], 0.0)
        self.target = np.where(weight > 0, data.target[point] - start[..., None], 0)
        self.weight, self.inside, self.last = weight, inside, lengths - 1
        self.reward = data.reward

    def __getitem__(self, dialogues: Ints) -> Batch:
        """The batch of these dialogues, by index, in this order."""
        start, stop = self.first_row[dialogues], self.first_row[dialogues + 1]
        shift = np.cumsum(stop - start) - (stop - start)
        rows = np.repeat(start - shift, stop - start) + np.arange(int((stop - start).sum()))
        return Batch(
            self.source.rows(dialogues, rows),
            self._tensor(self.logged[dialogues] + shift[:, None]),
            self._tensor(self.target[dialogues] + shift[:, None, None]),
            self._tensor(self.weight[dialogues]).float(),
            self._tensor(self.inside[dialogues]),
            self._tensor(self.last[dialogues]),
            self._tensor(self.reward[dialogues]).float(),
        )

    def _tensor(self, array: Any) -> torch.Tensor:
        """The array as a tensor on the device."""
        return torch.from_numpy(array).to(self.device)
