"""Specificity of a reply by normalised inverse document frequency, NIDF (See et al. 2019).

A word is specific if few texts contain it. idf(w) = log(R / c_w), where c_w of R texts contain w, scaled so that the
most frequent word has 0 and the rarest 1. A reply's score is the mean over its words, an agent's score the mean over
its replies. A high value means rare words, which need not be relevant. The score depends on the texts that the
frequencies are fitted on, so the signature contains a digest of the counts.

The texts are the turns of both speakers in the items. Each different text counts once, because items of one dialogue
share their context. As in the released code, words without a count are ignored. A reply that has no other words is
unscored here, where the code gives it the highest value.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import ClassVar

from turnwise.errors import TooFewItems
from turnwise.metrics.rows import Mean
from turnwise.metrics.words import words
from turnwise.types import Card, Item, Level, Need, Signature, digest

_SPEAKERS = frozenset({"user", "assistant"})


class _Attributes:
    """The class attributes that the metric has before and after `fit`."""

    __slots__ = ()

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "the reply has no word that occurs in the texts the frequencies were taken from"
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="How rare the reply's words are in the data it is fitted on; mean over words, then over "
        "replies.",
        range="0-1; 0 uses only the commonest word, 1 only the rarest",
        limits="Rare words are not always relevant: they go with higher ratings on some corpora and with lower ones "
        "on others. Scores fitted on different data cannot be compared, and misspellings count as very specific.",
        citation="See et al. 2019, What makes a good conversation? How controllable attributes affect human "
        "judgments",
    )


@dataclass(frozen=True, slots=True)
class Nidf(_Attributes):
    """`specificity` before `fit` has counted words."""

    def fit(self, items: Iterable[Item], /) -> "Specificity":
        """Count in how many different turns of both speakers each word occurs.

        Raises `TooFewItems` if all words are equally frequent or there are none.
        """
        counts: Counter[str] = Counter()
        seen: set[int] = set()  # hashes instead of texts, so that the corpus need not fit in memory
        for item in items:
            for turn in item.turns:
                if turn.role in _SPEAKERS and (key := hash(turn.text)) not in seen:
                    seen.add(key)
                    counts.update(set(words(turn.text)))
        data = digest(*(f"{word} {counts[word]}" for word in sorted(counts)))
        return Specificity(_normalised(counts), data)

    @property
    def reducer(self) -> "Specificity":
        """A metric without frequencies that can reduce rows of a fitted one, because their mean needs none."""
        return Specificity({}, "")


@dataclass(frozen=True, slots=True)
class Specificity(_Attributes, Mean):
    """`specificity` with the word frequencies of the data that it was fitted on."""

    nidf: Mapping[str, float]  # word -> its normalised inverse document frequency, 0-1
    data: str  # digest of the counts

    @property
    def signature(self) -> Signature:
        """The kind of tokens and a digest of the word counts that it was fitted on."""
        return Signature("specificity", (("tok", "words"), ("fit", self.data)))

    def value(self, item: Item, /) -> float:
        """Mean NIDF, 0 to 1, of the reply's words that have a count, repeated words included; NaN without one."""
        known = [self.nidf[word] for word in words(item.reply) if word in self.nidf]
        return sum(known) / len(known) if known else float("nan")


def _normalised(counts: Mapping[str, int]) -> dict[str, float]:
    """NIDF of each word from its document frequency c: (log max c - log c) / (log max c - log min c).

    Raises `TooFewItems` if all words have the same frequency, or if there are none.
    """
    commonest, rarest = max(counts.values(), default=0), min(counts.values(), default=0)
    if commonest == rarest:
        raise TooFewItems(
            "specificity needs texts in which some words are rarer than others, and here every word is in "
            "equally many ({n}); give it more dialogues",
            "no-rare-words",
            n=commonest,
        )
    return {word: log(commonest / count) / log(commonest / rarest) for word, count in counts.items()}
