"""A trigram language model: counts of n-grams up to order three, stored by a hash of the words.

p3(c | a, b) backs off to p2(c | b), and that to p1(c), each with a weight of `PRIOR` counts (Dirichlet smoothing). The
difference between the log-probability of a sequence and that of its single words measures how well the words go
together, independent of how rare they are (SLOR, Pauls and Klein 2012).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

PRIOR = 5.0  # counts that the lower-order probability is worth in the smoothing
MIN_COUNT = {1: 1, 2: 2, 3: 2}  # order -> smallest count that is stored
_START, _END = "<s>", "</s>"


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Counts of word n-grams up to order three, and the smoothed probabilities from them."""

    counts: Mapping[int, Mapping[int, int]]  # order -> hash -> count
    total: int  # number of words

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Lexicon":
        """Count the n-grams of normalised texts, with marks for start and end.

        Pairs and triples that occur once are dropped.
        """
        counts: dict[int, Counter[int]] = {1: Counter(), 2: Counter(), 3: Counter()}
        for text in texts:
            words = [_START, _START, *text.split(), _END]
            counts[1].update(_code(word) for word in words[1:])
            counts[2].update(_code(*pair) for pair in pairwise(words[1:]))
            counts[3].update(_code(*triple) for triple in zip(words, words[1:], words[2:], strict=False))
        kept = {
            order: {code: count for code, count in found.items() if count >= MIN_COUNT[order]}
            for order, found in counts.items()
        }
        return cls(kept, sum(counts[1].values()))

    @classmethod
    def load(cls, tensors: Mapping[str, NDArray[Any]]) -> "Lexicon":
        """The lexicon from the tensors of a model's folder."""
        counts = {
            order: dict(
                zip(
                    tensors[f"words.{order}.code"].tolist(),
                    tensors[f"words.{order}.count"].tolist(),
                    strict=True,
                )
            )
            for order in (1, 2, 3)
        }
        return cls(counts, int(tensors["words.total"][0]))

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The counts as tensors of a model's folder."""
        tensors: dict[str, NDArray[Any]] = {"words.total": np.array([self.total], dtype=np.int64)}
        for order, counts in self.counts.items():
            codes = sorted(counts)
            tensors[f"words.{order}.code"] = np.array(codes, dtype=np.uint32)
            tensors[f"words.{order}.count"] = np.array([counts[code] for code in codes], dtype=np.uint32)
        return tensors

    def count(self, word: str) -> int:
        """How often the word was counted; 0 for an unknown word."""
        return self.counts[1].get(_code(word), 0)

    def knows(self, first: str, second: str) -> bool:
        """Whether the pair of words was counted at least twice."""
        return _code(first, second) in self.counts[2]

    def log_probs(self, words: list[str]) -> tuple[list[float], list[float], list[float]]:
        """Natural log-probabilities of each word and of the end, n + 1 each: unigram, bigram and trigram."""
        line = [_START, _START, *words, _END]
        ones = [self.count(word) for word in line]
        twos = [self.counts[2].get(_code(*pair), 0) for pair in pairwise(line)]
        threes = [self.counts[3].get(_code(*part), 0) for part in zip(line, line[1:], line[2:], strict=False)]
        total = self.total + 0.5 * len(self.counts[1])
        single, double, triple = [], [], []
        for at, count in enumerate(threes):
            p1 = (ones[at + 2] + 0.5) / total
            p2 = (twos[at + 1] + PRIOR * p1) / (ones[at + 1] + PRIOR)
            p3 = (count + PRIOR * p2) / (twos[at] + PRIOR)
            single.append(log(p1))
            double.append(log(p2))
            triple.append(log(p3))
        return single, double, triple


def _code(*words: str) -> int:
    """A 32-bit hash of an n-gram."""
    return crc32(" ".join(words).encode())
