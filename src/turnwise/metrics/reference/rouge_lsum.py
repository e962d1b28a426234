"""ROUGE-L over lines (`rougeLsum` of rouge-score; Lin 2004, section 3.2), for replies of several lines.

Every line of a reference is compared with every line of the reply. A word of the reference's line counts if it is in
the longest common subsequence with one of them (their union), each word at most as often as both texts have it. With
one line on each side it equals `rouge-l`. Lines end at a line break only, as in rouge-score without `split_summaries`.

Where a line has several longest common subsequences, the one is taken that rouge-score takes: from the ends of both
lines backwards, a word of the reference is passed over unless passing over the reply's leaves a longer one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rapidfuzz.distance import LCSseq

from turnwise.metrics.reference.rouge import CITATION, Overlap, Part, Rouge
from turnwise.metrics.reference.tokens import tokens_rouge
from turnwise.types import Card, Signature

Lines = list[list[str]]  # the words of each line


@dataclass(frozen=True, slots=True)
class RougeLsum(Rouge[Lines]):
    """`rouge-lsum`: F1 of the union of longest common subsequences of lines."""

    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="rouge-l line by line: F1 of the words that lines of the reply and of its best reference have in the "
        "same order; mean over replies.",
        range="0-1; 1 has the same lines as a reference, in any order",
        limits="Compares only the wording, as rouge-l does, and equals it where texts have one line. Lines end at "
        "line breaks, so split sentences into lines first. Tokens are runs of a-z and 0-9.",
        citation=CITATION,
    )

    stem: bool = False
    part: Part = "f"

    @property
    def signature(self) -> Signature:
        """The tokenisation, stemming, what ends a line, and that the best reference counts."""
        return Signature("rouge-lsum", (*self._settings, ("lines", "break"), ("refs", "max")))

    def words(self, text: str) -> Lines:
        """The words of each line that has any."""
        lines = (tokens_rouge(line, stemmed=self.stem) for line in text.split("\n"))
        return [line for line in lines if line]

    def overlap(self, reply: Lines, reference: Lines) -> Overlap:
        """Shared words as shares of the reply's and of the reference's; 0 for an empty reply."""
        if len(reply) == len(reference) == 1:  # most replies of a chat; faster than the general case
            shared = LCSseq.similarity(reply[0], reference[0])
        else:
            left = Counter(word for line in reply for word in line)
            shared = 0
            for line in reference:
                in_union = {place for other in reply for place in common_places(line, other)}
                for word, count in Counter(line[place] for place in in_union).items():
                    used = min(count, left[word])  # no word counts more often than the reply has it
                    left[word] -= used
                    shared += used
        return Overlap(shared / max(1, sum(map(len, reply))), shared / sum(map(len, reference)))


def common_places(line: Sequence[str], other: Sequence[str]) -> list[int]:
    """The places in `line` of a longest common subsequence with `other`, from the last to the first.

    The table of lengths is kept as one integer a row (Hyyro 2004): with the first i words of `line`, the length against
    the first j words of `other` is the number of zeros among the lowest j bits of row i.
    """
    places_of: dict[str, int] = {}  # word -> bits of its places in `other`
    for j, word in enumerate(other):
        places_of[word] = places_of.get(word, 0) | 1 << j
    row = (1 << len(other)) - 1
    rows = [row]
    for word in line:
        matched = row & places_of.get(word, 0)
        row = (row + matched | row - matched) & rows[0]
        rows.append(row)

    def length(i: int, j: int) -> int:
        """The length of the longest common subsequence of the first i words and the first j."""
        return j - (rows[i] & (1 << j) - 1).bit_count()

    places, i, j = [], len(line), len(other)
    while i and j:
        if line[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif length(i, j - 1) > length(i - 1, j):
            j -= 1
        else:
            i -= 1
    return places
