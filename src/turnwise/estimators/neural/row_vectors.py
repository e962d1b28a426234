"""The vectors of the rows of a frozen encoder.

A dialogue is encoded once with the replies of all agents, so leaving out one agent after another needs no further
encoding. The process keeps the most recent dialogues in memory, and the disk cache keeps all.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from turnwise.encode.cache.disk import Cache
from turnwise.encode.encoder import Vectors
from turnwise.encode.models.catalogue import label, locate
from turnwise.encode.neural.dialogue import DialogueEncoder, ReplyPooling
from turnwise.encode.neural.dialogue_layout import Exchange
from turnwise.encode.neural.loading import default_device
from turnwise.estimators.neural.training_data import TrainingData
from turnwise.types import digest

_MOST = 2**28  # largest number of floats in memory: 1 GiB


@lru_cache(maxsize=2)
def encoder(
    model: str, pooling: ReplyPooling, *, random: int | None = None, device: str | None = None
) -> DialogueEncoder:
    """The dialogue encoder with the disk cache; the last two are kept loaded. `random` is a seed of random weights."""
    return DialogueEncoder(
        locate(model),
        label(model),
        pooling=pooling,
        random=random,
        device=device or default_device(),
        cache=Cache(),
    )


class Encoded(NamedTuple):
    """The vectors of all replies of one dialogue, and whether it was cut."""

    vectors: Vectors  # (replies, d)
    cut: bool  # whether it was too long for the encoder


def read(reader: DialogueEncoder, wide: TrainingData, narrow: TrainingData) -> tuple[Vectors, int]:
    """(rows of `narrow`, d) vectors, and the number of dialogues that were too long for the encoder.

    `wide` has the same dialogues with the replies of all agents: these are encoded, and the rows of `narrow` are
    picked.
    """
    names = [_name(dialogue) for dialogue in wide.dialogues]
    kept = _memory(reader)
    if sum(one.vectors.size for one in kept.values()) > _MOST:
        kept.clear()
    missing = {name: index for index, name in enumerate(names) if name not in kept}
    if missing:
        unread = [wide.dialogues[index] for index in missing.values()]
        made = zip(missing, reader.encode(unread), reader.scripts(unread), strict=True)
        kept.update((name, Encoded(vectors, script.cut > 0)) for name, vectors, script in made)
    vectors = np.concatenate([kept[name].vectors for name in names])
    chosen = np.empty((narrow.row[-1], reader.dimension), dtype=np.float32)
    chosen[narrow.logged] = vectors[wide.logged]
    spoken = narrow.weight > 0
    chosen[narrow.target[spoken]] = vectors[wide.target[spoken]]
    return chosen, sum(kept[name].cut for name in names)


@lru_cache(maxsize=2)
def _memory(reader: DialogueEncoder) -> dict[str, Encoded]:
    """The vectors of dialogues in memory for this encoder, by `_name`; empty at first."""
    return {}


def _name(dialogue: Sequence[Exchange]) -> str:
    """A digest of all texts of a dialogue, alternatives included."""
    parts = (
        part
        for user, reply, others in dialogue
        for part in ("" if user is None else f"+{user}", reply, str(len(others)), *others)
    )
    return digest(*parts)
