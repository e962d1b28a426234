"""BLEU-4 as Xiang et al. (2021) report it: nltk's corpus BLEU on lower-cased word tokens, unsmoothed.

For reproducing their Table 1, which it does to the third digit, and for nothing else: use `bleu-4`. It has nltk's ways.
A precision without a match is the smallest number there is instead of 0, so that systems without a matching 4-gram
are ranked by their trigrams; and a reply too short to have an n-gram counts as having one.

A reply without a reference counts as word for word what people said. In the released corpora replies equal to their
reference have lost it: 31 of 5,690.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np

from turnwise.errors import MissingExtra
from turnwise.metrics.reference.bleu import counts
from turnwise.metrics.rows import Sums
from turnwise.types import Card, Floats, Item, Level, Need, Signature

ORDER = 4


@dataclass(frozen=True, slots=True)
class BleuPaper(Sums):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()  # not even references: see above
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="BLEU-4 with the settings behind a published table: nltk's tokens, lower case, no smoothing.",
        range="0-100; 100 is a copy of a reference",
        limits="For that table only. A reply without a reference counts as a copy of one, and one reply without a "
        "matching 4-gram has next to 0.",
        citation="Xiang et al. 2021, Assessing Dialogue Systems with Distribution Distances, Table 1",
    )

    @property
    def signature(self) -> Signature:
        try:
            nltk = version("nltk")
        except PackageNotFoundError:
            raise MissingExtra("bleu-paper", "nltk") from None
        settings = {"case": "lower", "eff": "no", "tok": "nltk", "smooth": "none", "nltk": nltk}
        return Signature("bleu-paper", tuple(settings.items()))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 10), as `bleu-4` has them, but for at least one n-gram of every order."""
        rows = np.full((len(items), 2 + 2 * ORDER), np.nan)
        for row, item in zip(rows, items, strict=True):
            references = [tokens for text in item.references or (item.reply,) if (tokens := _tokens(text))]
            if references:
                row[:] = counts(_tokens(item.reply), references, ORDER)
                np.maximum(row[2 + ORDER :], 1, out=row[2 + ORDER :])
        return rows

    def of_sums(self, sums: Floats, /) -> Floats:
        length, target = sums[..., 0], sums[..., 1]
        matched, total = sums[..., 2 : 2 + ORDER], sums[..., 2 + ORDER :]
        with np.errstate(divide="ignore", invalid="ignore"):
            brevity = np.where(length < target, np.exp(1 - target / length), 1.0)
            precision = np.where(matched > 0, matched / total, sys.float_info.min)
            score = 100 * brevity * np.exp(np.log(precision).mean(axis=-1))
        score = np.where(matched[..., 0] > 0, score, 0.0)
        return np.where(target > 0, score, np.nan)


def _tokens(text: str) -> list[str]:
    return _split()(text.lower())


@cache
def _split() -> Callable[[str], list[str]]:
    try:
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError:
        raise MissingExtra("bleu-paper", "nltk") from None
    tokenizer: Any = NLTKWordTokenizer()  # untyped
    split: Callable[[str], list[str]] = tokenizer.tokenize
    return split
