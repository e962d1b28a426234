"""How varied an agent's words are: distinct-n (Li et al. 2016) and the entropy of its n-grams.

Rows are sparse counts: one column for each possible n-gram, named by a hash of 61 bits, so that rows of
different batches and machines add up without a shared vocabulary. That any two of a million n-grams meet in
one column has probability 2e-7.

n-grams do not cross replies. Li et al. count tokens as their data came; here words are those of
`turnwise.metrics.words`, so punctuation does not count as variety.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from turnwise.metrics.rows import Resampling, scored
from turnwise.metrics.words import words
from turnwise.types import Card, Floats, Ints, Item, Level, Need, Signature

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BITS = 61  # of a column's name: a sparse matrix's width must fit a signed number of 64 bits, with room to add
_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, so that nothing is lost and the order of words counts


class _Variety(ABC):
    __slots__ = ()

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "the reply has fewer words than the n-gram"
    # A bootstrap sample holds many replies twice, and that looks like repetition.
    resampling: ClassVar[Resampling] = "subsample"

    order: int

    def rows(self, items: Sequence[Item], /) -> "csr_array[np.float64]":
        """(n, 2^61) counts of each reply's n-grams; a NaN in column 0 where it has none."""
        from scipy.sparse import csr_array

        owner, column = _ngrams([words(item.reply) for item in items], self.order)
        without = np.setdiff1d(np.arange(len(items)), owner)
        data = np.concatenate([np.ones(len(owner)), np.full(len(without), np.nan)])
        row = np.concatenate([owner, without])
        column = np.concatenate([column, np.zeros(len(without), dtype=np.int64)])
        return csr_array((data, (row, column)), shape=(len(items), 2**BITS))

    def reduce(self, rows: "csr_array[np.float64]", /) -> float:
        evidence = rows[scored(rows)]
        _, place = np.unique(evidence.indices, return_inverse=True)
        counts: Floats = np.bincount(place, weights=evidence.data).astype(np.float64)
        return self.of_counts(counts) if len(counts) else float("nan")

    @abstractmethod
    def of_counts(self, counts: Floats) -> float:
        """The number for pooled counts, one for each different n-gram."""


@dataclass(frozen=True, slots=True)
class Distinct(_Variety):
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Different n-grams among all n-grams of an agent's replies, pooled.",
        range="above 0 to 1; 1 never uses an n-gram twice",
        limits="It falls as text grows, whoever speaks: compare agents on equally many words only. Within "
        "one reply it is near 1. Random words score best. Intervals come from subsamples, because a "
        "bootstrap is biased here.",
        citation="Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models",
    )

    order: int

    @property
    def signature(self) -> Signature:
        return Signature(f"distinct-{self.order}", (("tok", "words"),))

    def of_counts(self, counts: Floats) -> float:
        return float(len(counts) / counts.sum())


@dataclass(frozen=True, slots=True)
class Entropy(_Variety):
    span: ClassVar[tuple[float, float]] = (0.0, inf)
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Shannon entropy, in bits, of the distribution of n-grams in an agent's replies, pooled.",
        range="0 and up; 1 bit more is as if twice as many n-grams were in equal use",
        limits="It grows with the amount of text, so compare agents on equally many words only, and the "
        "estimate from few replies is low. Random words score best. A strong cheap baseline at system level "
        "in task dialogue.",
        citation="Shannon 1948, A Mathematical Theory of Communication; Zhang et al. 2018, Generating "
        "Informative and Diverse Conversational Responses (Ent-n, in nats there)",
    )

    order: int

    @property
    def signature(self) -> Signature:
        return Signature(f"entropy-{self.order}", (("tok", "words"), ("unit", "bits")))

    def of_counts(self, counts: Floats) -> float:
        share = counts / counts.sum()
        # Adding 0 turns the -0 of a single n-gram into 0.
        return float(-(share * np.log2(share)).sum() + 0.0)


def _ngrams(texts: Sequence[Sequence[str]], order: int) -> tuple[Ints, Ints]:
    """Which text each n-gram is in, and the column it is counted in."""
    owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    names: NDArray[np.uint64] = np.fromiter(
        (_name(word) for text in texts for word in text), np.uint64, len(owner)
    )
    count = max(0, len(owner) - order + 1)
    mixed = np.zeros(count, dtype=np.uint64)
    for place in range(order):
        mixed = mixed * _STEP + names[place : place + count]
    inside = owner[:count] == owner[order - 1 :][:count]  # no n-gram crosses from one reply into the next
    return owner[:count][inside], (mixed[inside] >> np.uint64(64 - BITS)).astype(np.int64)


@lru_cache(maxsize=2**17)
def _name(word: str) -> int:
    """64 bits that are the same on every machine, as Python's own hash is not."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
