"""Response-relatedness: is the reply about what was just said? (See et al. 2019; one of ENIGMA's eight features.)

The cosine of the reply's vector with that of the partner's last message. See et al. average GloVe vectors by
smoothed inverse frequency (Arora et al. 2017) and take out the first principal component; here it is a sentence
encoder, MiniLM unless told otherwise. A reply that repeats the message is the most related of all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.metrics import models
from turnwise.metrics.reference.embedding import unit
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature


@dataclass(frozen=True)
class Relatedness(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no message of the partner before the reply, or an empty text"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Cosine of the reply's sentence vector with the partner's last message; mean over replies.",
        range="-1 to 1; a copy of the message is 1",
        limits="A parrot scores 1, a change of subject or a short 'yes' scores low however apt.",
        citation="See et al. 2019, What makes a good conversation? How controllable attributes affect human judgments",
    )

    model: str = "minilm"

    @property
    def signature(self) -> Signature:
        return Signature("relatedness", (), (models.text_encoder(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        said = [_partner(item) for item in items]
        vectors = unit(models.text_encoder(self.model).encode([*said, *(item.reply for item in items)]))
        rows = np.ones((len(items), 2))
        rows[:, 0] = np.einsum("nd,nd->n", vectors[: len(items)], vectors[len(items) :])
        empty = [not text.strip() or not item.reply.strip() for text, item in zip(said, items, strict=True)]
        rows[empty, 0] = np.nan
        return rows


def _partner(item: Item) -> str:
    """The last message before the reply that is not the agent's own."""
    return next((turn.text for turn in reversed(item.context) if turn.role != item.role), "")
