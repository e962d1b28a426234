"""Base class of metrics with a contrastive head: they load a trained model and give each reply a probability."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode import TextEncoder
from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.contrastive.head import Head, head_of, probability
from turnwise.metrics.learned.encoded_items import EncodedItem, encode_items
from turnwise.metrics.learned.guard.guard import Guard, guard_of
from turnwise.metrics.learned.trained import encoder_of, load_trained
from turnwise.metrics.rows import Ratio
from turnwise.types import Floats, Item, Level, Need, Signature

UNSCORED = "no context, or a text without a word"


@dataclass(frozen=True)
class Contrastive(Ratio):
    """The probability that a trained contrastive head gives a reply."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = UNSCORED
    name: ClassVar[str]

    # A folder that `turnwise train` wrote; "": the one that ships with the package; `hardened`: that with a guard.
    trained: str = ""

    @property
    def folder(self) -> Folder:
        """The trained model; raises `NotTrained` if there is none."""
        return load_trained(self.name, self.trained)

    @property
    def head_name(self) -> str:
        """The name of the head in the model's folder."""
        return "head"

    @property
    def head(self) -> Head:
        """The trained head in the model's folder."""
        return head_of(self.folder, self.head_name)

    @property
    def guard(self) -> Guard | None:
        """The guard against known frauds (`turnwise attack --harden` trains it); None if the model has none."""
        return guard_of(self.folder, self.head_name)

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings in the signature."""
        return (("trained", self.folder.digest),)

    @property
    def signature(self) -> Signature:
        """The settings, the guard's features if there is one, and the encoder; raises `NotTrained` without a model."""
        guard = () if self.guard is None else (("guard", self.guard.features),)
        return Signature(self.name, (*self.settings, *guard), (encoder_of(self.folder).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): probability that the reply is the logged one, 1; NaN for an item that cannot be encoded."""
        encoder = encoder_of(self.folder)
        encoded = encode_items(items, encoder)
        scores = iter(self.probabilities([item for item in encoded if item is not None], encoder))
        return np.array([[np.nan if item is None else next(scores), 1.0] for item in encoded]).reshape(-1, 2)

    def probabilities(self, items: Sequence[EncodedItem], encoder: TextEncoder, /) -> list[float]:
        """The probability of each item, by the guard if there is one, else by the head."""
        head, guard = self.head, self.guard
        if guard is not None:
            return guard.scores(items, encoder)
        return [probability(head.logit(item)) for item in items]
