"""chrF2 (Popovic 2015), on sacrebleu's own statistics: character n-grams up to 6, no words, beta 2.

A row holds (reply, reference, matched) counts for each order against the reference that suits the reply best.
One row gives sacrebleu's sentence chrF and all rows together its corpus chrF.
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
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "no reference has a character in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="How many character sequences of length 1 to 6 the reply and its nearest reference share: "
        "mean precision and recall over the lengths, recall counting twice.",
        range="0-100; 100 is a copy of a reference",
        limits="Unlike BLEU it forgives word endings and needs no word boundaries, so it works for most "
        "scripts; like BLEU it sees only the surface. Two unrelated English replies score about 11, not 0.",
        citation="Popovic 2015, chrF: character n-gram F-score for automatic MT evaluation; "
        "Post 2018, A Call for Clarity in Reporting BLEU Scores",
    )

    @property
    def signature(self) -> Signature:
        settings = {
            "case": "mixed",
            "nc": str(ORDER),
            "nw": "0",
            "beta": str(BETA),
            "sacrebleu": version("sacrebleu"),
        }
        return Signature("chrf", tuple(settings.items()))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 3 * 6): reply, reference and matched n-grams, order by order."""
        rows = np.full((len(items), 3 * ORDER), np.nan)
        scorer = _scorer()
        for row, item in zip(rows, items, strict=True):
            references = [[text] for text in item.references if text and not text.isspace()]
            if references:
                # Its public functions keep the counts to themselves and cut unequal lists: one reply a call.
                row[:] = scorer._extract_corpus_statistics([item.reply], references)[0]
        return rows

    def of_sums(self, sums: Floats, /) -> Floats:
        """sacrebleu's F-score, for any number of sums at once."""
        reply, reference, matched = (sums[..., part::3] for part in range(3))
        used = (reply > 0) & (reference > 0)
        orders = np.maximum(used.sum(axis=-1), 1)
        precision = np.where(used, quotient(matched, reply), 0.0).sum(axis=-1) / orders
        recall = np.where(used, quotient(matched, reference), 0.0).sum(axis=-1) / orders
        score = quotient((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)
        return np.where(reference[..., 0] > 0, 100 * np.nan_to_num(score), np.nan)


@cache
def _scorer() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(char_order=ORDER, word_order=0, beta=BETA)
