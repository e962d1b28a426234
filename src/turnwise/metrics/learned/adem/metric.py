"""ADEM (Lowe et al. 2017, Towards an Automatic Turing Test): a reply's rating, predicted from context and reference.

`adem` compares the reply with context and reference, `adem-c` only with the context, `adem-r` only with the reference.
The three models are trained separately on ratings (see `training`). The score is on the scale of those ratings; higher
is better. `adem-start` is the head before training, M = N = I, on the encoder's own vectors: the paper's rows `VHRED`
and `T2V`. It needs no trained model and is the baseline for training.

The paper's encoder is that of VHRED (`turnwise train vhred`); any other can be used. A known weakness of ADEM: Sai et
al. 2019 raised 64 % of its scores by removing the punctuation. Here encoders of single texts get texts without
punctuation, so this attack has no effect on them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.adem.bilinear import Bilinear
from turnwise.metrics.learned.adem.triples import Triples, context_encoder, trained_context_encoder
from turnwise.metrics.learned.trained import load_trained
from turnwise.metrics.learned.training_items import count_training_items
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature

CITATION = "Lowe et al. 2017, Towards an Automatic Turing Test: Learning to Evaluate Dialogue Responses"
NAMES: dict[str, tuple[str, ...]] = {  # metric -> what the reply is compared with
    "adem": ("context", "reference"),
    "adem-c": ("context",),
    "adem-r": ("reference",),
}


def _card(compared_with: str) -> Card:
    """The card of a metric that compares the reply with this."""
    return Card(
        kind="learned",
        meaning=f"Predicted rating of the reply, from its similarity to {compared_with}.",
        range="that of the ratings it was trained on, and slightly beyond",
        limits="Predicts the ratings of its training raters, in the languages of its training data. The paper's was "
        "much weaker on systems that were not in the training data (Table 5); with MiniLM it was not (papers/adem.md). "
        "Predictions are close to the mean. It can be attacked.",
        citation=CITATION,
    )


@dataclass(frozen=True)
class Adem(Ratio):
    """`adem`: the rating predicted from context and reference."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context", "references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no context, no reference, or no word in one of them or in the reply"
    card: ClassVar[Card] = _card("context and reference")
    name: ClassVar[str] = "adem"

    trained: str = ""  # a folder that `turnwise train` wrote

    @property
    def folder(self) -> Folder:
        """The trained model; raises `NotTrained` if there is none."""
        return load_trained(self.name, self.trained)

    @property
    def signature(self) -> Signature:
        """The digest of the trained model and the signature of its encoder; raises `NotTrained` without a model."""
        folder = self.folder
        return Signature(
            self.name, (("trained", folder.digest),), (trained_context_encoder(folder).signature,)
        )

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the predicted rating, 1.

        NaN where the reply, or a side that it is compared with, has no known word.
        """
        folder = self.folder
        triples = Triples.of(items, trained_context_encoder(folder))
        return np.column_stack([_head(folder)(triples.sides, triples.reply), np.ones(len(items))])

    def in_training(self, items: Sequence[Item], /) -> int:
        """How many of these items its head was fitted to."""
        return count_training_items(self.folder, items)


@dataclass(frozen=True)
class AdemC(Adem):
    """`adem-c`: the rating predicted from the context."""

    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    unscored: ClassVar[str] = "no context, or no word in it or in the reply"
    card: ClassVar[Card] = _card("the context")
    name: ClassVar[str] = "adem-c"


@dataclass(frozen=True)
class AdemR(Adem):
    """`adem-r`: the rating predicted from the reference."""

    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    unscored: ClassVar[str] = "no reference, or no word in it or in the reply"
    card: ClassVar[Card] = _card("the reference")
    name: ClassVar[str] = "adem-r"


@dataclass(frozen=True)
class AdemStart(Ratio):
    """`adem-start`: the untrained head on the encoder's own vectors."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context", "references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = Adem.unscored
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="ADEM before training: the reply's dot product with its context plus that with its reference.",
        range="depends on the encoder; higher is more similar",
        limits="A copy of the context scores highest. It is not trained on ratings.",
        citation=CITATION,
    )

    model: str = "minilm"  # an encoder, or the folder of a trained one

    @property
    def signature(self) -> Signature:
        """Only the signature of the encoder."""
        return Signature("adem-start", (), (context_encoder(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): dot product of the reply with context plus reference, and 1.

        NaN where one of the three is missing or has no known word.
        """
        triples = Triples.of(items, context_encoder(self.model))
        rows = np.ones((len(items), 2))
        for row, context, reference, reply in zip(
            rows, triples.sides["context"], triples.sides["reference"], triples.reply, strict=True
        ):
            row[0] = (context + reference) @ reply
        return rows


@cache
def _head(folder: Folder) -> Bilinear:
    """The head of a model's folder, read once."""
    return Bilinear.of(folder.tensors, folder.config["head"])
