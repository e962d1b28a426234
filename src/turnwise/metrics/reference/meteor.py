"""METEOR: words shared with a reference as they stand, by stem or by synonym, and how scattered they are.

The formula of Lavie and Agarwal 2007 with the parameters of Banerjee and Lavie 2005 (alpha 0.9, beta 3, gamma
0.5), which nltk has as its defaults too. P and R are the matched shares of reply and reference:
F = P R / (alpha P + (1 - alpha) R), and the score is F (1 - gamma (chunks / matches) ^ beta). A reply is
scored by its best reference. Later versions (Denkowski and Lavie 2011, 2014) weigh kinds of matches and
function words apart, with other parameters: their numbers are not comparable.

How we differ from nltk 3.9. It looks synonyms up by Porter stem, so that `car` and `automobile` (automobil)
match no better than `car` and `banana`; here they are looked up as words and base forms, and two words that
share any synset match, also through a base form (`bought`, `purchases`). It pairs repeated words from the
right, which can break a text in more chunks than it has; here chunks are the fewest (see `alignment`). Its
stemmer has changes of its own; ours is Porter's. Without stems, synonyms and repeated words both are equal.

How we differ from the papers. They choose the alignment with the fewest crossings (2005); here it is the one
with the fewest chunks, which is what the score then counts. The tokens are `turnwise.metrics.words`: lower
case, no punctuation. Closed-class words have no synonyms (`make_wordnet` says why).

Paraphrases are an option, a file (see `paraphrases`). A pair of phrases is one match, which P and R count
with as many words as it has on their side, and matches / chunks with the mean of both, as in Denkowski and
Lavie 2011. Phrases are joined before words are aligned, not after: `a lot of` is never whole once an `of`
elsewhere has taken its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import ClassVar

from turnwise.metrics.reference.alignment import align
from turnwise.metrics.reference.paraphrases import Joined, Paraphrases, read
from turnwise.metrics.reference.shared import STAGES
from turnwise.metrics.reference.wordnet import VERSION, table_digest
from turnwise.metrics.rows import Mean
from turnwise.metrics.words import words
from turnwise.types import Card, Item, Level, Need, Signature

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5  # Banerjee and Lavie 2005


@dataclass(frozen=True, slots=True)
class Meteor(Mean):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="Share of words that the reply and its nearest reference have in common, as they stand, by "
        "stem or as synonyms, recall counting nine times as much; lowered, by half at most, the more the "
        "shared words are scattered. Mean over replies.",
        range="0-1; a copy of a reference of n words has 1 - 1/(2 n^3), so 0.5 if it is one word",
        limits="Stems and synonyms are English; other languages have exact matches only. Two words are "
        "synonyms if any of their senses is, whatever the context. Recall rules, so long replies gain. "
        "Punctuation and case do not count.",
        citation="Banerjee and Lavie 2005, METEOR: An Automatic Metric for MT Evaluation with Improved "
        "Correlation with Human Judgments; Lavie and Agarwal 2007, METEOR: An Automatic Metric for MT "
        "Evaluation with High Levels of Correlation with Human Judgments; Fellbaum 1998, WordNet",
    )

    paraphrases: str | PathLike[str] | None = None
    _table: Paraphrases | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        table = None if self.paraphrases is None else read(self.paraphrases)
        object.__setattr__(self, "_table", table)  # the way to set a field of a frozen class

    @property
    def signature(self) -> Signature:
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
        reply = words(item.reply)
        references = (found for text in item.references if (found := words(text)))
        return max((self.meteor(reply, reference) for reference in references), default=float("nan"))

    def meteor(self, reply: Sequence[str], reference: Sequence[str]) -> float:
        """The score of one reply against one reference, both as words."""
        joined = self._table.join(reply, reference) if self._table else Joined(reply, reference, (0, 0))
        matches, chunks = align(joined.reply, joined.reference)
        if not matches:
            return 0.0
        of_reply, of_reference = (matches + hidden for hidden in joined.hidden)
        precision, recall = of_reply / len(reply), of_reference / len(reference)
        f = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
        penalty: float = GAMMA * (2 * chunks / (of_reply + of_reference)) ** BETA
        return f * (1 - penalty)
