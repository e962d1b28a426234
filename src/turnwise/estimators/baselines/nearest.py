"""Nearest neighbour: each reply of the target gets the value of the most similar logged reply.

Similarity is the cosine of the encoder's vectors of delexicalised texts; the value of a logged text is the mean rating
of the dialogues in which it occurs. A baseline without a fitted model; it also shows how far the target's replies are
from the logged ones.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused
from turnwise.estimators.vectors import encoder, vectors
from turnwise.types import Card, Episodes, Estimate, Floats, Ints, Signature


@dataclass(frozen=True)
class Nearest:
    """The estimator `nearest`; `model` is the encoder of texts."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating of the dialogues in which the logged replies nearest to the target's were said.",
        range="within the logged ratings",
        limits="Pulled to the logs' mean, and blind to everything but wording.",
        citation="-",
    )

    model: str = "minilm"

    @property
    def signature(self) -> Signature:
        """The signature of the encoder; there are no other settings."""
        return Signature("nearest", (), (encoder(self.model).signature,))

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The mean value of the nearest logged replies, over samples, then points, then the dialogues of other agents.

        A point without an alternative of the target counts as 0. The diagnostic `distance` is the mean of 1 minus the
        cosine. Refused without rated replies or the target's alternatives.
        """
        episodes = leave_out(episodes, {target})
        values = _values(episodes)
        known = np.flatnonzero(np.isfinite(values)).astype(np.int64)
        if target not in episodes.alternatives or not len(known):
            raise Refused(
                "there is no rated reply, or none of `{agent}`, to look for neighbours of",
                "no-neighbours",
                agent=target,
            )
        near, similar = neighbours(episodes, target, known, self.model)
        said = episodes.alternatives[target].text
        there = said >= 0
        shares = there / np.maximum(there.sum(axis=1, keepdims=True), 1)
        of_point = np.sum(shares * np.where(there, values[near[said]], 0.0), axis=1)
        lengths = np.diff(episodes.first)
        contributions = np.add.reduceat(of_point, episodes.first[:-1]) / lengths
        far = 1.0 - float(np.sum(shares * np.where(there, similar[said], 0.0)) / shares.sum())
        return Estimate(
            value=float(contributions.mean()),
            contributions=contributions,
            level=float(np.nanmean(episodes.reward)),
            diagnostics={"distance": far},
        )


def _values(episodes: Episodes) -> Floats:
    """(m,) mean rating of the dialogues in which each text is a logged reply; NaN if it is in no rated one."""
    reward = np.repeat(episodes.reward, np.diff(episodes.first))
    rated = np.isfinite(reward)
    text, m = episodes.logged.text[:, 0][rated], len(episodes.texts)
    count = np.bincount(text, minlength=m)
    total = np.bincount(text, weights=reward[rated], minlength=m)
    values: Floats = np.divide(total, count, out=np.full(m, np.nan), where=count > 0)
    return values


def neighbours(episodes: Episodes, target: str, known: Ints, model: str) -> tuple[Ints, Floats]:
    """(m,) index of the text of `known` that is nearest to each text, and (m,) its cosine.

    Both are 0 for texts that are not alternatives of the target.
    """
    unit = vectors(episodes.texts, model)
    unit = unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    said = episodes.alternatives[target].text
    asked = np.unique(said[said >= 0])
    similarity = unit[asked] @ unit[known].T
    best = np.argmax(similarity, axis=1)
    near, similar = np.zeros(len(unit), dtype=np.int64), np.zeros(len(unit))
    near[asked], similar[asked] = known[best], similarity[np.arange(len(asked)), best]
    return near, similar
