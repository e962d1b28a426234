"""BLEU of order 1 to 4 (Papineni et al. 2002), with sacrebleu's statistics.

A row holds the counts that sacrebleu sums: lengths, matched n-grams, all n-grams. One row gives sacrebleu's sentence
BLEU, the sum of all rows its corpus BLEU. Both use exponential smoothing and effective order: a reply of three words
is scored by orders 1 to 3. Where every order has a match, the score is the unsmoothed BLEU of the paper. 100 is a copy
of a reference, 0 shares no word with it.

We count n-grams ourselves, because this is several times as fast as sacrebleu; tests compare the counts. sacrebleu's
public functions truncate the longer of two lists silently (three replies against one reference score 100).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import ClassVar

import numpy as np

from turnwise.metrics.reference.tokens import Tokens, tokens_13a, tokens_sacrebleu
from turnwise.metrics.rows import Sums
from turnwise.metrics.words import matches
from turnwise.types import Card, Floats, Item, Level, Need, Signature


@dataclass(frozen=True, slots=True)
class Bleu(Sums):
    """`bleu-n`: sacrebleu's BLEU up to n-grams of `order`."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="Share of the reply's word n-grams that also occur in a reference: geometric mean over the orders "
        "up to the one in the name, lowered for replies shorter than the reference.",
        range="0-100; 100 is a copy of a reference",
        limits="A good reply in other words than the references' scores near 0. On open-domain dialogue it hardly "
        "correlates with ratings, and the score of a single reply is mostly noise. Made for languages that put "
        "spaces between words. More references raise it, so compare agents on the same number of references.",
        citation="Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation; "
        "Post 2018, A Call for Clarity in Reporting BLEU Scores",
    )

    order: int
    tokenize: Tokens = "13a"
    lowercase: bool = False

    @property
    def signature(self) -> Signature:
        """sacrebleu's settings and its installed version."""
        settings = {
            "case": "lc" if self.lowercase else "mixed",
            "eff": "yes",
            "tok": self.tokenize,
            "smooth": "exp",
            "sacrebleu": version("sacrebleu"),
        }
        return Signature(f"bleu-{self.order}", tuple(settings.items()))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2 + 2 order): lengths of reply and reference, matched n-grams by order, n-grams by order.

        NaN if no reference has a token.
        """
        rows = np.full((len(items), 2 + 2 * self.order), np.nan)
        for row, item in zip(rows, items, strict=True):
            references = [tokens for text in item.references if (tokens := self._tokens(text))]
            if references:
                row[:] = counts(self._tokens(item.reply), references, self.order)
        return rows

    def _tokens(self, text: str) -> list[str]:
        """The tokens of a text, as the settings say."""
        text = text.lower() if self.lowercase else text
        return tokens_13a(text) if self.tokenize == "13a" else tokens_sacrebleu(text, self.tokenize)

    def of_sums(self, sums: Floats, /) -> Floats:
        """sacrebleu's `compute_bleu`, 0 to 100, for any number of sums at once.

        NaN where the references have no tokens.
        """
        length, target = sums[..., 0], sums[..., 1]
        matched, total = sums[..., 2 : 2 + self.order], sums[..., 2 + self.order :]
        with np.errstate(divide="ignore", invalid="ignore"):
            brevity = np.where(length < target, np.exp(1 - target / length), 1.0)
            # Effective order: the orders before the first one without n-grams.
            used = np.logical_and.accumulate(total > 0, axis=-1)
            # Exponential smoothing: the k-th order without a match counts as 1 / 2^k matches.
            halvings = np.cumsum(used & (matched == 0), axis=-1)
            precision = np.where(matched > 0, matched, 0.5**halvings) / total
            logs = np.where(used, np.log(precision), 0.0).sum(axis=-1)
            score = 100 * brevity * np.exp(logs / used.sum(axis=-1))
        score = np.where(matched.any(axis=-1), score, 0.0)
        return np.where(target > 0, score, np.nan)


def counts(reply: list[str], references: list[list[str]], order: int) -> list[int]:
    """Lengths of the reply and of the reference nearest in length, matched n-grams by order, n-grams by order."""
    size = len(reply)
    nearest = min(map(len, references), key=lambda length: (abs(length - size), length))
    totals = [max(0, size - n) for n in range(order)]
    return [size, nearest, *matches(reply, references, order), *totals]
