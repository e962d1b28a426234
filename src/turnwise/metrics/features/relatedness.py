"""Response-relatedness (See et al. 2019): cosine of the reply with the partner's last message.

A high value says that the reply is about the same things as the message; a copy of the message has 1. See et al.
average GloVe vectors with smoothed inverse frequency weights (Arora et al. 2017) and remove the first principal
component. We use a sentence encoder instead, MiniLM by default. It is one of ENIGMA's eight features.
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
    """Cosine of the sentence vectors of the reply and of the partner's last message."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no message of the partner before the reply, or an empty text"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Cosine of the reply's sentence vector with the partner's last message; mean over replies.",
        range="-1 to 1; a copy of the message is 1",
        limits="A copy of the message scores 1; a change of subject or a short 'yes' scores low even where it is "
        "appropriate.",
        citation="See et al. 2019, What makes a good conversation? How controllable attributes affect human judgments",
    )

    model: str = "minilm"

    @property
    def signature(self) -> Signature:
        """The signature of the sentence encoder, which is loaded for it."""
        return Signature("relatedness", (), (models.text_encoder(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): cosine and 1; NaN if the reply is blank, or the partner's last message is blank or absent."""
        messages = [_last_message(item) for item in items]
        vectors = unit(models.text_encoder(self.model).encode([*messages, *(item.reply for item in items)]))
        rows = np.ones((len(items), 2))
        rows[:, 0] = np.einsum("nd,nd->n", vectors[: len(items)], vectors[len(items) :])
        empty = [
            not text.strip() or not item.reply.strip() for text, item in zip(messages, items, strict=True)
        ]
        rows[empty, 0] = np.nan
        return rows


def _last_message(item: Item) -> str:
    """The last message before the reply that is not the agent's own; empty without one."""
    return next((turn.text for turn in reversed(item.context) if turn.role != item.role), "")
