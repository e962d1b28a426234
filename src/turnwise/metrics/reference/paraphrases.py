"""A user's own table of paraphrases for METEOR: lines of two phrases with a tab between them.

Phrases are cut into the words that the metric counts, at most `LONGEST` of them; a line holds in both
directions, and a blank one is passed over.
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

LONGEST = 7  # words of a phrase

Phrase: TypeAlias = tuple[str, ...]


class Joined(NamedTuple):
    """Two texts in which the phrases of a pair have become one and the same token."""

    reply: Sequence[str]
    reference: Sequence[str]
    hidden: tuple[int, int]  # words less in either: a token made of three words hides two


@dataclass(frozen=True, slots=True)
class Paraphrases:
    digest: str  # of the file
    others: Mapping[Phrase, Sequence[Phrase]]

    def join(self, reply: Sequence[str], reference: Sequence[str]) -> Joined:
        """Goes through the reply from left to right and joins the longest phrase that has a pair.

        A phrase that both texts have as it stands is no paraphrase, and its words match by themselves.
        """
        said, wanted = list(reply), list(reference)
        for start in range(len(said)):
            for size in range(min(LONGEST, len(said) - start), 0, -1):
                phrase = tuple(said[start : start + size])
                others = () if _place(phrase, wanted) is not None else self.others.get(phrase, ())
                for other in others:
                    place = _place(other, wanted)
                    if place is not None and _place(other, said) is None:
                        token = f"\t{start}"  # no word has a tab in it, and no other pair this number
                        said[start : start + size] = wanted[place : place + len(other)] = [token]
                        break
        return Joined(said, wanted, (len(reply) - len(said), len(reference) - len(wanted)))


def read(path: str | PathLike[str]) -> Paraphrases:
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
    # Longest first, and then by letter: the order of lines does not matter.
    ordered = {
        phrase: sorted(found, key=lambda other: (-len(other), other)) for phrase, found in others.items()
    }
    return Paraphrases(digest(data), ordered)


def _place(phrase: Phrase, text: Sequence[str]) -> int | None:
    """Where the phrase first stands in the text."""
    size = len(phrase)
    for place in range(len(text) - size + 1):
        if text[place] == phrase[0] and tuple(text[place : place + size]) == phrase:
            return place
    return None
