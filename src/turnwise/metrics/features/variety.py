"""Lexical variety of an agent's replies: distinct-n (Li et al. 2016), the entropy of the n-gram distribution, and that
of a word given the word before it.

Both are higher for more varied text, and random words score best. Rows are sparse n-gram counts. The column of an
n-gram is a hash of 61 bits, so rows of different shards and machines can be added without a shared vocabulary. The
probability that any two of a million n-grams share a column is 2e-7.

n-grams do not cross replies. Li et al. count the tokens of their data; here words are those of
`turnwise.metrics.words`, so punctuation does not count as variety.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from turnwise.metrics.rows import Resampling, scored
from turnwise.metrics.words import words
from turnwise.types import Card, Floats, Ints, Item, Level, Need, Signature

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BITS = 61  # bits of a column index; scipy needs the width of a sparse matrix to fit well into a signed 64-bit integer
# Multiplier that combines the hashes of an n-gram's words. It is odd, so that the multiplication is invertible
# modulo 2^64; the result depends on the order of the words. 2^64 divided by the golden ratio (Knuth).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MOST_WORDS = 2**17  # whose hashes are kept


class _Variety(ABC):
    """A score of the pooled counts of all n-grams of an agent's replies; of a whole dialogue only the last message."""

    __slots__ = ()

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "the reply has fewer words than the n-gram"
    # A bootstrap sample contains many replies twice, which lowers variety; so intervals come from subsamples.
    resampling: ClassVar[Resampling] = "subsample"

    def rows(self, items: Sequence[Item], /) -> "csr_array[np.float64]":
        """(n, 2^61) sparse counts of each reply's n-grams, by their hashes; a NaN in column 0 where it has none."""
        from scipy.sparse import csr_array

        owner, column = self.entries([words(item.reply) for item in items])
        sizes = np.bincount(owner, minlength=len(items))
        data = np.ones(len(owner))
        if (empty := np.flatnonzero(sizes == 0)).size:  # one entry, a NaN in column 0
            places = np.cumsum(sizes)[empty]
            data, column = np.insert(data, places, np.nan), np.insert(column, places, 0)
            sizes[empty] = 1
        # An n-gram that a reply has twice is two entries: counts are added up when rows are reduced.
        starts = np.append(0, np.cumsum(sizes))
        return csr_array((data, column, starts), shape=(len(items), 2**BITS))

    @abstractmethod
    def entries(self, texts: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
        """(m,) the index of the text and (m,) the column of each entry of the rows; a text is a list of words."""

    def reduce(self, rows: "csr_array[np.float64]", /) -> float:
        """The score from the n-gram counts of all scored rows together; NaN if there are none."""
        evidence = rows[scored(rows)]
        columns, index = np.unique(evidence.indices, return_inverse=True)
        counts: Floats = np.bincount(index, weights=evidence.data).astype(np.float64)
        return self.of_counts(counts, columns.astype(np.int64)) if len(counts) else float("nan")

    def subset_scorer(self, rows: "csr_array[np.float64]", /) -> Callable[[Ints], float]:
        """The score of any of the rows: n-grams are numbered once, and a subset only counts them."""
        different, number = np.unique(rows.indices, return_inverse=True)
        starts, sizes = rows.indptr[:-1], np.diff(rows.indptr)
        evidence = scored(rows)

        def score(chosen: Ints) -> float:
            """The score of the rows at these indices; a row that is given twice counts twice."""
            chosen = chosen[evidence[chosen]]
            mine = sizes[chosen]
            # The entries of each row follow one another: count up from the start of the row.
            before = np.cumsum(mine) - mine
            entries = np.repeat(starts[chosen] - before, mine) + np.arange(mine.sum())
            counts = np.bincount(number[entries], rows.data[entries], minlength=len(different))
            used = counts > 0
            return (
                self.of_counts(counts[used].astype(np.float64), different[used].astype(np.int64))
                if len(entries)
                else float("nan")
            )

        return score

    @abstractmethod
    def of_counts(self, counts: Floats, columns: Ints) -> float:
        """The score from pooled counts, one count for each different n-gram, and their columns."""


class _OfNgrams(_Variety):
    """A score of the counts of n-grams of one order."""

    __slots__ = ()

    order: int

    def entries(self, texts: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
        """The n-grams of the texts."""
        return _ngrams(texts, self.order)


@dataclass(frozen=True, slots=True)
class Distinct(_OfNgrams):
    """`distinct-n`: number of different n-grams divided by the number of all n-grams."""

    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Number of different n-grams divided by the number of all n-grams, over all of an agent's replies.",
        range="above 0 to 1; 1 never uses an n-gram twice",
        limits="It falls with the amount of text, so compare agents only on equally many words. For a single reply "
        "it is near 1. Random words score best. Intervals come from subsamples, because a bootstrap is biased "
        "here.",
        citation="Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models",
    )

    order: int

    @property
    def signature(self) -> Signature:
        """`distinct-` with the order, and the kind of tokens."""
        return Signature(f"distinct-{self.order}", (("tok", "words"),))

    def reduce(self, rows: "csr_array[np.float64]", /) -> float:
        """As for every variety; the different n-grams need no count of their own, which is faster."""
        evidence = rows[scored(rows)] if np.isnan(rows.data).any() else rows
        total = evidence.data.sum()
        if not total:
            return float("nan")
        ordered = np.sort(evidence.indices)  # a third of the time of np.unique
        return float((1 + np.count_nonzero(ordered[1:] != ordered[:-1])) / total)

    def of_counts(self, counts: Floats, columns: Ints) -> float:
        """Number of different n-grams divided by the number of all."""
        return float(len(counts) / counts.sum())


@dataclass(frozen=True, slots=True)
class Entropy(_OfNgrams):
    """`entropy-n`: Shannon entropy of the n-gram distribution, in bits."""

    span: ClassVar[tuple[float, float]] = (0.0, inf)
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Shannon entropy, in bits, of the n-gram distribution over all of an agent's replies.",
        range="0 and up; 1 bit more corresponds to twice as many equally frequent n-grams",
        limits="It grows with the amount of text, so compare agents only on equally many words; an estimate from few "
        "replies is too low. Random words score best. A strong and cheap baseline at system level in task dialogue.",
        citation="Shannon 1948, A Mathematical Theory of Communication; Zhang et al. 2018, Generating "
        "Informative and Diverse Conversational Responses (Ent-n, in nats there)",
    )

    order: int

    @property
    def signature(self) -> Signature:
        """`entropy-` with the order, the kind of tokens and the unit."""
        return Signature(f"entropy-{self.order}", (("tok", "words"), ("unit", "bits")))

    def of_counts(self, counts: Floats, columns: Ints) -> float:
        """Entropy in bits of the distribution with these counts."""
        return _entropy(counts)


