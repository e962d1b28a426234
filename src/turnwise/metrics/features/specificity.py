"""Specificity of a reply by normalised inverse document frequency, NIDF (See et al. 2019).

A word that few texts contain is specific. idf(w) = log(R / c_w) over R texts of which c_w contain w, scaled
so that the commonest word has 0 and the rarest 1; a reply's number is the mean over its words, an agent's the
mean over its replies. What it is fitted on decides the number: the signature carries a digest of the counts.

Texts are the turns of both speakers in the items, each different text once, because items of one dialogue
share their context. As in the released code, words that were never counted are passed over; a reply of
nothing else is not scored here, where the code calls it the most specific of all.
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


class _Facts:
    """What the fitted metric and the one to fit have in common."""

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
        limits="Rare is not relevant: rare words please raters on some corpora and displease them on "
        "others. Numbers from different data cannot be compared, and misspellings are very specific.",
        citation="See et al. 2019, What makes a good conversation? How controllable attributes affect human "
        "judgments",
    )


@dataclass(frozen=True, slots=True)
class Nidf(_Facts):
    """`specificity` before it has seen data."""

    def fit(self, items: Iterable[Item], /) -> "Specificity":
        counts: Counter[str] = Counter()
        seen: set[int] = set()  # hashes instead of texts: a corpus need not fit in memory
        for item in items:
            for turn in item.turns:
                if turn.role in _SPEAKERS and (name := hash(turn.text)) not in seen:
                    seen.add(name)
                    counts.update(set(words(turn.text)))
        data = digest(*(f"{word} {counts[word]}" for word in sorted(counts)))
        return Specificity(_normalised(counts), data)

    @property
    def reducer(self) -> "Specificity":
        """Reduces rows that a fitted one has made: the mean over them needs no frequencies."""
        return Specificity({}, "")


@dataclass(frozen=True, slots=True)
class Specificity(_Facts, Mean):
    nidf: Mapping[str, float]  # word -> 0-1
    data: str  # digest of the counts behind it

    @property
    def signature(self) -> Signature:
        return Signature("specificity", (("tok", "words"), ("fit", self.data)))

    def value(self, item: Item, /) -> float:
        known = [self.nidf[word] for word in words(item.reply) if word in self.nidf]
        return sum(known) / len(known) if known else float("nan")


def _normalised(counts: Mapping[str, int]) -> dict[str, float]:
    """R cancels: (log max c - log c) / (log max c - log min c)."""
    commonest, rarest = max(counts.values(), default=0), min(counts.values(), default=0)
    if commonest == rarest:
        raise TooFewItems(
            "specificity needs texts in which some words are rarer than others, and here every word is in "
            f"equally many ({commonest}); give it more conversations"
        )
    return {word: log(commonest / count) / log(commonest / rarest) for word, count in counts.items()}
