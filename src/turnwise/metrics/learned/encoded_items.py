"""The input of learned metrics: the normalised texts of an item and the vectors of its turns, newest turn first.

Turns are encoded one by one, so every metric finds the vectors of a dialogue in the cache. Texts are normalised first
(`plain`), so case and punctuation cannot change a score.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from turnwise.encode import TextEncoder, Vectors
from turnwise.encode.batches import distinct
from turnwise.encode.text.normalise import plain
from turnwise.types import Item

TURNS = 6  # largest number of turns of context that are used


@dataclass(frozen=True, slots=True, eq=False)
class EncodedItem:
    """The normalised texts of an item and the vectors of its turns."""

    reply: Vectors  # (d,) scaled so that the mean square of its components is 1
    context: Vectors  # (t, d), newest first
    context_texts: tuple[str, ...]  # the normalised turns of the context, newest first
    reply_text: str  # the normalised reply


def encode_items(items: Sequence[Item], encoder: TextEncoder) -> list[EncodedItem | None]:
    """The texts and vectors of each item; None for a whole dialogue and without words in the reply or the context.

    None, too, if the encoder has no vector for the reply or for one of the turns of context that are used.
    """
    texts = [reply_and_context(item) for item in items]
    vectors = iter(turn_vectors([[pair[0], *pair[1]] for pair in texts if pair is not None], encoder))
    encoded: list[EncodedItem | None] = []
    for pair in texts:
        if pair is None:
            encoded.append(None)
            continue
        rows, (reply, context) = next(vectors), pair
        encoded.append(EncodedItem(rows[0], rows[1:], context, reply) if np.isfinite(rows).all() else None)
    return encoded


def reply_and_context(item: Item) -> tuple[str, tuple[str, ...]] | None:
    """The normalised reply and up to 6 turns of its context, newest first.

    None for a whole dialogue, and if the reply or all of the context has no words.
    """
    reply = plain(item.reply)
    if item.turn is None or not reply:
        return None
    context = [text for turn in reversed(item.context) if (text := plain(turn.text))]
    return (reply, tuple(context[:TURNS])) if context else None


def turn_vectors(groups: Iterable[Sequence[str]], encoder: TextEncoder) -> list[Vectors]:
    """The vectors (t, d) of each group's texts times sqrt(d); every different text is encoded once.

    So a vector of length 1 gets a mean square of 1. A text without a known word has the encoder's NaN.
    """
    lists = [list(group) for group in groups]
    different, indices = distinct([text for group in lists for text in group])
    scale = np.float32(encoder.dimension**0.5)
    vectors = encoder.encode(different) * scale if different else np.zeros((0, encoder.dimension), np.float32)
    rows = np.array(indices, dtype=np.int64)
    ends = np.cumsum([0, *(len(group) for group in lists)])
    return [vectors[rows[start:end]] for start, end in pairwise(ends)]
