"""METEOR: F-score of the words that a reply shares with a reference, lowered when the shared words are scattered.

Words match exactly, by stem or by synonym. The formula is that of Lavie and Agarwal 2007 with the parameters of
Banerjee and Lavie 2005 (alpha 0.9, beta 3, gamma 0.5), which are also nltk's defaults. P and R are the matched shares
of reply and reference: F = P R / (alpha P + (1 - alpha) R), and the score is F (1 - gamma (chunks / matches) ^ beta).
The best reference counts. A copy of a reference scores almost 1, no shared word 0. Later versions (Denkowski and Lavie
2011, 2014) weigh the kinds of matches and function words differently, so their scores are not comparable.

How we differ from nltk 3.9. nltk looks synonyms up by Porter stem, so `car` and `automobile` (stem `automobil`) do not
match. Here they are looked up as words and base forms, and two words that share a synset match, also through a base
form (`bought`, `purchases`). nltk pairs repeated words from the right, which can give more chunks than necessary; here
the number of chunks is the smallest possible (see `alignment`). nltk modifies Porter's stemmer; ours is Porter's own.
On texts without stem matches, synonyms and repeated words both give the same score.

How we differ from the papers. They choose the alignment with the fewest crossings (2005); here it is the one with the
fewest chunks, because the score counts chunks. Tokens are those of `turnwise.metrics.words`: lower case, no
punctuation. Closed-class words have no synonyms (`tools/make_wordnet.py` explains why).

Paraphrases are optional and come from a file (see `paraphrases`). A pair of phrases is one match. P and R count it
with its number of words on their side, and matches / chunks with the mean of both, as in Denkowski and Lavie 2011.
Phrases are replaced before words are aligned: otherwise `a lot of` could lose its `of` to another match.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import ClassVar

from turnwise.metrics.reference.alignment import align
from turnwise.metrics.reference.paraphrases import Joined, Paraphrases, read
from turnwise.metrics.reference.word_matches import STAGES
from turnwise.metrics.reference.wordnet import VERSION, table_digest
from turnwise.metrics.rows import Mean
from turnwise.metrics.words import words
from turnwise.types import Card, Item, Level, Need, Signature

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5  # Banerjee and Lavie 2005


@dataclass(frozen=True, slots=True)
class Meteor(Mean):
    """`meteor`, optionally with a table of paraphrases from a file."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="F-score of the words that the reply shares with its best reference (exactly, by stem or by "
        "synonym), with nine times the weight on recall; lowered, by half at most, the more the shared words are "
        "scattered. Mean over replies.",
        range="0-1; a copy of a reference of n words has 1 - 1/(2 n^3), so 0.5 if it is one word",
        limits="Stems and synonyms are English; other languages have exact matches only. Two words are "
        "synonyms if any of their senses is, whatever the context. Recall dominates, so long replies gain. "
        "Punctuation and case are ignored.",
        citation="Banerjee and Lavie 2005, METEOR: An Automatic Metric for MT Evaluation with Improved "
        "Correlation with Human Judgments; Lavie and Agarwal 2007, METEOR: An Automatic Metric for MT "
        "Evaluation with High Levels of Correlation with Human Judgments; Fellbaum 1998, WordNet",
    )

    paraphrases: str | PathLike[str] | None = None
    _table: Paraphrases | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        table = None if self.paraphrases is None else read(self.paraphrases)
        object.__setattr__(self, "_table", table)  # a plain assignment is refused in a frozen class

    @property
    def signature(self) -> Signature:
        """The stages and parameters, and digests of the WordNet table and of the paraphrases."""
        settings = {
            "tok": "words",
            "stages": ",".join(STAGES),
            "wordnet": f"{VERSION}@{table_digest()}",
            "paraphrases": self._table.digest if self._table else "no",
            "alpha": str(ALPHA),
            "beta": str(BETA),
            "gamma": str(GAMMA),
            "refs": "max",
        }
        return Signature("meteor", tuple(settings.items()))

    def value(self, item: Item, /) -> float:
        """The best score over the references with words; NaN without one."""
        reply = words(item.reply)
        references = (tokens for text in item.references if (tokens := words(text)))
        return max((self.meteor(reply, reference) for reference in references), default=float("nan"))

    def meteor(self, reply: Sequence[str], reference: Sequence[str]) -> float:
        """The score, 0 to 1, of one reply against one reference, both as words; 0 without a match."""
        joined = self._table.join(reply, reference) if self._table else Joined(reply, reference, (0, 0))
        matches, chunks = align(joined.reply, joined.reference)
        if not matches:
            return 0.0
        of_reply, of_reference = (matches + removed for removed in joined.removed)
        precision, recall = of_reply / len(reply), of_reference / len(reference)
        f = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
        penalty: float = GAMMA * (2 * chunks / (of_reply + of_reference)) ** BETA
        return f * (1 - penalty)
