"""Training examples for contrastive heads: each reply with its context and wrong replies drawn from the dialogues."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.encode import TextEncoder, Vectors
from turnwise.encode.text.normalise import plain
from turnwise.errors import DataError
from turnwise.metrics.learned.contrastive.training import Examples
from turnwise.metrics.learned.encoded_items import TURNS, turn_vectors
from turnwise.types import Dialogue, Ints

FEWEST = 50  # smallest number of pairs of context and reply that training needs


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The different turns of the dialogues, and pairs of a turn with the turns before it."""

    texts: tuple[str, ...]  # every different turn, normalised
    dialogues: tuple[Ints, ...]  # for each dialogue, the index in `texts` of each of its turns
    pairs: Ints  # (n, 2): index of the dialogue, index of the reply in it

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue], *, most: int, rng: np.random.Generator) -> "Corpus":
        """A pair for every turn of both speakers except the first; at most `most`, drawn without replacement.

        Turns without words are left out first. Fewer than 50 pairs are a `DataError`.
        """
        index: dict[str, int] = {}
        turns_of: list[Ints] = []
        for dialogue in dialogues:
            texts = [text for turn in dialogue.turns if (text := plain(turn.text))]
            turns_of.append(np.array([index.setdefault(text, len(index)) for text in texts], dtype=np.int64))
        pairs = np.array(
            [(k, at) for k, turns in enumerate(turns_of) for at in range(1, len(turns))], dtype=np.int64
        ).reshape(-1, 2)
        if len(pairs) < FEWEST:
            raise DataError(
                f"{len(pairs)} turns follow another in the data; at least {FEWEST} are needed to learn from"
            )
        if len(pairs) > most:
            pairs = pairs[np.sort(rng.permutation(len(pairs))[:most])]
        used = set(pairs[:, 0].tolist())
        kept = tuple(turns if k in used else turns[:0] for k, turns in enumerate(turns_of))
        return cls(tuple(index), kept, pairs)

    @property
    def reply(self) -> Ints:
        """(n,) index of each pair's reply in `texts`."""
        return np.array([self.dialogues[k][at] for k, at in self.pairs], dtype=np.int64)

    @property
    def context(self) -> Ints:
        """(n, TURNS) indices of each pair's context in `texts`, newest first; -1 for missing turns."""
        rows = np.full((len(self.pairs), TURNS), -1, dtype=np.int64)
        for row, (k, at) in zip(rows, self.pairs, strict=True):
            turns = self.dialogues[k][max(0, at - TURNS) : at][::-1]
            row[: len(turns)] = turns
        return rows

    def random(self, rng: np.random.Generator) -> Ints:
        """(n,) a random index in `texts` for each pair, possibly that of the reply itself.

        Every different text is equally likely, so that common replies are not more frequent.
        """
        return rng.integers(len(self.texts), size=len(self.pairs))

    def same_dialogue(self, rng: np.random.Generator) -> Ints:
        """(n,) index of a turn of the same dialogue, but not the reply or a neighbour of it.

        Where there is no such turn it is the index of a random text.
        """
        chosen = self.random(rng)
        for row, (k, at) in enumerate(self.pairs):
            turns = self.dialogues[k]
            others = np.flatnonzero(np.abs(np.arange(len(turns)) - at) > 1)
            if len(others):
                chosen[row] = turns[rng.choice(others)]
        return chosen

    def parrot(self, _: np.random.Generator) -> Ints:
        """(n,) index of the turn before the reply."""
        return np.array([self.dialogues[k][at - 1] for k, at in self.pairs], dtype=np.int64)

    def negatives(self, kinds: Sequence[str], rng: np.random.Generator) -> Ints:
        """(n, m) indices of negatives in `texts`, with a column for each of the kinds: `random`, `same` or `parrot`."""
        makers: Mapping[str, Callable[[np.random.Generator], Ints]] = {
            "random": self.random,
            "same": self.same_dialogue,
            "parrot": self.parrot,
        }
        return np.stack([makers[kind](rng) for kind in kinds], axis=1)

    def vectors(self, encoder: TextEncoder) -> Vectors:
        """(N, d) the vectors of all texts; 0 for a text without a known word."""
        (vectors,) = turn_vectors([self.texts], encoder)
        return np.nan_to_num(vectors)

    def examples(self, encoder: TextEncoder, negatives: Ints) -> Examples:
        """The pairs as training examples with these negatives."""
        return Examples(self.vectors(encoder), self.context, self.reply, negatives, self.pairs[:, 0])
