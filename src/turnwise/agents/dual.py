"""The dual encoder as an agent (Lowe et al. 2015): of the replies it knows, the one that follows the context best."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from turnwise.agents.answering import Answer, Asked, alone
from turnwise.agents.tfidf import drawn
from turnwise.encode.models.folder import Folder
from turnwise.errors import DataError, UsageError
from turnwise.networks.hred.encoder import Hierarchical
from turnwise.types import Floats, Reply, Signature, Turn


@dataclass(frozen=True, eq=False)
class Dual:
    encoder: Hierarchical
    match: Floats  # (c, h)
    said: tuple[str, ...]  # replies it chooses from
    nearest: int = 1  # of the best, from which one is drawn

    @classmethod
    def read(cls, folder: Folder, *, nearest: int = 1, device: str | None = None) -> "Dual":
        if nearest < 1:
            raise UsageError("a dual encoder takes `nearest` of 1 or more")
        try:
            match, said = folder.tensors["match.weight"].astype(np.float64), tuple(folder.config["replies"])
        except KeyError as error:
            raise DataError(f"{folder.path}: is damaged: it has no {error}") from error
        return cls(Hierarchical.of(folder, device=device), match, said, nearest)

    @property
    def signature(self) -> Signature:
        return Signature(self.encoder.label, (("nearest", str(self.nearest)),))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return alone(self, turns, rng)

    def replies(self, asked: Sequence[Asked], /) -> list[Answer]:
        contexts = np.nan_to_num(self.encoder.encode([texts(one.turns) for one in asked]).astype(np.float64))
        scores = contexts @ self._candidates.T
        return [
            Reply(self.said[drawn(row, self.nearest, one.rng)])
            for row, one in zip(scores, asked, strict=True)
        ]

    @cached_property
    def _candidates(self) -> Floats:
        """(m, c): each reply, mapped into the space of contexts."""
        spoken: Floats = self.encoder.utterances(self.said).astype(np.float64)
        return spoken @ self.match.T


def texts(turns: Sequence[Turn]) -> list[str]:
    """What was said, without what is no speech."""
    return [turn.text for turn in turns if turn.role != "system" and turn.text.strip()]
