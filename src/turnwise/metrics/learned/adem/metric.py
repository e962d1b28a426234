"""ADEM: a reply's rating, predicted from context and reference (Lowe et al. 2017, Towards an Automatic Turing Test).

`adem` holds the reply against context and reference, `adem-c` against the context alone, `adem-r` against the
reference alone: three models, each trained for itself from ratings (`adem_training.py`). `adem-start` is the head
before training, M = N = I on the encoder's own vectors: the paper's rows `VHRED` and `T2V`. It needs no model's folder,
and is what training must beat.

The encoder of the paper is VHRED's (`turnwise train vhred`); any other can stand in its place. What is known against
ADEM: Sai et al. 2019 raised 64 % of its scores by taking the punctuation away. Encoders that read single texts are
given them without punctuation here, so for them it cannot happen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.adem.bilinear import Bilinear
from turnwise.metrics.learned.adem.triples import Triples, reader_named, reader_of
from turnwise.metrics.learned.seen import in_training
from turnwise.metrics.learned.trained import trained
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature

CITATION = "Lowe et al. 2017, Towards an Automatic Turing Test: Learning to Evaluate Dialogue Responses"
NAMES: dict[str, tuple[str, ...]] = {  # metric -> what the reply is held against
    "adem": ("context", "reference"),
    "adem-c": ("context",),
    "adem-r": ("reference",),
}


def _card(against: str) -> Card:
    return Card(
        kind="learned",
        meaning=f"The rating that people would give the reply, predicted from its likeness to {against}.",
        range="that of the ratings it was trained on, and a little beyond",
        limits="Knows the people and the languages of its training. The paper's was far weaker on a system that it "
        "had not seen (Table 5); on MiniLM it was not (papers/adem.md). Draws near the mean. It can be gamed.",
        citation=CITATION,
    )


@dataclass(frozen=True)
class Adem(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context", "references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no context, no reference, or no word in one of them or in the reply"
    card: ClassVar[Card] = _card("context and reference")
    name: ClassVar[str] = "adem"

    trained: str = ""  # a folder that `turnwise train` wrote

    @property
    def folder(self) -> Folder:
        return trained(self.name, self.trained)

    @property
    def signature(self) -> Signature:
        folder = self.folder
        return Signature(self.name, (("trained", folder.digest),), (reader_of(folder).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the predicted rating, 1."""
        folder = self.folder
        triples = Triples.of(items, reader_of(folder))
        return np.column_stack([_head(folder)(triples.sides, triples.reply), np.ones(len(items))])

    def in_training(self, items: Sequence[Item], /) -> int:
        """How many of these items its head was fitted to."""
        return in_training(self.folder, items)


@dataclass(frozen=True)
class AdemC(Adem):
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    unscored: ClassVar[str] = "no context, or no word in it or in the reply"
    card: ClassVar[Card] = _card("the context")
    name: ClassVar[str] = "adem-c"


@dataclass(frozen=True)
class AdemR(Adem):
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    unscored: ClassVar[str] = "no reference, or no word in it or in the reply"
    card: ClassVar[Card] = _card("the reference")
    name: ClassVar[str] = "adem-r"


@dataclass(frozen=True)
class AdemStart(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context", "references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = Adem.unscored
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="ADEM before training: the reply's dot product with its context plus that with its reference.",
        range="the encoder's own; higher is more alike",
        limits="Likes a copy of the context best. No rating has taught it anything.",
        citation=CITATION,
    )

    model: str = "minilm"  # an encoder, or the folder of a trained one

    @property
    def signature(self) -> Signature:
        return Signature("adem-start", (), (reader_named(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        triples = Triples.of(items, reader_named(self.model))
        rows = np.ones((len(items), 2))
        for row, context, reference, reply in zip(
            rows, triples.sides["context"], triples.sides["reference"], triples.reply, strict=True
        ):
            row[0] = (context + reference) @ reply
        return rows


@cache
def _head(folder: Folder) -> Bilinear:
    return Bilinear.of(folder.tensors, folder.config["head"])
