"""Translation edit rate (Snover et al. 2006): edits that make the reply a reference, over the reference's length.

An edit inserts, deletes or replaces a word, or moves a run of words. With several references, the edits are those of
the nearest one and the length is the mean of all. 0 is a copy of a reference; long replies exceed 100. The statistics
are sacrebleu's: the sum of all rows gives its corpus TER.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from math import inf
from typing import Any, ClassVar

import numpy as np

from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature


@dataclass(frozen=True, slots=True)
class Ter(Ratio):
    """`ter`: sacrebleu's TER, in percent."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = False
    span: ClassVar[tuple[float, float]] = (0.0, inf)
    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="Words to insert, delete, replace or move so that the reply becomes a reference, in percent of the "
        "reference's length.",
        range="0 upwards; 0 is a copy of a reference, 100 as many edits as the reference has words",
        limits="Compares only the wording: a good reply in other words scores near 100. Short replies score better "
        "than long ones that differ as much. Slow on long texts.",
        citation="Snover et al. 2006, A Study of Translation Edit Rate with Targeted Human Annotation; "
        "Post 2018, A Call for Clarity in Reporting BLEU Scores",
    )

    normalized: bool = False  # separate punctuation from words first
    punctuation: bool = True
    case_sensitive: bool = False

    @property
    def signature(self) -> Signature:
        """sacrebleu's settings and its installed version."""
        settings = {
            "case": "mixed" if self.case_sensitive else "lc",
            "tok": "tercom",
            "norm": "yes" if self.normalized else "no",
            "punct": "yes" if self.punctuation else "no",
            "sacrebleu": version("sacrebleu"),
        }
        return Signature("ter", tuple(settings.items()))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): 100 times the edits, and the mean length of the references; NaN if no reference has a word."""
        rows = np.full((len(items), 2), np.nan)
        scorer = _scorer(self.normalized, self.punctuation, self.case_sensitive)
        for row, item in zip(rows, items, strict=True):
            references = [[text] for text in item.references if scorer.tokenizer(text).split()]
            if references:
                # sacrebleu's public functions return no edits of several replies.
                edits, length = scorer._extract_corpus_statistics([item.reply], references)[0]
                row[:] = 100 * edits, length
        return rows


@cache
def _scorer(normalized: bool, punctuation: bool, case_sensitive: bool) -> Any:
    """sacrebleu's TER object with these settings, created once."""
    from sacrebleu.metrics.ter import TER

    return TER(normalized=normalized, no_punct=not punctuation, case_sensitive=case_sensitive)
