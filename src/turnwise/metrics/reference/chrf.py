"""chrF2 (Popovic 2015): F-score of character n-grams up to 6, beta 2, with sacrebleu's statistics.

A row holds the n-gram counts (reply, reference, matched) of each order, for the reference with the best score. One row
gives sacrebleu's sentence chrF, the sum of all rows its corpus chrF. 100 is a copy of a reference; two unrelated
English replies score about 11. chrF++ (Popovic 2017) counts words and pairs of words too.

We count n-grams ourselves, several times as fast as sacrebleu; tests compare the scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from string import punctuation
from typing import ClassVar

import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.reference.common_ngrams import counts
from turnwise.metrics.rows import Sums, quotient
from turnwise.types import Card, Floats, Item, Level, Need, Signature

ORDER, BETA = 6, 2  # sacrebleu's defaults


@dataclass(frozen=True, slots=True)
class Chrf(Sums):
    """`chrf`: sacrebleu's chrF2; with `word_order` 2 it is `chrf++`."""

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
        citation="Popovic 2015, chrF: character n-gram F-score for automatic MT evaluation; Popovic 2017, chrF++: "
        "words helping character n-grams; Post 2018, A Call for Clarity in Reporting BLEU Scores",
    )

    word_order: int = 0  # longest n-gram of words; 2 for chrF++
    lowercase: bool = False

    def __post_init__(self) -> None:
        if self.word_order < 0:
            raise UsageError(f"`chrf` takes 0 or more for `word_order`, not {self.word_order}")

    @property
    def signature(self) -> Signature:
        """sacrebleu's settings and its installed version."""
        settings = {
            "case": "lc" if self.lowercase else "mixed",
            "nc": str(ORDER),
            "nw": str(self.word_order),
            "beta": str(BETA),
            "sacrebleu": version("sacrebleu"),
        }
        return Signature("chrf++" if self.word_order == 2 else "chrf", tuple(settings.items()))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 3 * orders): reply, reference and matched n-grams, order by order, for the reference with the best score.

        Characters come before words. NaN if no reference has a character other than white space.
        """
        rows = np.full((len(items), 3 * (ORDER + self.word_order)), np.nan)
        owner, pairs = [], []
        for place, item in enumerate(items):
            for text in item.references:
                if text and not text.isspace():
                    owner.append(place)
                    pairs.append((item.reply.lower(), text.lower()) if self.lowercase else (item.reply, text))
        if not pairs:
            return rows
        found = counts([("".join(one.split()), "".join(two.split())) for one, two in pairs], ORDER)
        if self.word_order:
            words = counts([(_words(one), _words(two)) for one, two in pairs], self.word_order)
            found = np.concatenate([found, words], axis=1)
        # The first reference with the best score: worse ones first, then earlier ones over later ones.
        order = np.lexsort((-np.arange(len(pairs)), self.of_sums(found)))
        rows[np.array(owner)[order]] = found[order]
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


def _words(text: str) -> list[str]:
    """The words of chrF++: a mark of punctuation at the end of a word, else at its beginning, is a word of its own."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in punctuation:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in punctuation:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words
