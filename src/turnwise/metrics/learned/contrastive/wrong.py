"""Replies that are known to be wrong, as further negatives: what frauds would have said.

They stand in the conversations as the alternatives of an agent (`--set wrong=NAME`), so that any reply that should not
score can be taught: those that `turnwise attack` found, or those of a bad system.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from turnwise.encode.text.normalise import plain
from turnwise.errors import DataError
from turnwise.metrics.learned.contrastive.corpus import Corpus
from turnwise.types import Dialogue, Ints


def with_wrong(
    corpus: Corpus, dialogues: Sequence[Dialogue], agent: str, negatives: Ints, rng: np.random.Generator
) -> tuple[Corpus, Ints]:
    """The corpus with the agent's texts at its end, and (n, 2m) negatives: m more, the agent's where it has any.

    A pair at which the agent says nothing has its other negatives twice, so that all weigh the same.
    """
    places = {text: place for place, text in enumerate(corpus.texts)}
    more = negatives.copy()
    found = 0
    for row, (k, at) in zip(more, corpus.pairs, strict=True):
        spoken = [turn for turn in dialogues[k].turns if plain(turn.text)]
        said = [plain(reply.content) for reply in spoken[at].alternatives.get(agent, ())]
        rows = [places.setdefault(text, len(places)) for text in said if text]
        if rows:
            found += 1
            row[:] = rng.choice(rows, size=len(row), replace=len(rows) < len(row))
    if not found:
        raise DataError(f"`{agent}` has no alternatives in the data, so there is nothing wrong to learn from")
    return replace(corpus, texts=tuple(places)), np.concatenate([negatives, more], axis=1)
