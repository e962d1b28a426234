"""A table of paraphrases for METEOR, read from a user's file: on each line two phrases separated by a tab.

Phrases are tokenised as the metric tokenises replies and have at most `LONGEST` words. A line holds in both
directions. Blank lines are ignored.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeAlias

from turnwise.errors import DataError, Problem, UsageError
from turnwise.metrics.words import words
from turnwise.types import digest

LONGEST = 7  # largest number of words in a phrase

Phrase: TypeAlias = tuple[str, ...]


class Joined(NamedTuple):
    """Two tokenised texts in which both phrases of a paraphrase pair are replaced by the same single token."""

    reply: Sequence[str]
    reference: Sequence[str]
    removed: tuple[int, int]  # by how many tokens the reply and the reference became shorter


@dataclass(frozen=True, slots=True)
class Paraphrases:
    """A table of paraphrases, which holds in both directions."""

    digest: str  # hash of the file
    others: Mapping[Phrase, Sequence[Phrase]]  # phrase -> its paraphrases, longest first

    def join(self, reply: Sequence[str], reference: Sequence[str]) -> Joined:
        """Replace paraphrase pairs by common tokens, from left to right and the longest phrases first.

        A phrase that occurs in both texts is not replaced: its words match exactly.
        """
        ours, theirs = list(reply), list(reference)
        for start in range(len(ours)):
            for size in range(min(LONGEST, len(ours) - start), 0, -1):
                phrase = tuple(ours[start : start + size])
                others = () if _position(phrase, theirs) is not None else self.others.get(phrase, ())
                for other in others:
                    position = _position(other, theirs)
                    if position is not None and _position(other, ours) is None:
                        token = f"\t{start}"  # no word contains a tab, and each pair has another number
                        ours[start : start + size] = theirs[position : position + len(other)] = [token]
                        break
        return Joined(ours, theirs, (len(reply) - len(ours), len(reference) - len(theirs)))


def read(path: str | PathLike[str]) -> Paraphrases:
    """Read a table of paraphrases.

    A line that is not two phrases is a `DataError`, an unreadable file a `UsageError`.
    """
    try:
        data = Path(path).read_bytes()
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the paraphrases in {path} cannot be read: {error}") from error
    others = defaultdict(set)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        phrases = [tuple(words(phrase)) for phrase in line.split("\t")]
        if len(phrases) != 2 or not all(0 < len(phrase) <= LONGEST for phrase in phrases):
            message = f"is not two phrases of 1 to {LONGEST} words with a tab between them"
            raise DataError(Problem(str(path), number, "", message))
        one, other = phrases
        if one != other:
            others[one].add(other)
            others[other].add(one)
    # Longest first, then alphabetically, so that the order of lines does not matter.
    ordered = {
        phrase: sorted(found, key=lambda other: (-len(other), other)) for phrase, found in others.items()
    }
    return Paraphrases(digest(data), ordered)


def _position(phrase: Phrase, text: Sequence[str]) -> int | None:
    """Index of the first occurrence of the phrase in the text; None without one."""
    size = len(phrase)
    for start in range(len(text) - size + 1):
        if text[start] == phrase[0] and tuple(text[start : start + size]) == phrase:
            return start
    return None
