"""How much a reply repeats (See et al. 2019): the agent's earlier turns, itself, or the other speaker.

Order 1 looks at content words, order 2 at pairs of neighbouring words of any kind. The number of a reply is a
share, and the number of an agent the mean over its replies, as in the paper.

We differ from the released code in three ways. Words are those of `turnwise.metrics.words`, without
punctuation marks. The stop words are a list of our own, `stopwords.txt`: the closed classes of English, the
fillers of talk, and the letters that remain where a tokeniser cut contractions. A reply without a content
word (or without two words) repeats no share of anything and is not scored, where the code gives it 0; nothing
said before is a true 0 in both.
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


class _Repetition(Mean):
    __slots__ = ()

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]]
    higher_is_better: ClassVar[bool] = False
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "the reply has no content word (order 1) or fewer than two words (order 2)"
    source: ClassVar[str]  # what is repeated

    order: int

    @property
    def signature(self) -> Signature:
        stop = digest(*sorted(STOPWORDS)) if self.order == 1 else "none"
        return Signature(f"repeat-{self.source}-{self.order}", (("tok", "words"), ("stop", stop)))

    def value(self, item: Item, /) -> float:
        if "context" in self.needs and len(item.turns) == 1:
            return float("nan")
        said = _units(item.reply, self.order)
        return self.repeated(said, item) / len(said) if said else float("nan")

    @abstractmethod
    def repeated(self, said: Sequence[Hashable], item: Item) -> int:
        """How many of the reply's words or pairs are repetitions."""

    def used_before(self, said: Sequence[Hashable], item: Item, *, by: str) -> int:
        earlier = (turn.text for turn in item.turns[:-1] if turn.role == by)
        used = {unit for text in earlier for unit in _units(text, self.order)}
        return sum(unit in used for unit in said)


@dataclass(frozen=True, slots=True)
class External(_Repetition):
    source: ClassVar[str] = "external"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of the reply's content words (1) or word pairs (2) that the agent used in an earlier "
        "turn.",
        range="0-1; 0 says nothing twice",
        limits="A topic that goes on is repetition too: people are above 0, and 0 is not the aim. It grows "
        "with the turn, so compare at equal length of dialogue; an agent's first turn is 0 by definition. "
        "The stop words are English.",
        citation=_SEE,
    )

    order: int

    def repeated(self, said: Sequence[Hashable], item: Item) -> int:
        return self.used_before(said, item, by=item.role)


@dataclass(frozen=True, slots=True)
class Internal(_Repetition):
    source: ClassVar[str] = "internal"
    needs: ClassVar[frozenset[Need]] = frozenset()
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of the reply's content words (1) or word pairs (2) that stand earlier in the same "
        "reply.",
        range="0 to below 1; 0 says nothing twice",
        limits="Finds loops, the classic failure of generation; long replies repeat more without being "
        "worse. The stop words are English.",
        citation=_SEE,
    )

    order: int

    def repeated(self, said: Sequence[Hashable], item: Item) -> int:
        return len(said) - len(set(said))


@dataclass(frozen=True, slots=True)
class Partner(_Repetition):
    source: ClassVar[str] = "partner"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Share of the reply's content words (1) or word pairs (2) that the other speaker used "
        "before.",
        range="0-1; 1 is a parrot",
        limits="Some echo shows that the agent listens: lower is better only against parroting. It grows "
        "with the turn, so compare at equal length of dialogue. The stop words are English.",
        citation=_SEE,
    )

    order: int

    def repeated(self, said: Sequence[Hashable], item: Item) -> int:
        return self.used_before(said, item, by=_PARTNERS.get(item.role, "user"))


def _units(text: str, order: int) -> list[Hashable]:
    tokens = words(text)
    return list(ngrams([word for word in tokens if word not in STOPWORDS] if order == 1 else tokens, order))
