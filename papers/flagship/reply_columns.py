"""What a reply model says about a reply, as named columns: kinds, score, likelihoods, relation to earlier turns."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from papers.flagship.reply_model import Packed, ReplyModel, Tokens, context_tokens, pack, reply_tokens

KIND_NAMES = ("right", "random", "same dialogue", "overlap", "wrong", "machine", "copy", "salad", "generic")
WHOLE = (*(f"log p({name})" for name in KIND_NAMES), "score")
LAST = tuple(f"{name}, last turn" for name in WHOLE)
LIKELIHOOD = ("likelihood mean", "likelihood sum", "likelihood least", "likelihood three least")
PMI = ("pmi mean", "pmi sum", "pmi most", "pmi least")
BACKWARD = ("backward pmi",)
RELATION = ("contradicts last", "follows last", "contradicts own", "follows own")
COLUMNS = (*WHOLE, *LAST, *LIKELIHOOD, *PMI, *BACKWARD, *RELATION)
# What the small model learns: the columns that need three passes of the large one instead of six.
QUICK = (*WHOLE, *LAST, *LIKELIHOOD, *PMI, *RELATION[:2])
CONTRADICTION, ENTAILMENT = 2, 0  # of the relation head
UNRELATED = -1.1  # about log 1/3, for a reply without an earlier turn of its own speaker

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
    quick: bool = False,
) -> Table:
    """(n, k) the columns of all replies, group by group: `COLUMNS`, or with `quick` those of `QUICK`."""
    with torch.inference_mode(), torch.autocast(device, torch.bfloat16, enabled=half):
        first, relation = _quick(model, groups, device)
        parts = [first, relation] if quick else [first, _slow(model, groups, device, relation)]
        return np.concatenate(parts, axis=1).astype(np.float32)


def _run(
    model: ReplyModel, device: str, contexts: Sequence[Tokens], replies: Sequence[Sequence[Tokens]]
) -> "_Pass":
    return _Pass(model, pack(list(zip(contexts, replies, strict=True))).to(device))


def _quick(model: ReplyModel, groups: Sequence[Group], device: str) -> tuple[Table, Table]:
    """The columns of kinds, scores, likelihoods and PMI, and the relation to the last turn."""
    replies = [[reply_tokens(reply) for reply in group[1]] for group in groups]
    whole = _run(model, device, [context_tokens(turns) for turns, _ in groups], replies)
    last = _run(model, device, [context_tokens(turns[-1:]) for turns, _ in groups], replies)
    alone = _run(model, device, [context_tokens(()) for _ in groups], replies)
    with_context, without = whole.token_likelihoods(), alone.token_likelihoods()
    likelihoods = [[one.mean(), one.sum(), one.min(), np.sort(one)[:3].mean()] for one in with_context]
    gains = (a - b for a, b in zip(with_context, without, strict=True))
    pmi = [[one.mean(), one.sum(), one.max(), one.min()] for one in gains]
    return np.concatenate(
        [whole.heads(), last.heads(), np.array(likelihoods), np.array(pmi)], 1
    ), last.relation()


def _slow(model: ReplyModel, groups: Sequence[Group], device: str, of_last: Table) -> Table:
    """Backward PMI, the relation to the last turn (given) and that to the speaker's own turn before it."""
    replies = [[reply_tokens(reply) for reply in group[1]] for group in groups]
    lasts = [reply_tokens(turns[-1]) for turns, _ in groups]
    own = _run(model, device, [context_tokens(turns[-2:-1]) for turns, _ in groups], replies)
    flat = [(reply, n) for n, (_, some) in enumerate(groups) for reply in some]
    backward = _run(
        model, device, [context_tokens([reply], reversed_=True) for reply, _ in flat], [[lasts[n]] for _, n in flat]
    )  # fmt: skip
    plain = _run(model, device, [context_tokens(()) for _ in groups], [[one] for one in lasts])
    own_known = np.repeat([len(turns) > 1 for turns, _ in groups], [len(some) for some in replies])
    mean_last = np.array([one.mean() for one in plain.token_likelihoods()])
    gain = np.array([one.mean() for one in backward.token_likelihoods()]) - mean_last[[n for _, n in flat]]
    of_own = np.where(own_known[:, None], own.relation(), UNRELATED)
    return np.concatenate([gain[:, None], of_last, of_own], 1)


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
