"""The small reader of replies: MiniLM with other weights, which imitates the large one.

Its weights are stored as 4-bit differences from MiniLM's. They are computed in float32, or in whole numbers with the
ranges that ship (`precision` "int8"), by ONNX Runtime; float32 also by torch. Inputs are normalised texts. A row does
not depend on the other texts that are read with it.
"""

import math
from collections import ChainMap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.batches import by_shape
from turnwise.encode.models.differences import unpack
from turnwise.encode.models.folder import Folder
from turnwise.encode.transformer.bert_folder import plain_shape, read_weights
from turnwise.encode.transformer.plain_bert import open_bert, shipped_ranges
from turnwise.encode.transformer.precision import Chosen, default_device
from turnwise.errors import DataError
from turnwise.networks.replies.pairs import pair_tokens
from turnwise.networks.replies.words import Words
from turnwise.types import Floats

BUDGET = 2048  # tokens of a batch
GRID = 16  # multiple to which the length of a reply is rounded up
Text = tuple[str, tuple[str, ...]]  # normalised reply, and turns of the context, newest first


class SmallReader:
    """A cross-encoder of MiniLM's size."""

    def __init__(self, stored: Folder, base: Path, precision: Chosen) -> None:
        shape = plain_shape(base)
        if shape is None:
            raise DataError(f"{base}: is no plain BERT, which the small reader starts from")
        start = read_weights(base, shape)
        made = unpack(stored.tensors, start)
        self.head = {name: made.pop(name) for name in list(made) if name.startswith("head.")}
        ranges = shipped_ranges(stored.kind) if precision == "int8" else None
        device = default_device() if precision == "fp32" else "cpu"
        self.bert = open_bert(
            shape,
            ChainMap(made, start),  # type: ignore[arg-type]
            device=device,
            precision=precision,
            ranges=None if ranges is None else ranges.ranges,
        )
        self.mean, self.spread = (
            np.array(stored.config[name], dtype=np.float32) for name in ("mean", "spread")
        )
        self.words = Words(base, "")

    def read(self, texts: Sequence[Text], /) -> Floats:
        """(n, k) the columns of each reply."""
        tokens = self.words.tokens([text for reply, context in texts for text in (reply, *context)])
        pairs = [
            pair_tokens([tokens[turn] for turn in reversed(context)], tokens[reply])
            for reply, context in texts
        ]
        found = np.zeros((len(texts), len(self.mean)), np.float32)
        lengths = [len(ids) for ids, _ in pairs]
        shapes = [(len(ids), min(len(ids) - 1, _padded(len(ids) - start))) for ids, start in pairs]
        for batch in by_shape(shapes, cost=lengths, budget=BUDGET):
            ids = np.stack([pairs[at][0] for at in batch])
            starts = np.array([pairs[at][1] for at in batch])
            length, last = shapes[batch[0]]
            kinds = (np.arange(length) >= starts[:, None]).astype(np.int64)
            # Of the first token and of all of the reply.
            picked = np.concatenate([[0], np.arange(length - last, length)])
            hidden = self.bert.states(ids, kinds, picked=picked)
            inside = kinds[:, picked, None].astype(np.float32)
            pooled = np.concatenate(
                [hidden[:, 0], (hidden * inside).sum(axis=1) / inside.sum(axis=1)], axis=1
            )
            found[batch] = [self._columns(row) for row in pooled]
        return (found * self.spread + self.mean).astype(np.float64)

    def _columns(self, pooled: NDArray[np.float32]) -> NDArray[np.float32]:
        """(k,) the columns of one reply: the last digit of a product over a batch depends on the other replies."""
        inner = _gelu(self.head["head.inner.weight"] @ pooled + self.head["head.inner.bias"])
        return np.asarray(self.head["head.outer.weight"] @ inner + self.head["head.outer.bias"])


def _gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """x times the share of a normal distribution below it."""
    below = np.array([math.erf(value) for value in (x / math.sqrt(2)).tolist()])
    return np.asarray(x * (0.5 * (1 + below)), dtype=np.float32)


def _padded(length: int) -> int:
    """The length of a reply rounded up, so that replies of similar lengths are read together."""
    return -(-length // GRID) * GRID
