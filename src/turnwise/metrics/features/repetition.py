"""Repetition in a reply (See et al. 2019): of the agent's earlier turns, of itself, or of the other speaker.

Order 1 counts content words, order 2 pairs of neighbouring words of any kind. A reply's score is the share of its
words or pairs that are repetitions (0: none, 1: all), and an agent's score is the mean over its replies, as in the
paper.

We differ from the released code in three ways. Words are those of `turnwise.metrics.words`, without punctuation. The
stop words are our own list, `stopwords.txt`: the closed classes of English, fillers of spoken language, and the letters
that remain where a tokeniser split contractions. A reply without a content word (order 1) or without two words (order
2) is unscored, where the code gives it 0. A reply with no earlier turns to repeat scores 0 in both.
"""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar

from turnwise.metrics.rows import Mean
from turnwise.metrics.words import ngrams, words
from turnwise.types import Card, Item, Level, Need, Signature, digest

STOPWORDS = frozenset(files("turnwise.metrics.features").joinpath("stopwords.txt").read_text("utf-8").split())
_PARTNERS = {"assistant": "user", "user": "assistant"}
_SEE = "See et al. 2019, What makes a good conversation? How controllable attributes affect human judgments"


@dataclass(frozen=True, slots=True)
class _Repetition(Mean):
    """Share of the reply's content words (order 1) or word pairs (order 2) that are repetitions."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]]
    higher_is_better: ClassVar[bool] = False
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "the reply has no content word (order 1) or fewer than two words (order 2)"
    source: ClassVar[str]  # external, internal or partner: part of the metric's name

    order: int

    @property
    def signature(self) -> Signature:
        """The kind of tokens and a digest of the stop words, which is `none` for order 2."""
        stop = digest(*sorted(STOPWORDS)) if self.order == 1 else "none"
        return Signature(f"repeat-{self.source}-{self.order}", (("tok", "words"), ("stop", stop)))

    def value(self, item: Item, /) -> float:
        """The share of repetitions, 0 to 1; NaN without a word or pair, or without a context where one is needed."""
        if "context" in self.needs and len(item.turns) == 1:
            return float("nan")
        in_reply = _ngrams(item.reply, self.order)
        return self.repeated(in_reply, item) / len(in_reply) if in_reply else float("nan")

    @abstractmethod
    def repeated(self, in_reply: Sequence[Hashable], item: Item) -> int:
        """How many of the reply's words or pairs, which are `in_reply`, are repetitions."""

    def used_before(self, in_reply: Sequence[Hashable], item: Item, *, by: str) -> int:
        """How many of the reply's words or pairs the speaker with role `by` used in an earlier turn."""
        earlier = (turn.text for turn in item.turns[:-1] if turn.role == by)
        used = {ngram for text in earlier for ngram in _ngrams(text, self.order)}
        return sum(ngram in used for ngram in in_reply)


@dataclass(frozen=True, slots=True)
class External(_Repetition):
    """Share of the reply's content words (order 1) or word pairs (order 2) that the agent used in an earlier turn."""

    source: ClassVar[str] = "external"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of the reply's content words (1) or word pairs (2) that the agent used in an earlier "
        "turn.",
        range="0-1; 0 repeats nothing",
        limits="Staying on a topic counts as repetition too: people are above 0, and 0 is not the goal. It grows "
        "with the number of turns, so compare dialogues of equal length; an agent's first turn is 0 by definition. "
        "The stop words are English.",
        citation=_SEE,
    )

    def repeated(self, in_reply: Sequence[Hashable], item: Item) -> int:
        """How many of the reply's words or pairs the agent used in an earlier turn."""
        return self.used_before(in_reply, item, by=item.role)


@dataclass(frozen=True, slots=True)
class Internal(_Repetition):
    """Share of the reply's content words (order 1) or word pairs (order 2) that already occur earlier in the reply."""

    source: ClassVar[str] = "internal"
    needs: ClassVar[frozenset[Need]] = frozenset()
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of the reply's content words (1) or word pairs (2) that already occur earlier in the same "
        "reply.",
        range="0 to below 1; 0 repeats nothing",
        limits="Finds loops, a common failure of text generation; long replies repeat more without being "
        "worse. The stop words are English.",
        citation=_SEE,
    )

    def repeated(self, in_reply: Sequence[Hashable], item: Item) -> int:
        """How many of the reply's words or pairs occur earlier in the reply."""
        return len(in_reply) - len(set(in_reply))


@dataclass(frozen=True, slots=True)
class Partner(_Repetition):
    """Share of the reply's content words (order 1) or word pairs (order 2) that the other speaker used before."""

    source: ClassVar[str] = "partner"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of the reply's content words (1) or word pairs (2) that the other speaker used "
        "before.",
        range="0-1; 1 only repeats the other speaker",
        limits="Some repetition shows that the agent takes up what was said: lower is better only to detect "
        "parroting. It grows with the number of turns, so compare dialogues of equal length. The stop words are "
        "English.",
        citation=_SEE,
    )

    def repeated(self, in_reply: Sequence[Hashable], item: Item) -> int:
        """How many of the reply's words or pairs the other speaker used in an earlier turn."""
        return self.used_before(in_reply, item, by=_PARTNERS.get(item.role, "user"))


def _ngrams(text: str, order: int) -> list[Hashable]:
    """The content words (order 1) or the pairs of neighbouring words (order 2) of a text, with repetitions."""
    tokens = words(text)
    return list(ngrams([word for word in tokens if word not in STOPWORDS] if order == 1 else tokens, order))
