"""The dual encoder as an agent (Lowe et al. 2015): replies with the known reply that fits the context best."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from turnwise.agents.calling import ReplyOrFailure, ReplyRequest, single_reply
from turnwise.agents.tfidf import draw_nearest
from turnwise.encode.models.folder import Folder
from turnwise.errors import DataError, UsageError
from turnwise.networks.hred.encoder import Hierarchical
from turnwise.types import Floats, Reply, Signature, Turn


@dataclass(frozen=True, eq=False)
class Dual:
    """Retrieval of the reply with the highest bilinear score of context and reply."""

    encoder: Hierarchical
    match: Floats  # (c, h) matrix of the bilinear score
    known_replies: tuple[str, ...]  # the candidates
    nearest: int = 1  # number of best candidates from which one is drawn

    @classmethod
    def read(cls, folder: Folder, *, nearest: int = 1, device: str | None = None) -> "Dual":
        """Load a folder that `turnwise train dual` wrote.

        Raises `DataError` if it is damaged, `UsageError` if `nearest` < 1.
        """
        if nearest < 1:
            raise UsageError("a dual encoder takes `nearest` of 1 or more")
        try:
            match, known_replies = (
                folder.tensors["match.weight"].astype(np.float64),
                tuple(folder.config["replies"]),
            )
        except KeyError as error:
            raise DataError(f"{folder.path}: is damaged: it has no {error}") from error
        return cls(Hierarchical.of(folder, device=device), match, known_replies, nearest)

    @property
    def signature(self) -> Signature:
        """The encoder's name and hash, and `nearest`."""
        return Signature(self.encoder.label, (("nearest", str(self.nearest)),))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return single_reply(self, turns, rng)

    def replies(self, requests: Sequence[ReplyRequest], /) -> list[ReplyOrFailure]:
        """For each request, one of the `nearest` candidates with the highest scores, drawn at random."""
        contexts = np.nan_to_num(
            self.encoder.encode([texts(one.turns) for one in requests]).astype(np.float64)
        )
        scores = contexts @ self._candidates.T
        return [
            Reply(self.known_replies[draw_nearest(row, self.nearest, one.rng)])
            for row, one in zip(scores, requests, strict=True)
        ]

    @cached_property
    def _candidates(self) -> Floats:
        """(m, c) vectors of the candidates, mapped into the space of contexts."""
        vectors: Floats = self.encoder.utterances(self.known_replies).astype(np.float64)
        return vectors @ self.match.T


def texts(turns: Sequence[Turn]) -> list[str]:
    """The texts of the turns, without system turns and empty ones."""
    return [turn.text for turn in turns if turn.role != "system" and turn.text.strip()]
