"""The vector of each text of some episodes. Each text goes through the encoder once, and the cache keeps it."""

from functools import lru_cache

import numpy as np

from turnwise.encode import Cache, TextEncoder, load
from turnwise.types import Floats


@lru_cache(maxsize=4)
def encoder(model: str) -> TextEncoder:
    return load(model, cache=Cache())


@lru_cache(maxsize=2)
def vectors(texts: tuple[str, ...], model: str) -> Floats:
    """(m, q); a text that has no vector is at the origin."""
    return np.nan_to_num(encoder(model).encode(texts).astype(np.float64))
