"""The vectors of the texts of some episodes; each text is encoded once, and the cache stores it."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from turnwise.encode import Cache, TextEncoder, load
from turnwise.types import Floats


@lru_cache(maxsize=4)
def encoder(model: str) -> TextEncoder:
    """The encoder of this name or folder with the disk cache; the last four are kept loaded."""
    return load(model, cache=Cache())


_registered: dict[str, tuple[tuple[str, ...], Floats]] = {}  # model -> texts and their vectors


def register_vectors(texts: tuple[str, ...], model: str, found: Floats) -> None:
    """Register vectors that another process has computed.

    `vectors` returns them for exactly these texts and this model.
    """
    _registered[model] = (texts, found)


@lru_cache(maxsize=2)
def vectors(texts: tuple[str, ...], model: str) -> Floats:
    """(m, q) the vectors of the texts; zeros for a text without a vector.

    The results of the last two calls are kept.
    """
    known, found = _registered.get(model, ((), None))
    return found if found is not None and known == texts else encoded(texts, model)


def encoded(texts: Sequence[str], model: str) -> Floats:
    """(m, q) the vectors of the texts from the encoder or its disk cache, with NaN replaced by 0."""
    return np.nan_to_num(encoder(model).encode(texts).astype(np.float64))