@dataclass(frozen=True, slots=True)
class ConditionalEntropy(_Variety):
    """`conditional-entropy-2`: Shannon entropy of a word given the word before it, in bits."""

    span: ClassVar[tuple[float, float]] = (0.0, inf)
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Shannon entropy, in bits, of a word given the word before it, over all pairs of neighbouring words of "
        "an agent's replies.",
        range="0 and up; 0 where every word determines the next one",
        limits="It grows with the amount of text, so compare agents only on equally many words; an estimate from few "
        "replies is far too low, because most pairs occur once. Random words score best.",
        citation="Shannon 1948, A Mathematical Theory of Communication; Nekvinda and Dusek 2021, Shades of BLEU, "
        "Flavours of Success: The Case of MultiWOZ (lexical richness)",
    )

    @property
    def signature(self) -> Signature:
        """The kind of tokens and the unit."""
        return Signature("conditional-entropy-2", (("tok", "words"), ("unit", "bits")))

    def entries(self, texts: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
        """Each pair of words in an even column, and its first word in an odd one."""
        owner, pairs = _ngrams(texts, 2)
        _, first = _ngrams([text[:-1] for text in texts], 1)
        columns = np.stack([pairs & ~1, first | 1], axis=1).ravel()
        return np.repeat(owner, 2), columns

    def of_counts(self, counts: Floats, columns: Ints) -> float:
        """The entropy of pairs minus that of their first words."""
        first = (columns & 1).astype(bool)
        return max(0.0, _entropy(counts[~first]) - _entropy(counts[first]))  # rounding may give less than 0


def _entropy(counts: Floats) -> float:
    """Entropy in bits of the distribution with these counts."""
    share = counts / counts.sum()
    # Adding 0 turns the -0.0 of a single n-gram into 0.0.
    return float(-(share * np.log2(share)).sum() + 0.0)


def _ngrams(texts: Sequence[Sequence[str]], order: int) -> tuple[Ints, Ints]:
    """(m,) the index of the text and (m,) the hashed column of each n-gram, text by text; a text is a list of words."""
    owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    hashes: NDArray[np.uint64] = np.fromiter(
        map(_HASHES.__getitem__, chain.from_iterable(texts)), np.uint64, len(owner)
    )
    count = max(0, len(owner) - order + 1)
    combined = np.zeros(count, dtype=np.uint64)
    for offset in range(order):
        combined = combined * _MULTIPLIER + hashes[offset : offset + count]
    inside = owner[:count] == owner[order - 1 :][:count]  # n-grams that do not cross replies
    return owner[:count][inside], (combined[inside] >> np.uint64(64 - BITS)).astype(np.int64)


class _Hashes(dict[str, int]):
    """Word -> 64-bit hash, the same on every machine (Python's own is not); a word is hashed when first looked up."""

    def __missing__(self, word: str) -> int:
        """The hash of a new word, which is kept; when there are many, all are forgotten first."""
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[word] = found = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
        return found


_HASHES = _Hashes()
