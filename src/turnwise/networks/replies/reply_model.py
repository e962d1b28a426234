"""A language model that also tells kinds of replies apart: a Llama with adapters and three small heads.

Its input is a context and several replies, packed into one sequence (`llama.py`). The heads read the hidden state at
the end of a reply and the mean over the reply: the kind of reply (logged, random, copied, ...), a score that is highest
for the logged reply, and whether the reply contradicts or follows from the context (trained on sentence pairs).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from turnwise.networks.replies.llama import CONTEXT, END, PADDING, REVERSED, START, Llama, attention_mask

Tokens = NDArray[np.int64]
CONTEXT_TOKENS, REPLY_TOKENS = 112, 104  # longest context, cut on the left, and longest reply: about 80 words
MULTIPLE = 8  # lengths are padded to a multiple of this, which fast attention needs
KINDS, RELATIONS = 9, 3
CHUNK = 8192  # tokens whose logits over the vocabulary are held at a time


def context_tokens(turns: Sequence[Tokens], *, joined: bool = False, reversed_: bool = False) -> Tokens:
    """The tokens of a context (oldest turn first), each turn with its end mark, cut on the left.

    With `joined`, only the last turn has an end mark. Without turns, it is the start mark alone.
    """
    parts: list[Tokens] = []
    for number, turn in enumerate(turns):
        parts.append(turn)
        if not joined or number == len(turns) - 1:
            parts.append(np.array([END], np.int64))
    flat = np.concatenate(parts)[-(CONTEXT_TOKENS - 1) :] if parts else np.zeros(0, np.int64)
    return np.concatenate([[REVERSED if reversed_ else START], flat])


def reply_tokens(reply: Tokens) -> Tokens:
    """The tokens of a reply with its end mark."""
    return np.concatenate([reply[: REPLY_TOKENS - 1], [END]])


@dataclass
class Packed:
    """Several contexts with their replies, one sequence per context. Shapes: b contexts, c replies, l tokens."""

    tokens: Tensor  # (b, l)
    positions: Tensor  # (b, l)
    segments: Tensor  # (b, l)
    before: (
        Tensor  # (b, l) index of the token before: for the first token of a reply, the last of the context
    )
    ends: Tensor  # (b, c) index of the last token of each reply; 0 where there is none
    there: Tensor  # (b, c) whether there is such a reply

    def to(self, device: torch.device | str) -> "Packed":
        """The same on a device."""
        return Packed(
            *(getattr(self, name).to(device, non_blocking=True) for name in self.__dataclass_fields__)
        )


def pack(groups: Sequence[tuple[Tokens, Sequence[Tokens]]]) -> Packed:
    """One sequence for each (context, replies)."""
    most = max(len(replies) for _, replies in groups)
    longest = max(len(context) + sum(map(len, replies)) for context, replies in groups)
    length = -(-longest // MULTIPLE) * MULTIPLE
    tokens, positions, before = (np.zeros((len(groups), length), np.int64) for _ in range(3))
    segments = np.full((len(groups), length), PADDING, np.int64)
    ends = np.zeros((len(groups), most), np.int64)
    there = np.zeros((len(groups), most), bool)
    for row, (context, replies) in enumerate(groups):
        size = len(context)
        tokens[row, :size] = context
        positions[row, :size] = np.arange(size)
        before[row, 1:size] = np.arange(size - 1)
        segments[row, :size] = CONTEXT
        at = size
        for number, reply in enumerate(replies):
            stop = at + len(reply)
            tokens[row, at:stop] = reply
            positions[row, at:stop] = size + np.arange(len(reply))
            before[row, at:stop] = np.arange(at - 1, stop - 1)
            before[row, at] = size - 1
            segments[row, at:stop] = number + 1
            ends[row, number] = stop - 1
            there[row, number] = True
            at = stop
    return Packed(*(torch.from_numpy(one) for one in (tokens, positions, segments, before, ends, there)))


class ReplyModel(nn.Module):
    """The network: hidden states by a Llama, and heads on a reply's last hidden state and its mean."""

    def __init__(self, llama: Llama) -> None:
        super().__init__()
        self.llama = llama
        width = 2 * llama.norm.shape[0]
        self.kinds = nn.Linear(width, KINDS)
        self.score = nn.Linear(width, 1)
        self.relation = nn.Linear(width, RELATIONS)

    def hidden(self, packed: Packed) -> Tensor:
        """(b, l, d) the hidden states."""
        states: Tensor = self.llama(packed.tokens, packed.positions, attention_mask(packed.segments))
        return states

    def pooled(self, hidden: Tensor, packed: Packed) -> Tensor:
        """(b, c, 2d) the last hidden state of each reply and the mean over its tokens."""
        replies = torch.arange(1, packed.ends.shape[1] + 1, device=hidden.device)
        inside = (packed.segments[:, None, :] == replies[None, :, None]).to(hidden.dtype)
        mean = inside @ hidden / inside.sum(-1, keepdim=True).clamp(min=1)
        index = packed.ends[..., None].expand(-1, -1, hidden.shape[-1])
        return torch.cat([hidden.gather(1, index), mean], -1).float()

    def log_likelihoods(self, hidden: Tensor, packed: Packed, wanted: Tensor) -> Tensor:
        """(n,) the log likelihood of each wanted token; `wanted` (b, l) is true for tokens of replies."""
        rows, columns = wanted.nonzero(as_tuple=True)
        found = []
        for start in range(0, len(rows), CHUNK):
            some = slice(start, start + CHUNK)
            logits = self.llama.token_logits(hidden[rows[some], packed.before[rows[some], columns[some]]])
            token = packed.tokens[rows[some], columns[some]]
            found.append(-functional.cross_entropy(logits.float(), token, reduction="none"))
        return torch.cat(found) if found else hidden.new_zeros(0, dtype=torch.float32)

    def trainable(self) -> dict[str, nn.Parameter]:
        """The adapters and the heads, by name: what is saved."""
        heads = {
            f"{head}.{name}": one
            for head in ("kinds", "score", "relation")
            for name, one in getattr(self, head).named_parameters()
        }
        return {**{f"llama.{name}": one for name, one in self.llama.adapters()}, **heads}
