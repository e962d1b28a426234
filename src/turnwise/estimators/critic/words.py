"""Representations of texts for the critic, fitted on logged texts only: frequent words, or any encoder's vectors.

Systems spell the same things differently, so words are sequences of letters in lower case, each counted once a text.
Principal components are computed over the logged texts. Texts without any word are marked as silent.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from turnwise.types import Floats, Ints

WORDS, ACTS, SEMANTIC = "words", "acts", "semantic"  # representations that need no model
MOST = 500  # largest size of the vocabulary
_WORD = re.compile(r"[a-z']+|[?!]")
_SENTENCE = re.compile(r"[^.!?]+[.!?]*")


def words(text: str) -> list[str]:
    """The lower-case words (letters a to z and apostrophes) and the marks ? and ! of a text, in order."""
    return _WORD.findall(text.lower())


class Encoding(Protocol):
    """Anything that computes vectors of texts: an encoder, or the action encoder of a latent-action model."""

    def encode(self, texts: Sequence[str], /) -> NDArray[np.floating]:
        """(m, q) one vector for each text."""
        ...


class BagOfWords:
    """Indicators (0 or 1) of the `most` words that occur in most texts."""

    def __init__(self, texts: Sequence[str], most: int = MOST) -> None:
        counts = Counter(word for text in texts for word in dict.fromkeys(words(text)))
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        self.columns = {word: index for index, word in enumerate(ordered[:most])}

    def encode(self, texts: Sequence[str], /) -> Floats:
        """(texts, words) 1 where the text contains the word."""
        rows = np.zeros((len(texts), len(self.columns)))
        for row, text in zip(rows, texts, strict=True):
            row[[self.columns[word] for word in set(words(text)) if word in self.columns]] = 1.0
        return rows


_MARKS = {
    "request": {"?", "which", "what", "when", "where"},
    "no offer": {"sorry", "no", "none", "unfortunately", "unable"},
    "book": {"book", "booked", "booking", "reserve", "reserved", "reservation"},
    "close": {"goodbye", "bye", "welcome", "day"},
    "offer more": {"anything", "else"},
}  # act -> words that indicate it


class BinaryActs:
    """Indicators of acts, by rule: every mentioned slot, and five kinds recognised by their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.slots = sorted({word for text in texts for word in words(text) if word.startswith("slot")})

    def encode(self, texts: Sequence[str], /) -> Floats:
        """(texts, slots + 5) 1 where the text mentions the slot, or a word of the kind of act."""
        rows = np.zeros((len(texts), len(self.slots) + len(_MARKS)))
        for row, text in zip(rows, texts, strict=True):
            read = set(words(text))
            row[:] = [slot in read for slot in self.slots] + [bool(read & mark) for mark in _MARKS.values()]
        return rows


class SemanticActs:
    """What a reply does with which slot, by rule: `request(area)`, `inform(name)`, one sentence at a time.

    The paper's semantic actions have values too; with placeholders there are none.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.columns = {
            act: index
            for index, act in enumerate(sorted({act for text in texts for act in self._acts_of(text)}))
        }

    def encode(self, texts: Sequence[str], /) -> Floats:
        """(texts, acts) 1 where the text has the act; acts that no text of the fit had are ignored."""
        rows = np.zeros((len(texts), len(self.columns)))
        for row, text in zip(rows, texts, strict=True):
            row[[self.columns[act] for act in self._acts_of(text) if act in self.columns]] = 1.0
        return rows

    @staticmethod
    def _acts_of(text: str) -> set[tuple[str, str]]:
        """The (intent, slot) pairs of a text, one sentence at a time.

        The slot is "" in a sentence without placeholders, the intent `inform` in one without indicating words.
        """
        found = set()
        for sentence in _SENTENCE.findall(text):
            read = set(words(sentence))
            intents = [act for act, mark in _MARKS.items() if read & mark] or ["inform"] * bool(read)
            slots = sorted(word for word in read if word.startswith("slot")) or [""]
            found |= {(intent, slot) for intent in intents for slot in slots}
        return found


# Encodings that are made from the texts themselves.
RULES: Mapping[str, Callable[[Sequence[str]], Encoding]] = {ACTS: BinaryActs, SEMANTIC: SemanticActs}


@dataclass(frozen=True, slots=True)
class Axes:
    """Principal components of the logged rows, each scaled to unit variance."""

    mean: Floats  # (q,)
    directions: Floats  # (q, k)

    @classmethod
    def fit(cls, rows: Floats, most: int) -> Self:
        """The up to `most` components of largest variance of the rows; those with almost no variance are left out."""
        mean = rows.mean(axis=0)
        centred = rows - mean
        variance, directions = np.linalg.eigh(centred.T @ centred / len(rows))
        real = variance > 1e-6 * max(float(variance.max(initial=0.0)), 1e-12)
        chosen = np.flatnonzero(real)[::-1][:most]
        return cls(mean, directions[:, chosen] / np.sqrt(variance[chosen]))

    def __call__(self, rows: Floats) -> Floats:
        """(m, k) coordinates of the rows on the components."""
        coordinates: Floats = (rows - self.mean) @ self.directions
        return coordinates


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The representations of the m texts, each both as a reply and as a user turn."""

    reply: Floats  # (m, k) as a reply
    user: Floats  # (m, l) as a user turn
    surface: Floats  # (m, 3) log of the number of words, share of distinct words, placeholders per word
    silent: NDArray[np.bool_]  # (m,) whether a text has no words
    tokens: tuple[frozenset[str], ...]

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        replies: Ints,
        users: Ints,
        *,
        sizes: tuple[int, int],
        encoding: Encoding | None,
    ) -> Self:
        """Fit on the logged texts, each as often as it occurs, and represent all texts.

        `replies` and `users` are indices into `texts` (-1: no user turn), `sizes` the largest numbers of components of
        replies and of user turns. Without `encoding` the texts are bags of the words of the logged texts.
        """
        said = [texts[index] for index in (*replies, *users[users >= 0])]
        rows = np.asarray((encoding or BagOfWords(said)).encode(texts), dtype=np.float64)
        read = [words(text) for text in texts]
        known = users[users >= 0]
        axes = Axes.fit(rows[replies], sizes[0]), Axes.fit(rows[known if len(known) else replies], sizes[1])
        return cls(
            axes[0](rows),
            axes[1](rows),
            np.array([_surface(one) for one in read]).reshape(-1, 3),
            np.array([not one for one in read], dtype=np.bool_),
            tuple(frozenset(one) for one in read),
        )

    def copied(self, reply: int, user: int) -> float:
        """The share of the distinct words of a reply that are in the user's turn.

        `reply` and `user` are indices of texts. It is 0 if the reply has no words or `user` is -1.
        """
        own = self.tokens[reply]
        return len(own & self.tokens[user]) / len(own) if own and user >= 0 else 0.0


def _surface(read: list[str]) -> tuple[float, float, float]:
    """Log of 1 plus the number of words, share of distinct words, and placeholders per word."""
    n = max(len(read), 1)
    return float(np.log1p(len(read))), len(set(read)) / n, sum(word.startswith("slot") for word in read) / n
