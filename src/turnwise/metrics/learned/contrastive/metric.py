"""What metrics with a contrastive head have in common: a folder, an encoder, and a probability for each reply."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode import TextEncoder
from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.contrastive.head import Head, head_of, probability
from turnwise.metrics.learned.guard.guard import Guard, guard_of
from turnwise.metrics.learned.trained import encoder_of, trained
from turnwise.metrics.learned.views import View, views
from turnwise.metrics.rows import Ratio
from turnwise.types import Floats, Item, Level, Need, Signature

UNSCORED = "no context, or a text without a word"


@dataclass(frozen=True)
class Contrastive(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = UNSCORED
    name: ClassVar[str]

    trained: str = ""  # a folder that `turnwise train` wrote; "": the one of the package

    @property
    def folder(self) -> Folder:
        return trained(self.name, self.trained)

    @property
    def which(self) -> str:
        """The name of its head, among those of the folder."""
        return "head"

    @property
    def head(self) -> Head:
        return head_of(self.folder, self.which)

    @property
    def guard(self) -> Guard | None:
        """Against frauds that it was taught (`turnwise attack --harden`)."""
        return guard_of(self.folder, self.which)

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """Of the signature."""
        return (("trained", self.folder.digest),)

    @property
    def signature(self) -> Signature:
        guard = self.guard
        told = () if guard is None else (("guard", guard.features),)
        return Signature(self.name, (*self.fields, *told), (encoder_of(self.folder).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): probability that the reply belongs here, 1."""
        encoder = encoder_of(self.folder)
        seen = views(items, encoder)
        scores = iter(self.believed([view for view in seen if view is not None], encoder))
        return np.array([[np.nan if view is None else next(scores), 1.0] for view in seen]).reshape(-1, 2)

    def believed(self, seen: Sequence[View], encoder: TextEncoder, /) -> list[float]:
        head, guard = self.head, self.guard
        if guard is not None:
            return guard.scores(seen, encoder)
        return [probability(head.logit(view)) for view in seen]
