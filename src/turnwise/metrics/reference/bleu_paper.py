"""BLEU-4 as Xiang et al. (2021) report it: nltk's corpus BLEU on lower-cased word tokens, unsmoothed.

It reproduces their Table 1 to the third digit and has no other use: use `bleu-4` instead. It follows nltk in two
points. A precision without a match is the smallest positive float instead of 0, so agents without a matching 4-gram
are ranked by their trigrams. A reply that is too short for an n-gram counts as having one.

A reply without a reference counts as identical to its reference, because the released corpora omit the reference of
such replies (31 of 5,690). 100 is a copy of a reference.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from turnwise.errors import MissingExtra
from turnwise.extras import require
from turnwise.metrics.reference.bleu import counts
from turnwise.metrics.rows import Sums
from turnwise.types import Card, Floats, Item, Level, Need, Signature

ORDER = 4


@dataclass(frozen=True, slots=True)
class BleuPaper(Sums):
    """`bleu-paper`: nltk's unsmoothed corpus BLEU-4 on lower-cased tokens."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()  # references are optional: see the module's docstring
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="BLEU-4 with the settings of one published table: nltk's tokens, lower case, no smoothing.",
        range="0-100; 100 is a copy of a reference",
        limits="Only for reproducing that table. A reply without a reference counts as a copy of one, and a single "
        "reply without a matching 4-gram scores almost 0.",
        citation="Xiang et al. 2021, Assessing Dialogue Systems with Distribution Distances, Table 1",
    )

    @property
    def signature(self) -> Signature:
        """nltk's settings and its installed version; raises `MissingExtra` without nltk."""
        require("nltk", "`bleu-paper`")
        settings = {"case": "lower", "eff": "no", "tok": "nltk", "smooth": "none", "nltk": version("nltk")}
        return Signature("bleu-paper", tuple(settings.items()))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 10) the counts of `bleu-4`, except that every order has at least one n-gram.

        A reply without references is compared with itself. NaN if there are references but none has a token, or if such
        a reply has none.
        """
        rows = np.full((len(items), 2 + 2 * ORDER), np.nan)
        for row, item in zip(rows, items, strict=True):
            references = [tokens for text in item.references or (item.reply,) if (tokens := _tokens(text))]
            if references:
                row[:] = counts(_tokens(item.reply), references, ORDER)
                np.maximum(row[2 + ORDER :], 1, out=row[2 + ORDER :])
        return rows

    def of_sums(self, sums: Floats, /) -> Floats:
        """nltk's corpus BLEU, 0 to 100; 0 if no word matches, NaN where the references have no tokens."""
        length, target = sums[..., 0], sums[..., 1]
        matched, total = sums[..., 2 : 2 + ORDER], sums[..., 2 + ORDER :]
        with np.errstate(divide="ignore", invalid="ignore"):
            brevity = np.where(length < target, np.exp(1 - target / length), 1.0)
            precision = np.where(matched > 0, matched / total, sys.float_info.min)
            score = 100 * brevity * np.exp(np.log(precision).mean(axis=-1))
        score = np.where(matched[..., 0] > 0, score, 0.0)
        return np.where(target > 0, score, np.nan)


def _tokens(text: str) -> list[str]:
    """nltk's word tokens of the lower-cased text."""
    return _tokenizer()(text.lower())


@cache
def _tokenizer() -> Callable[[str], list[str]]:
    """nltk's word tokeniser as a function; imported on first use, `MissingExtra` if it is not installed."""
    try:
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError:
        raise MissingExtra("`bleu-paper`", "nltk") from None
    tokenizer: Any = NLTKWordTokenizer()  # untyped
    split: Callable[[str], list[str]] = tokenizer.tokenize
    return split
