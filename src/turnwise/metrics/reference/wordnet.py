"""Synonyms from WordNet 3.0 (Fellbaum 1998): two words are synonyms where they share a synset.

Words are looked up as they stand and by their base forms (`went`: go, `mice`: mouse), which WordNet's own
rules find: its lists of irregular forms first, its endings where a word is in none. The table beside the
package holds single words only; `tools/make_wordnet.py` made it and says what it leaves out.
"""

import gzip
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from turnwise.types import digest

VERSION = "3.0"
PARTS = ("noun", "verb", "adjective", "adverb")

# What to take off and what to put there, of the manual page morphy(7WN).
_ENDINGS = {
    "noun": (
        ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ),
    "adjective": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adverb": (),
}  # fmt: skip


class Part(NamedTuple):
    """One part of speech."""

    synsets: dict[str, list[int]]  # of a lemma
    irregular: dict[str, list[str]]  # base forms of an inflected one
    endings: tuple[tuple[str, str], ...]

    def bases(self, word: str) -> Iterator[str]:
        """The lemmas that a word may be a form of, itself included."""
        if word in self.synsets:
            yield word
        if word in self.irregular:
            yield from self.irregular[word]
        elif len(word) > 2 and not word.endswith("ss"):
            for ending, other in self.endings:
                if word.endswith(ending) and (base := word[: -len(ending)] + other) in self.synsets:
                    yield base


@lru_cache(maxsize=1 << 16)
def synsets(word: str) -> frozenset[int]:
    """The synsets that a lower-case word can stand for, over all parts of speech and base forms."""
    return frozenset(
        synset for part in parts() for base in part.bases(word) for synset in part.synsets.get(base, ())
    )


@cache
def table_digest() -> str:
    return digest(_packed())


@cache
def parts() -> tuple[Part, ...]:
    """The table, read once and when first needed: about 0.1 s."""
    sections: dict[str, list[str]] = {}
    for line in gzip.decompress(_packed()).decode("ascii").splitlines():
        if line.startswith("= "):
            lines = sections[line[2:]] = []
        else:
            lines.append(line)
    parts, first = [], 0
    for name in PARTS:
        of_lemma = defaultdict(list)
        for number, line in enumerate(sections[name], start=first):
            for lemma in line.split():
                of_lemma[lemma].append(number)
        first += len(sections[name])
        irregular = {form: bases for form, *bases in map(str.split, sections[f"irregular {name}"])}
        parts.append(Part(dict(of_lemma), irregular, _ENDINGS[name]))
    return tuple(parts)


def _packed() -> bytes:
    return files("turnwise.data").joinpath("wordnet.txt.gz").read_bytes()
