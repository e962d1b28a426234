"""Which items a model was fitted to, kept as hashes: agreement with people on those says nothing about new ones."""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.views import told_of
from turnwise.types import Item

KEY = "seen"


def hashes(items: Sequence[Item]) -> NDArray[np.uint64]:
    """One number for each different reply and last turn, in plain words."""
    found = {code for item in items if (code := _hash(item)) is not None}
    return np.array(sorted(found), dtype=np.uint64)


def in_training(folder: Folder, items: Sequence[Item]) -> int:
    known = _known(folder)
    return sum(_hash(item) in known for item in items)


@cache
def _known(folder: Folder) -> frozenset[int]:
    return frozenset(folder.tensors[KEY].tolist()) if KEY in folder.tensors else frozenset()


def _hash(item: Item) -> int | None:
    told = told_of(item)
    if told is None:
        return None
    text = f"{told[1][0]}\0{told[0]}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
