"""Known wrong replies as additional negatives: frauds that `turnwise attack` found, or the replies of a bad agent.

In the data they are the alternatives of an agent, whose name is the setting `wrong` (`--set wrong=NAME`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from turnwise.encode.text.normalise import plain
from turnwise.errors import DataError
from turnwise.metrics.learned.contrastive.corpus import Corpus
from turnwise.types import Dialogue, Ints


def with_wrong_replies(
    corpus: Corpus, dialogues: Sequence[Dialogue], agent: str, negatives: Ints, rng: np.random.Generator
) -> tuple[Corpus, Ints]:
    """The corpus with the agent's texts appended, and (n, 2m) negatives, of which the second m are the agent's.

    For a pair without alternatives of the agent the first m negatives are repeated, so that all pairs have equal
    weight. A `DataError` if the agent has no alternatives at all.
    """
    index = {text: number for number, text in enumerate(corpus.texts)}
    more = negatives.copy()
    pairs_with_alternatives = 0
    for row, (k, at) in zip(more, corpus.pairs, strict=True):
        turns = [turn for turn in dialogues[k].turns if plain(turn.text)]
        texts = [plain(reply.content) for reply in turns[at].alternatives.get(agent, ())]
        rows = [index.setdefault(text, len(index)) for text in texts if text]
        if rows:
            pairs_with_alternatives += 1
            row[:] = rng.choice(rows, size=len(row), replace=len(rows) < len(row))
    if not pairs_with_alternatives:
        raise DataError(
            f"`{agent}` has no alternatives in the data, so there are no wrong replies to train on"
        )
    return replace(corpus, texts=tuple(index)), np.concatenate([negatives, more], axis=1)
