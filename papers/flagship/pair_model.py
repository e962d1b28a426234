"""A small cross-encoder that predicts the columns of the large reply model from a context and a reply."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from papers.flagship.bert import Bert
from turnwise.networks.replies.pairs import PADDING, Tokens

HIDDEN = 256


class PairModel(nn.Module):
    """BERT over context and reply, and a head on its first hidden state and the mean over the reply."""

    def __init__(self, bert: Bert, columns: int) -> None:
        super().__init__()
        self.bert = bert
        self.inner = nn.Linear(2 * bert.shape.width, HIDDEN)
        self.outer = nn.Linear(HIDDEN, columns)

    def forward(self, tokens: Tensor, kinds: Tensor, there: Tensor) -> Tensor:
        """(b, columns) the predicted columns, in standard deviations."""
        hidden = self.bert(tokens, kinds, there)
        inside = (kinds & there.to(kinds.dtype)).to(hidden.dtype)[..., None]
        mean = (hidden * inside).sum(1) / inside.sum(1).clamp(min=1)
        out: Tensor = self.outer(functional.gelu(self.inner(torch.cat([hidden[:, 0], mean], -1))))
        return out

    def trainable(self) -> dict[str, nn.Parameter]:
        """The weights that training changes, by name: what is saved, as a difference from the base."""
        return {name: one for name, one in self.named_parameters() if one.requires_grad}


def pad(pairs: Sequence[tuple[Tokens, int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens, token types and mask of a batch, padded to the longest."""
    longest = max(len(tokens) for tokens, _ in pairs)
    tokens = np.full((len(pairs), longest), PADDING, np.int64)
    kinds, there = np.zeros_like(tokens), np.zeros(tokens.shape, bool)
    for row, (one, start) in enumerate(pairs):
        tokens[row, : len(one)] = one
        kinds[row, start : len(one)] = 1
        there[row, : len(one)] = True
    return torch.from_numpy(tokens), torch.from_numpy(kinds), torch.from_numpy(there)
