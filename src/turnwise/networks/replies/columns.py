"""What a reply model says about a reply, as named columns: kinds, score, likelihoods, relation to earlier turns."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from turnwise.networks.replies.reply_model import (
    Packed,
    ReplyModel,
    Tokens,
    context_tokens,
    pack,
    reply_tokens,
)

KIND_NAMES = ("right", "random", "same dialogue", "overlap", "wrong", "machine", "copy", "salad", "generic")
WHOLE = (*(f"log p({name})" for name in KIND_NAMES), "score")
LIKELIHOOD = ("likelihood mean", "likelihood sum", "likelihood least", "likelihood three least")
RELATION = ("contradicts", "follows")
COLUMNS = (*WHOLE, *LIKELIHOOD, *RELATION)  # of both readers
INFORMED = "informed"  # of the large reader; see `informed`
ENOUGH = 12.0  # nats by which a context should make its reply likelier
CONTRADICTION, ENTAILMENT = 2, 0  # of the relation head

Group = tuple[
    Sequence[Tokens], Sequence[Tokens]
]  # turns of the context, oldest first, and replies, as tokens
Table = NDArray[np.float32]


def columns(
    model: ReplyModel,
    groups: Sequence[Group],
    *,
    device: str = "cpu",
    half: bool = False,
    enough: float | None = ENOUGH,
) -> Table:
    """(n, k + 1) `COLUMNS` and `INFORMED` of all replies, group by group; with no `enough`, `COLUMNS` alone."""
    coded = [(context_tokens(turns), [reply_tokens(reply) for reply in replies]) for turns, replies in groups]
    with torch.inference_mode(), torch.autocast(device, torch.bfloat16, enabled=half):
        found = _Pass(model, pack(coded).to(device))
        tokens = found.token_likelihoods()
        likelihoods = [[one.mean(), one.sum(), one.min(), np.sort(one)[:3].mean()] for one in tokens]
        parts = [found.heads(), np.array(likelihoods), found.relation()]
        if enough is not None:
            alone = _Pass(model, pack([(context_tokens(()), replies) for _, replies in coded]).to(device))
            anywhere = np.array([one.sum() for one in alone.token_likelihoods()])
            parts.append(informed(np.array([one.sum() for one in tokens]) - anywhere, enough)[:, None])
    return np.concatenate(parts, axis=1).astype(np.float32)


def informed(gain: Table, enough: float) -> Table:
    """-softplus(enough - gain): near 0 if the context makes the reply much likelier, low if it fits anywhere.

    The gain is the pointwise mutual information of context and reply, in nats.
    """
    found: Table = -np.logaddexp(0.0, enough - gain)
    return found


class _Pass:
    """The hidden states of one packed batch, and what the heads read from them; replies in order."""

    def __init__(self, model: ReplyModel, packed: Packed) -> None:
        self.model, self.packed = model, packed
        self.hidden = model.hidden(packed)
        self.pooled = model.pooled(self.hidden, packed)[packed.there]

    def heads(self) -> Table:
        """(n, 10) the log probabilities of the nine kinds, and the score."""
        kinds = self.model.kinds(self.pooled).float().log_softmax(-1)
        return _array(torch.cat([kinds, self.model.score(self.pooled).float()], -1))

    def relation(self) -> Table:
        """(n, 2) the log probabilities of contradicting and of following from the context."""
        found = self.model.relation(self.pooled).float().log_softmax(-1)
        return _array(found[:, [CONTRADICTION, ENTAILMENT]])

    def token_likelihoods(self) -> list[Table]:
        """The log likelihoods of each reply's tokens."""
        wanted = self.packed.segments > 0
        found = _array(self.model.log_likelihoods(self.hidden, self.packed, wanted))
        rows, _ = wanted.nonzero(as_tuple=True)
        owner = _array(rows * 1000 + self.packed.segments[wanted]).astype(np.int64)
        return np.split(found, np.flatnonzero(np.diff(owner)) + 1)


def _array(tensor: Tensor) -> Table:
    found: Table = tensor.cpu().numpy()
    return found


def batches(groups: Sequence[Group], most: int) -> Iterator[list[int]]:
    """Indices of groups of similar length, at most `most` tokens with padding (and at least one group) at a time."""
    sizes = np.array([sum(map(len, turns)) + sum(map(len, some)) for turns, some in groups])
    batch: list[int] = []
    for at in np.argsort(sizes, kind="stable"):
        if batch and (len(batch) + 1) * (sizes[at] + 16) > most:
            yield batch
            batch = []
        batch.append(int(at))
    if batch:
        yield batch
