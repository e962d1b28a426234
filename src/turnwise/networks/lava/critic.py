"""The offline critic of latent actions (section 4): a GRU over the turns of a dialogue and its goal.

Q(s, a) reads the user's words, the belief state, the action's point and the goal; every earlier action is the logged
one. Its estimate is the minimum of K passes with dropout, in place of the double critic of PLAS; the paper does not
state K.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from turnwise.networks.lava.corpus import Corpus
from turnwise.networks.lava.network import Reader, Sizes


class Batch(NamedTuple):
    """Dialogues and their turns; rows are all turns, dialogue after dialogue."""

    rows: Tensor  # (m,) rows of the corpus
    there: Tensor  # (b, t) whether a dialogue has such a turn
    user: Tensor  # (m, u)
    state: Tensor  # (m, s)
    goal: Tensor  # (m, g)
    last: Tensor  # (m,) whether a turn is the last of its dialogue

    @classmethod
    def of(cls, corpus: Corpus, dialogues: Tensor) -> "Batch":
        """The turns of these dialogues of the corpus, by index."""
        turns = corpus.turns[dialogues]
        turns = turns[:, : int((turns >= 0).sum(dim=1).max())]
        there = turns >= 0
        rows = turns[there]
        lengths = there.sum(dim=1)
        goal = corpus.goal[dialogues].repeat_interleave(lengths, dim=0)
        last = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
        last[lengths.cumsum(dim=0) - 1] = True
        return cls(rows, there, corpus.user[rows], corpus.state[rows], goal, last)


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a critic; `goal` is the number of goal bits."""

    sizes: Sizes
    goal: int
    hidden: int
    dropout: float
    passes: int  # K, dropout passes


class Critic(nn.Module):
    """The recurrent network of Q."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.passes = shape.passes
        self.reader = Reader(shape.sizes)
        inputs = shape.sizes.hidden + shape.sizes.state + shape.sizes.latent + shape.goal
        self.recurrent = nn.GRU(inputs, shape.hidden, batch_first=True)
        self.dropout = nn.Dropout(shape.dropout)
        self.value = nn.Linear(shape.hidden, 1)

    def read(self, batch: Batch) -> Tensor:
        """(m, d) the input at each turn, without the action."""
        return torch.cat([self.reader(batch.user), batch.state, batch.goal], dim=1)

    def logged(self, known: Tensor, action: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """(m, h) hidden states after the logged actions, and (m, h) before them (zeros at first turns).

        `known` (m, d) is what `read` returns, `action` (m, z), `there` (b, t) which turns exist.
        """
        inputs = known.new_zeros(*there.shape, known.shape[1] + action.shape[1])
        inputs[there] = torch.cat([known, action], dim=1)
        states, _ = self.recurrent(inputs)
        before = torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)
        return states[there], before[there]

    def instead(self, known: Tensor, action: Tensor, before: Tensor) -> Tensor:
        """(m, h) hidden states after another action; all earlier actions are the logged ones."""
        _, state = self.recurrent(
            torch.cat([known, action], dim=1).unsqueeze(1), before.unsqueeze(0).contiguous()
        )
        return torch.as_tensor(state).squeeze(0)

    def estimate(self, states: Tensor) -> Tensor:
        """(m,) Q between 0 and 1: the minimum of K passes with dropout, which differ in training mode only."""
        dropped = self.dropout(states.unsqueeze(0).expand(self.passes, -1, -1))
        least: Tensor = self.value(dropped).squeeze(2).sigmoid().amin(dim=0)
        return least
