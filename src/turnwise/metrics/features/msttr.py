"""Mean segmental type-token ratio (Johnson 1944): lexical variety that does not fall with the amount of text.

An agent's words in a dialogue are split into segments of 50. The score is the mean, over segments, of the share of
different words; a remainder of fewer than 50 words is not used. 1 repeats no word within 50 words; people in English
small talk are at 0.80. Reports on corpora usually concatenate all replies first. Here a segment stays within one
dialogue, because dialogues are the unit of resampling; a dialogue in which the agent says fewer than 50 words is
unscored.
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
    """`msttr-50`: the mean share of different words in segments of `segment` words."""

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "the agent says fewer words in the dialogue than one segment has"
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of different words in segments of 50 words of the agent's replies in a dialogue; mean.",
        range="1/50 to 1; people in English small talk are at 0.80",
        limits="Finds repetition only within 50 words. Dialogues in which the agent says fewer words are unscored, "
        "and in corpora of short dialogues those are most. Random words score best.",
        citation="Johnson 1944, Studies in Language Behavior: a Program of Research; "
        "Lu 2012, The Relationship of Lexical Richness to the Quality of ESL Learners' Oral Narratives",
    )

    segment: int = 50

    @property
    def signature(self) -> Signature:
        """`msttr-` with the length of a segment, and the kind of tokens."""
        return Signature(f"msttr-{self.segment}", (("tok", "words"),))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): sum of the segments' ratios, number of segments.

        NaN for a single turn or a dialogue without a full segment.
        """
        rows = np.full((len(items), 2), np.nan)
        for row, item in zip(rows, items, strict=True):
            if item.turn is None and (ratios := self._ratios(item)):
                row[:] = sum(ratios), len(ratios)
        return rows

    def _ratios(self, item: Item) -> list[float]:
        """The type-token ratio of each full segment of the agent's words in the dialogue."""
        tokens = [word for reply in item.replies for word in words(reply)]
        starts = range(0, len(tokens) - self.segment + 1, self.segment)
        return [len(set(tokens[start : start + self.segment])) / self.segment for start in starts]
