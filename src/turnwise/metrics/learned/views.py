"""An item as learned metrics see it: plain words and turn vectors, the newest turn first.

Turns are encoded one by one, so that a conversation's vectors are computed once and found in the cache by every
metric. Text is made `plain` first: case and punctuation cannot move a score.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from turnwise.encode import TextEncoder, Vectors
from turnwise.encode.batches import distinct
from turnwise.encode.text.normalise import plain
from turnwise.types import Item

TURNS = 6  # of context that are read at most


@dataclass(frozen=True, slots=True, eq=False)
class View:
    reply: Vectors  # (d,) scaled so that a component has mean square 1
    context: Vectors  # (t, d), newest first
    said: tuple[str, ...]  # the context's turns in plain words, newest first
    text: str  # the reply in plain words


def views(items: Sequence[Item], encoder: TextEncoder) -> list[View | None]:
    """A view of each item; None where it has no context or no word."""
    told = [told_of(item) for item in items]
    known = [one for one in told if one is not None]
    vectors = iter(turn_vectors([[text, *said] for text, said in known], encoder))
    found: list[View | None] = []
    for one in told:
        if one is None:
            found.append(None)
            continue
        rows, (text, said) = next(vectors), one
        found.append(View(rows[0], rows[1:], said, text) if np.isfinite(rows).all() else None)
    return found


def told_of(item: Item) -> tuple[str, tuple[str, ...]] | None:
    """The reply and its context in plain words; None where either has none."""
    text = plain(item.reply)
    if item.turn is None or not text:
        return None
    said = [words for turn in reversed(item.context) if (words := plain(turn.text))]
    return (text, tuple(said[:TURNS])) if said else None


def turn_vectors(groups: Iterable[Sequence[str]], encoder: TextEncoder) -> list[Vectors]:
    """The vectors of each group's texts; every different text is encoded once."""
    lists = [list(group) for group in groups]
    different, places = distinct([text for group in lists for text in group])
    scale = np.float32(encoder.dimension**0.5)
    vectors = encoder.encode(different) * scale if different else np.zeros((0, encoder.dimension), np.float32)
    rows = np.array(places, dtype=np.int64)
    ends = np.cumsum([0, *(len(group) for group in lists)])
    return [vectors[rows[start:end]] for start, end in pairwise(ends)]
