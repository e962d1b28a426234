"""One vector from the vectors of a text's tokens."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.encoder import Vectors

Pooling = Literal["mean", "cls", "max", "last"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


def pool(hidden: NDArray[np.float32], chosen: NDArray[np.bool_], pooling: Pooling) -> Vectors:
    """(b, t, d) states and (b, t) which tokens count -> (b, d); NaN where none does.

    `cls` is the first token that counts, as `last` is the last: over a whole input that is [CLS] or its like.
    """
    counted = chosen.sum(axis=1, keepdims=True)
    pooled: NDArray[Any]
    if pooling == "mean":
        pooled = np.where(chosen[..., None], hidden, np.float32(0)).sum(axis=1) / np.maximum(counted, 1)
    elif pooling == "max":
        pooled = np.where(chosen[..., None], hidden, -np.inf).max(axis=1)
    else:
        length = chosen.shape[1]
        first = chosen.argmax(axis=1)
        last = length - 1 - chosen[:, ::-1].argmax(axis=1)
        pooled = hidden[np.arange(len(hidden)), first if pooling == "cls" else last]
    return np.where(counted > 0, pooled, np.nan).astype(np.float32)


def unit(vectors: Vectors) -> Vectors:
    """The vectors scaled to length 1; a vector of zeros stays as it is."""
    lengths = np.sqrt(np.square(vectors, dtype=np.float32).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)
