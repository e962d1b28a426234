"""Embedding Average, Greedy Matching and Vector Extrema between a reply and its reference (Liu et al. 2016).

Each is a cosine similarity; 1 is the same text, and values near 0 are unrelated texts. `average` compares the mean
word vectors. `greedy` compares each word with its most similar word in the other text and averages over both
directions. `extrema` compares the most extreme value in each dimension: the one furthest from zero, as Forgues et al.
2014 define it. The script released with Liu et al. takes the greatest value whatever its sign; that is `extrema-max`.
Only words that the model has a vector for count (word2vec: GoogleNews). A pair in which one text has no such word is
unscored. With several references the best one counts.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode import Vectors
from turnwise.metrics import models
from turnwise.metrics.rows import Mean
from turnwise.types import Card, Floats, Item, Kind, Level, Need, Signature

CITATION = "Liu et al. 2016, How NOT To Evaluate Your Dialogue System"


def _card(meaning: str) -> Card:
    """The card of one of these metrics; they differ only in the meaning."""
    kind: Kind = "reference"
    return Card(
        kind=kind,
        meaning=meaning,
        range="-1 to 1; 1 is the same text",
        limits="Ignores the order of words, negation and the context. A good reply in other words than the "
        "reference's scores low, a generic one high. Liu et al. found almost no correlation with ratings.",
        citation=CITATION,
    )


@dataclass(frozen=True)
class _WordVectors(Mean):
    """A similarity of the word vectors of reply and reference; the best reference counts."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no reference, or no word that the model has a vector for"
    name: ClassVar[str]

    model: str = "word2vec"

    @property
    def signature(self) -> Signature:
        """The name, the field `refs:max` (the best reference counts), and the signature of the word vectors."""
        return Signature(self.name, (("refs", "max"),), (models.token_encoder(self.model).token_signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the best similarity over the references and 1; NaN where reply or references have no known word."""
        texts = list(dict.fromkeys(text for item in items for text in (item.reply, *item.references)))
        encoder = models.token_encoder(self.model)
        vectors = {
            text: tokens.vectors[~tokens.special]
            for text, tokens in zip(texts, encoder.tokens(texts), strict=True)
        }
        rows = np.ones((len(items), 2))
        for row, item in zip(rows, items, strict=True):
            reply = vectors[item.reply]
            known = [vectors[text] for text in item.references if len(reply) and len(vectors[text])]
            row[0] = max((self.similarity(reply, reference) for reference in known), default=np.nan)
        return rows

    def value(self, item: Item, /) -> float:
        """The score of one item; NaN without one."""
        return float(self.rows([item])[0, 0])

    @abstractmethod
    def similarity(self, a: Vectors, b: Vectors) -> float:
        """Similarity of two texts, given their word vectors (n, d) and (m, d), neither empty."""


class Average(_WordVectors):
    """Cosine of the mean word vectors."""

    name = "average"
    card: ClassVar[Card] = _card("Cosine of the mean word vectors of the reply and its reference.")

    def similarity(self, a: Vectors, b: Vectors) -> float:
        """Cosine of the two mean vectors."""
        return cosine(a.mean(axis=0), b.mean(axis=0))


class Greedy(_WordVectors):
    """Best cosine of each word with a word of the other text, averaged over both directions."""

    name = "greedy"
    card: ClassVar[Card] = _card(
        "Each word's cosine with the most similar word of the other text, averaged over both directions "
        "(Rus and Lintean 2012)."
    )

    def similarity(self, a: Vectors, b: Vectors) -> float:
        """Mean of the two directions' mean best cosines."""
        cosines = unit(a) @ unit(b).T
        return float((cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2)


class Extrema(_WordVectors):
    """Cosine of the values furthest from zero in each dimension."""

    name = "extrema"
    card: ClassVar[Card] = _card(
        "Cosine of the values furthest from zero in each dimension (Forgues et al. 2014)."
    )

    def similarity(self, a: Vectors, b: Vectors) -> float:
        """Cosine of the vectors of values furthest from zero."""
        return cosine(_furthest(a), _furthest(b))


class ExtremaMax(_WordVectors):
    """Cosine of the greatest values in each dimension."""

    name = "extrema-max"
    card: ClassVar[Card] = _card(
        "Cosine of the greatest values in each dimension, as in the script of Liu et al."
    )

    def similarity(self, a: Vectors, b: Vectors) -> float:
        """Cosine of the vectors of greatest values."""
        return cosine(a.max(axis=0), b.max(axis=0))


def _furthest(vectors: Vectors) -> Vectors:
    """(n, d) -> (d,) the value furthest from zero in each dimension."""
    greatest, least = vectors.max(axis=0), vectors.min(axis=0)
    extremes: Vectors = np.where(greatest >= -least, greatest, least)
    return extremes


def unit(vectors: Vectors) -> Floats:
    """The rows in float64, scaled to length 1; a row of zeros stays zero."""
    wide = vectors.astype(np.float64)
    length = np.linalg.norm(wide, axis=-1, keepdims=True)
    directions: Floats = np.divide(wide, length, out=np.zeros_like(wide), where=length > 0)
    return directions


def cosine(a: Vectors, b: Vectors) -> float:
    """The cosine of two vectors (d,); 0 if one of them is zero."""
    return float(unit(a) @ unit(b))
