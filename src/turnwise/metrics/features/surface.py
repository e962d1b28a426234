"""Two features of a reply without its context: its length in words, and whether it has a question mark.

For both, higher counts as better by convention only: neither measures quality.
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from turnwise.metrics.rows import Mean
from turnwise.metrics.words import words
from turnwise.types import Card, Item, Level, Need, Signature

_MARKS = frozenset("?？؟")  # ASCII, full-width, Arabic


@dataclass(frozen=True, slots=True)
class Length(Mean):
    """Number of words of the reply."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, inf)
    unscored: ClassVar[str] = "never: an empty reply has 0 words"
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Words in a reply; mean over replies.",
        range="0 and up",
        limits="Neither end is better: short generic replies are a common failure, and an agent that rambles has long "
        "ones. Correlations count longer as better. Print it beside every metric that may reward length.",
        citation="none: a count",
    )

    @property
    def signature(self) -> Signature:
        """`length` and its unit, words."""
        return Signature("length", (("unit", "words"),))

    def value(self, item: Item, /) -> float:
        """The number of words; 0 for an empty reply."""
        return float(len(words(item.reply)))


@dataclass(frozen=True, slots=True)
class QuestionRate(Mean):
    """Share of replies with a question mark. See et al. count only `?`; the marks of two other scripts count too."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "never: every text has a question mark or has none"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)  # every reply scores 0 or 1
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of replies with a question mark in them.",
        range="0-1; people in English small talk are at 0.26-0.32",
        limits="See et al. found that raters prefer somewhat more questions than people ask: higher is better by "
        "convention only. A question without a question mark is not counted, a rhetorical one is.",
        citation="See et al. 2019, What makes a good conversation? How controllable attributes affect human "
        "judgments",
    )

    @property
    def signature(self) -> Signature:
        """The kinds of question marks that count."""
        return Signature("question-rate", (("marks", "ascii,full-width,arabic"),))

    def value(self, item: Item, /) -> float:
        """1 if the reply has a question mark, else 0."""
        return float(not _MARKS.isdisjoint(item.reply))
