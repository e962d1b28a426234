"""ROUGE-1, ROUGE-2 and ROUGE-L of single replies (Lin 2004), and ROUGE-L as caption tools compute it.

`rouge-1`, `rouge-2` and `rouge-l` are rouge-score's F-measure without stemming: the best over the references, averaged
over replies. 1 has the same words as a reference, 0 shares none. `part=p` and `part=r` give precision and recall
against the reference with the best F-measure, and `stem=true` compares stems of words.

`rouge-l-b1.2` is the variant that ADEM and nlg-eval report, from the COCO caption code. It splits tokens at white space
and keeps case and punctuation, takes the best precision and the best recall over the references (possibly of two
different ones), and gives recall 1.44 times the weight. That code counts an empty text as one token; here it has none.
"""

from abc import abstractmethod
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

from rapidfuzz.distance import LCSseq

from turnwise.metrics.reference.tokens import tokens_rouge
from turnwise.metrics.rows import Mean
from turnwise.metrics.words import matches
from turnwise.types import Card, Item, Level, Need, Signature

CAPTION_BETA = 1.2  # beta of the F-measure in the COCO caption evaluation code, which gives no reason for it
CITATION = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries"


Part = Literal["f", "p", "r"]  # F-measure, precision, recall


class Overlap(NamedTuple):
    """Precision and recall of a reply against a reference."""

    precision: float  # matched part of the reply
    recall: float  # matched part of the reference

    def f(self, beta: float = 1.0) -> float:
        """F-measure, 0 if precision or recall is 0; recall has beta^2 times the weight of precision."""
        if not self.precision or not self.recall:
            return 0.0
        return (1 + beta**2) * self.precision * self.recall / (self.recall + beta**2 * self.precision)


Words = TypeVar("Words", bound=Sized)  # of a text: its words, or the words of each line


class Rouge(Mean, Generic[Words]):
    """F1 of the best reference, averaged over replies."""

    __slots__ = ()

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "no reference has a word of letters a-z or digits in it"

    stem: bool
    part: Part

    @abstractmethod
    def words(self, text: str) -> Words:
        """The tokens of a text, empty if it has none."""

    @abstractmethod
    def overlap(self, reply: Words, reference: Words) -> Overlap:
        """Precision and recall of a reply against one reference that has tokens."""

    def value(self, item: Item, /) -> float:
        """F1, precision or recall of the reference with tokens that has the best F1; NaN without one."""
        reply = self.words(item.reply)
        references = (words for text in item.references if len(words := self.words(text)))
        overlaps = [self.overlap(reply, reference) for reference in references]
        best = max(overlaps, key=Overlap.f, default=Overlap(float("nan"), float("nan")))
        return {"f": best.f(), "p": best.precision, "r": best.recall}[self.part]

    @property
    def _settings(self) -> tuple[tuple[str, str], ...]:
        """The parts of the signature that all have: tokens, stemming, and what is not the F-measure."""
        part = () if self.part == "f" else (("part", self.part),)
        return (("tok", "a-z0-9"), ("stem", "porter" if self.stem else "no"), *part)


class _OfTokens(Rouge[list[str]]):
    """ROUGE of a text as one list of tokens."""

    __slots__ = ()

    def words(self, text: str) -> list[str]:
        """The tokens, or their stems."""
        return tokens_rouge(text, stemmed=self.stem)


@dataclass(frozen=True, slots=True)
class RougeN(_OfTokens):
    """`rouge-n`: F1 of the common n-grams of `order` words."""

    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="F1 of the words (rouge-1) or word pairs (rouge-2) that the reply shares with its best reference; "
        "mean over replies.",
        range="0-1; 1 has the same words as a reference",
        limits="Compares only the wording: a good reply in other words scores low. Tokens are runs of a-z and 0-9, "
        "so text in other scripts has none and accented words are split. rouge-2 is 0, not undefined, for one-word "
        "references.",
        citation=CITATION,
    )

    order: int
    stem: bool = False
    part: Part = "f"

    @property
    def signature(self) -> Signature:
        """`rouge-` with the order, the tokenisation, stemming, and that the best reference counts."""
        return Signature(f"rouge-{self.order}", (*self._settings, ("refs", "max")))

    def overlap(self, reply: Sequence[str], reference: Sequence[str]) -> Overlap:
        """Matched n-grams as shares of the reply's and of the reference's; 0 where a text has none."""
        matched = matches(reply, [reference], self.order)[-1]
        in_reply, in_reference = (max(1, len(tokens) - self.order + 1) for tokens in (reply, reference))
        return Overlap(matched / in_reply, matched / in_reference)


class _LongestCommon(_OfTokens):
    """ROUGE of the longest common subsequence of words."""

    __slots__ = ()

    def overlap(self, reply: Sequence[str], reference: Sequence[str]) -> Overlap:
        """Length of the longest common subsequence as shares of the reply and of the reference.

        0 for an empty reply.
        """
        shared = LCSseq.similarity(reply, reference)
        return Overlap(shared / max(1, len(reply)), shared / len(reference))


@dataclass(frozen=True, slots=True)
class RougeL(_LongestCommon):
    """`rouge-l`: F1 of the longest common subsequence of words."""

    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="F1 of the longest common subsequence of words of the reply and its best reference; mean over "
        "replies.",
        range="0-1; 1 has the same words in the same order as a reference",
        limits="Compares only the wording: a good reply in other words scores low, and frequent words that happen "
        "to be in the same order raise the score. Tokens are runs of a-z and 0-9, so text in other scripts has none "
        "and accented words are split.",
        citation=CITATION,
    )

    stem: bool = False
    part: Part = "f"

    @property
    def signature(self) -> Signature:
        """The tokenisation, stemming, beta 1, and that the best reference counts."""
        return Signature("rouge-l", (*self._settings, ("beta", "1"), ("refs", "max")))


@dataclass(frozen=True, slots=True)
class RougeLCaption(_LongestCommon):
    """`rouge-l-b1.2`: ROUGE-L as in the COCO caption code."""

    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="rouge-l with beta 1.2, as ADEM and nlg-eval report it: recall has more weight, and precision "
        "and recall may come from two different references.",
        range="0-1; 1 has the same words in the same order as a reference",
        limits="Words are split only at white space: 'yes.' and 'Yes' differ, so give it tokenised, lower-cased "
        "text, as those papers did. With several references the score can exceed that against any single one.",
        citation=f"{CITATION}; Chen et al. 2015, Microsoft COCO Captions; Lowe et al. 2017 (ADEM)",
    )

    @property
    def signature(self) -> Signature:
        """The tokenisation, beta, and that precision and recall may come from two references."""
        settings = (("tok", "space"), ("beta", str(CAPTION_BETA)), ("refs", "max-p,max-r"))
        return Signature(f"rouge-l-b{CAPTION_BETA}", settings)

    def value(self, item: Item, /) -> float:
        """F with beta 1.2 of the best precision and the best recall over the references.

        NaN without a reference with words.
        """
        reply = item.reply.split()
        overlaps = [self.overlap(reply, tokens) for text in item.references if (tokens := text.split())]
        if not overlaps:
            return float("nan")
        precisions, recalls = zip(*overlaps, strict=True)
        return Overlap(max(precisions), max(recalls)).f(CAPTION_BETA)
