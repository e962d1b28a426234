"""Hashes of the items that a model was fitted to, to warn when agreement is measured on training items."""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.encoded_items import reply_and_context
from turnwise.types import Item

KEY = "seen"  # name of the tensor of hashes in a model's folder
OF_DIMENSIONS = (
    "seen dimensions"  # of the items that regressions for single dimensions were fitted to in addition
)


def hashes(items: Sequence[Item]) -> NDArray[np.uint64]:
    """A sorted hash for each different pair of last turn and reply, both normalised; items without words have none."""
    found = {code for item in items if (code := _hash(item)) is not None}
    return np.array(sorted(found), dtype=np.uint64)


def count_training_items(folder: Folder, items: Sequence[Item], keys: Sequence[str] = (KEY,)) -> int:
    """How many of the items the model in the folder was fitted to; 0 if it has no hashes under these keys."""
    known = frozenset[int]().union(*(_training_hashes(folder, key) for key in keys))
    return sum(_hash(item) in known for item in items)


@cache
def _training_hashes(folder: Folder, key: str) -> frozenset[int]:
    """The hashes under a key of a folder; empty if it has none."""
    return frozenset(folder.tensors[key].tolist()) if key in folder.tensors else frozenset()


def _hash(item: Item) -> int | None:
    """A 64-bit hash of the item's last turn of context and its reply, both normalised; None if either has no words."""
    texts = reply_and_context(item)
    if texts is None:
        return None
    reply, context = texts
    text = f"{context[0]}\0{reply}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
