"""chrF2 (Popovic 2015): F-score of character n-grams up to 6, no words, beta 2, with sacrebleu's statistics.

A row holds the n-gram counts (reply, reference, matched) of each order, for the reference with the best score. One row
gives sacrebleu's sentence chrF, the sum of all rows its corpus chrF. 100 is a copy of a reference; two unrelated
English replies score about 11.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from turnwise.metrics.rows import Sums, quotient
from turnwise.types import Card, Floats, Item, Level, Need, Signature

ORDER, BETA = 6, 2  # sacrebleu's defaults


@dataclass(frozen=True, slots=True)
class Chrf(Sums):
    """`chrf`: sacrebleu's chrF2."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "no reference has a character in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="F-score of the character n-grams of length 1 to 6 that the reply and its best reference share: "
        "precision and recall are averaged over the lengths, and recall has twice the weight.",
        range="0-100; 100 is a copy of a reference",
        limits="Unlike BLEU it gives credit for words with another ending and needs no word boundaries, so it works "
        "for most scripts; like BLEU it compares only the wording. Two unrelated English replies score about 11.",
        citation="Popovic 2015, chrF: character n-gram F-score for automatic MT evaluation; "
        "Post 2018, A Call for Clarity in Reporting BLEU Scores",
    )

    @property
    def signature(self) -> Signature:
        """sacrebleu's settings and its installed version."""
        settings = {
            "case": "mixed",
            "nc": str(ORDER),
            "nw": "0",
            "beta": str(BETA),
            "sacrebleu": version("sacrebleu"),
        }
        return Signature("chrf", tuple(settings.items()))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 3 * 6): reply, reference and matched n-grams, order by order, for the reference with the best score.

        NaN if no reference has a character other than white space.
        """
        rows = np.full((len(items), 3 * ORDER), np.nan)
        scorer = _scorer()
        for row, item in zip(rows, items, strict=True):
            references = [[text] for text in item.references if text and not text.isspace()]
            if references:
                # sacrebleu's public functions return no counts and truncate lists of unequal length.
                row[:] = scorer._extract_corpus_statistics([item.reply], references)[0]
        return rows

    def of_sums(self, sums: Floats, /) -> Floats:
        """sacrebleu's F-score, 0 to 100, for any number of sums at once.

        NaN where the references have no characters.
        """
        reply, reference, matched = (sums[..., part::3] for part in range(3))
        used = (reply > 0) & (reference > 0)
        orders = np.maximum(used.sum(axis=-1), 1)
        precision = np.where(used, quotient(matched, reply), 0.0).sum(axis=-1) / orders
        recall = np.where(used, quotient(matched, reference), 0.0).sum(axis=-1) / orders
        score = quotient((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)
        return np.where(reference[..., 0] > 0, 100 * np.nan_to_num(score), np.nan)


@cache
def _scorer() -> Any:
    """sacrebleu's chrF object, created once."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(char_order=ORDER, word_order=0, beta=BETA)
