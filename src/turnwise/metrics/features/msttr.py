"""Mean segmental type-token ratio (Johnson 1944): variety that does not fall with the amount of text.

An agent's words in a dialogue are cut into segments of 50, and the shares of different words in them are
averaged; what is left over at the end is not used. Reports on corpora usually run all replies together first.
Here a segment stays within a dialogue, so that dialogues are the unit of resampling, and the words of a
dialogue with fewer than 50 count for nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.metrics.rows import Ratio
from turnwise.metrics.words import words
from turnwise.types import Card, Floats, Item, Level, Need, Signature


@dataclass(frozen=True, slots=True)
class Msttr(Ratio):
    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "the agent says fewer words in the dialogue than one segment has"
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of different words in stretches of 50 words of the agent's side of a dialogue; mean.",
        range="1/50 to 1; people in English small talk are at 0.80",
        limits="Sees repetition over 50 words and no further, and nothing of dialogues where the agent says "
        "fewer: in corpora of short dialogues those are most. Random words score best.",
        citation="Johnson 1944, Studies in Language Behavior: a Program of Research; "
        "Lu 2012, The Relationship of Lexical Richness to the Quality of ESL Learners' Oral Narratives",
    )

    segment: int = 50

    @property
    def signature(self) -> Signature:
        return Signature(f"msttr-{self.segment}", (("tok", "words"),))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): sum of the segments' ratios, number of segments."""
        rows = np.full((len(items), 2), np.nan)
        for row, item in zip(rows, items, strict=True):
            if item.turn is None and (ratios := self._ratios(item)):
                row[:] = sum(ratios), len(ratios)
        return rows

    def _ratios(self, item: Item) -> list[float]:
        said = [word for reply in item.replies for word in words(reply)]
        starts = range(0, len(said) - self.segment + 1, self.segment)
        return [len(set(said[start : start + self.segment])) / self.segment for start in starts]
