"""Conversations as examples for a head: who said what after what, and what could have been said instead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.encode import TextEncoder, Vectors
from turnwise.encode.text.normalise import plain
from turnwise.errors import DataError
from turnwise.metrics.learned.contrastive.training import Examples
from turnwise.metrics.learned.views import TURNS, turn_vectors
from turnwise.types import Dialogue, Ints

FEWEST = 50  # pairs of a turn and what follows it


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    texts: tuple[str, ...]  # every different turn in plain words
    dialogues: tuple[Ints, ...]  # rows of `texts`
    pairs: Ints  # (n, 2): dialogue, place of the reply in it

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue], *, most: int, rng: np.random.Generator) -> "Corpus":
        """All turns of both speakers; at most `most` pairs, drawn without replacement."""
        places: dict[str, int] = {}
        told: list[Ints] = []
        for dialogue in dialogues:
            turns = [words for turn in dialogue.turns if (words := plain(turn.text))]
            told.append(np.array([places.setdefault(words, len(places)) for words in turns], dtype=np.int64))
        pairs = np.array(
            [(k, at) for k, rows in enumerate(told) for at in range(1, len(rows))], dtype=np.int64
        ).reshape(-1, 2)
        if len(pairs) < FEWEST:
            raise DataError(
                f"{len(pairs)} turns follow another in the data; at least {FEWEST} are needed to learn from"
            )
        if len(pairs) > most:
            pairs = pairs[np.sort(rng.permutation(len(pairs))[:most])]
        used = set(pairs[:, 0].tolist())
        kept = tuple(rows if k in used else rows[:0] for k, rows in enumerate(told))
        return cls(tuple(places), kept, pairs)

    @property
    def reply(self) -> Ints:
        return np.array([self.dialogues[k][at] for k, at in self.pairs], dtype=np.int64)

    @property
    def context(self) -> Ints:
        """(n, TURNS) newest first; -1 where there is no such turn."""
        rows = np.full((len(self.pairs), TURNS), -1, dtype=np.int64)
        for row, (k, at) in zip(rows, self.pairs, strict=True):
            turns = self.dialogues[k][max(0, at - TURNS) : at][::-1]
            row[: len(turns)] = turns
        return rows

    def random(self, rng: np.random.Generator) -> Ints:
        """(n,) any text, each different one as often: common replies are then no commoner among the wrong ones."""
        return rng.integers(len(self.texts), size=len(self.pairs))

    def same_dialogue(self, rng: np.random.Generator) -> Ints:
        """(n,) a turn of the same dialogue that is neither the reply nor beside it; else any turn."""
        chosen = self.random(rng)
        for row, (k, at) in enumerate(self.pairs):
            turns = self.dialogues[k]
            others = np.flatnonzero(np.abs(np.arange(len(turns)) - at) > 1)
            if len(others):
                chosen[row] = turns[rng.choice(others)]
        return chosen

    def parrot(self, _: np.random.Generator) -> Ints:
        """(n,) what was just said."""
        return np.array([self.dialogues[k][at - 1] for k, at in self.pairs], dtype=np.int64)

    def negatives(self, kinds: Sequence[str], rng: np.random.Generator) -> Ints:
        """(n, m): a column of each kind."""
        makers: Mapping[str, Callable[[np.random.Generator], Ints]] = {
            "random": self.random,
            "same": self.same_dialogue,
            "parrot": self.parrot,
        }
        return np.stack([makers[kind](rng) for kind in kinds], axis=1)

    def vectors(self, encoder: TextEncoder) -> Vectors:
        """(N, d) of every text; one without a vector (no known word) is 0."""
        (found,) = turn_vectors([self.texts], encoder)
        return np.nan_to_num(found)

    def examples(self, encoder: TextEncoder, negatives: Ints) -> Examples:
        return Examples(self.vectors(encoder), self.context, self.reply, negatives, self.pairs[:, 0])
