"""Feature hashing (Weinberger et al. 2009): n-grams of words and characters, signed, in d dimensions.

An encoder without weights: near duplicates have similar vectors, unrelated texts are nearly orthogonal (an inner
product has standard deviation 1/sqrt(d)). It does not represent meaning, so it is the baseline that a neural encoder
must beat. The square root of each count is taken, and words have the same total weight as characters.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from turnwise.encode.encoder import Tokens, Vectors
from turnwise.encode.text.tokenise import words_and_marks
from turnwise.types import Signature


@dataclass(frozen=True, slots=True)
class Hashing:
    """The encoder `hashing`: signed hashes of word and character n-grams, at unit length."""

    dimension: int = 256
    word_order: int = 2  # largest n of word n-grams
    char_orders: tuple[int, int] = (3, 4)  # smallest and largest n of character n-grams

    @property
    def signature(self) -> Signature:
        """The dimension and the orders of word and character n-grams."""
        low, high = self.char_orders
        return Signature(
            "hashing",
            (("d", str(self.dimension)), ("words", f"1-{self.word_order}"), ("chars", f"{low}-{high}")),
        )

    @property
    def token_signature(self) -> Signature:
        """Only the dimension."""
        return Signature("hashing-tokens", (("d", str(self.dimension)),))

    def encode(self, texts: Sequence[str], /) -> Vectors:
        """(n, dimension) a unit vector of each text; NaN for a text without words and marks."""
        rows = [self._vector(words_and_marks(text)) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)

    def tokens(self, texts: Sequence[str], /) -> list[Tokens]:
        """The unit vector of each word and mark of each text.

        Half of it comes from the word itself, half from its character n-grams, so `walk` and `walked` are similar.
        """
        return [self._tokens(words_and_marks(text)) for text in texts]

    def _tokens(self, words: list[str]) -> Tokens:
        """The tokens of one text; ids are hashes of the words."""
        vectors = np.array([self._vector([word]) for word in words], dtype=np.float32)
        ids = np.array([_hash(word) % 2**31 for word in words], dtype=np.int64)
        return Tokens(vectors.reshape(len(words), self.dimension), ids, np.zeros(len(words), dtype=np.bool_))

    def _vector(self, words: list[str]) -> Vectors:
        """(dimension,) the unit vector of a sequence of words; NaN without words."""
        if not words:
            return np.full(self.dimension, np.nan, dtype=np.float32)
        total = np.zeros(self.dimension)
        for grams in (self._word_grams(words), self._char_grams(words)):
            part = np.zeros(self.dimension)
            for gram, count in Counter(grams).items():
                code = _hash(gram)
                part[(code >> 1) % self.dimension] += (1.0 if code & 1 else -1.0) * count**0.5
            total += part / (np.linalg.norm(part) or 1.0)
        return (total / (np.linalg.norm(total) or 1.0)).astype(np.float32)

    def _word_grams(self, words: list[str]) -> Iterator[str]:
        """The n-grams of 1 to `word_order` words, each as a string with the prefix `w`."""
        for order in range(1, self.word_order + 1):
            for start in range(len(words) - order + 1):
                yield "w " + " ".join(words[start : start + order])

    def _char_grams(self, words: list[str]) -> Iterator[str]:
        """The character n-grams of each word, which is enclosed in < and >, with the prefix `c`."""
        low, high = self.char_orders
        for word in words:
            marked = f"<{word}>"
            for order in range(low, high + 1):
                for start in range(len(marked) - order + 1):
                    yield "c " + marked[start : start + order]


@lru_cache(maxsize=1 << 18)
def _hash(gram: str) -> int:
    """A 64-bit hash of the string. Python's own hash changes from process to process; this one does not."""
    return int.from_bytes(blake2b(gram.encode(), digest_size=8).digest(), "little")
