"""Synonyms from WordNet 3.0 (Fellbaum 1998): two words are synonyms if they share a synset.

Words are looked up unchanged and by their base forms (`went`: go, `mice`: mouse). Base forms come from WordNet's own
rules: its lists of irregular forms first, its suffix rules for words in none of the lists. The shipped table holds
single words only; `tools/make_wordnet.py` creates it and documents what it leaves out.
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

# (suffix, replacement) pairs by part of speech, from the manual page morphy(7WN).
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
    """The table of one part of speech: the synsets of its lemmas, irregular forms, and suffix rules."""

    synsets: dict[str, list[int]]  # lemma -> numbers of its synsets
    irregular: dict[str, list[str]]  # irregular form -> its base forms
    endings: tuple[tuple[str, str], ...]  # (suffix, replacement)

    def bases(self, word: str) -> Iterator[str]:
        """The base forms of the word, the word itself first if it is a lemma; a base form can occur twice.

        They come from the list of irregular forms if the word is in it, else from the suffix rules.
        """
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
    """The numbers of the synsets of a lower-case word, over all parts of speech and base forms.

    Empty for an unknown word.
    """
    return frozenset(
        synset for part in parts() for base in part.bases(word) for synset in part.synsets.get(base, ())
    )


@cache
def table_digest() -> str:
    """Digest of the shipped table, for signatures."""
    return digest(_compressed_table())


@cache
def parts() -> tuple[Part, ...]:
    """The shipped table by part of speech; read on first use, which takes about 0.1 s."""
    sections: dict[str, list[str]] = {}
    for line in gzip.decompress(_compressed_table()).decode("ascii").splitlines():
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


def _compressed_table() -> bytes:
    """The bytes of the shipped table, gzipped."""
    return files("turnwise.data").joinpath("wordnet.txt.gz").read_bytes()
