"""`turnwise`: a reference-free score of our own, for replies of systems nobody has rated yet.

Frozen turn vectors feed six small heads (trained to tell given replies from others), a bank of real exchanges, cosines
and counts; a ridge over these signals was fitted to published ratings of nine corpora. What it reaches on a corpus
whose ratings it has not seen, how its ingredients were chosen and how many were tried, is in `papers/learned.md`; it
does a little better with 60 ratings of your own (`turnwise train turnwise`), and with 30 is on your scale.

A reply of three words or more that is a copy out of its context (over .8 of its words, in their order) gets the
score of the worst: no head can be trusted with a parrot. Text is made plain first: case and punctuation do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.contrastive.metric import UNSCORED
from turnwise.metrics.learned.seen import in_training
from turnwise.metrics.learned.trained import encoder_of, trained
from turnwise.metrics.learned.turnwise.signals import Signals
from turnwise.metrics.learned.turnwise.surface import is_copied
from turnwise.metrics.learned.turnwise.weights import Weights
from turnwise.metrics.learned.views import told_of
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature

COPY, FEWEST_WORDS = 0.8, 3


@dataclass(frozen=True)
class Turnwise(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = UNSCORED
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="What people would say of the reply, in standard deviations of their ratings; 0 is an average reply.",
        range="about -2 to 2; on the scale of your own ratings once calibrated to them",
        limits="English small talk. A warm reply that fits anywhere beat people's own in a quarter of contexts. "
        "Corpora differ in what is liked: check with `meta` on ratings of your own, or calibrate.",
        citation="papers/learned.md",
    )

    trained: str = ""  # a folder that `turnwise train turnwise` wrote; "": the one of the package

    @property
    def folder(self) -> Folder:
        return trained("turnwise", self.trained)

    @property
    def half_width(self) -> float:
        """Of the 95 % interval of a single prediction."""
        return float(self.folder.config["half_width"])

    @property
    def signature(self) -> Signature:
        return Signature("turnwise", (("trained", self.folder.digest),), (encoder_of(self.folder).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): prediction, 1."""
        folder = self.folder
        signals, weights = _model(folder)
        found = weights.predict(signals.table(items, encoder_of(folder), folder.config["columns"]))
        found[[is_copy(item) for item in items]] = folder.config["floor"]
        return np.stack([found, np.ones(len(items))], axis=1)

    def in_training(self, items: Sequence[Item], /) -> int:
        """How many of these items its weights were fitted to."""
        return in_training(self.folder, items)


def is_copy(item: Item) -> bool:
    """Whether the reply is a parrot's."""
    told = told_of(item)
    return told is not None and len(told[0].split()) >= FEWEST_WORDS and is_copied(*told, share=COPY)


def weights_of(folder: Folder) -> Weights:
    centre, scale, weights = (
        folder.tensors[f"ridge.{name}"].astype(np.float64) for name in ("centre", "scale", "weights")
    )
    return Weights(centre, scale, weights, float(folder.config["offset"]))


@cache
def _model(folder: Folder) -> tuple[Signals, Weights]:
    return Signals.load(folder), weights_of(folder)
