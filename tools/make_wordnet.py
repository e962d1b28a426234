"""Create src/turnwise/data/wordnet.txt.gz and WORDNET-LICENSE from the files of WordNet 3.0.

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb FOLDER
    python tools/make_wordnet.py FOLDER/usr/share/wordnet

The table has eight sections, each with a heading `= NAME`. For each part of speech there is a section of synsets (a
line has the lemmas of one synset) and a section of irregular forms (a line has a form and its base forms). Left out
are: lemmas that our tokeniser would not find as one word (several words, hyphens, points) and single letters; glosses,
relations and frequencies; duplicate synsets with the same lemmas; and `OTHER_WORDS`. The same input gives the same
bytes.
"""

import gzip
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from turnwise.metrics.reference.wordnet import PARTS
from turnwise.metrics.words import words

DATA = Path(__file__).parents[1] / "src" / "turnwise" / "data"
FILES = {"noun": "noun", "verb": "verb", "adjective": "adj", "adverb": "adv"}

# WordNet has no pronouns, articles, prepositions, conjunctions or auxiliaries. Entries that look like one are other
# words (`as` is arsenic, `me` Maine, `or` operating room, `can` toilet), or become one without an s (`was`: WA,
# Washington). They would give closed-class words wrong synonyms, so they are left out.
OTHER_WORDS = frozenset("a an as at can ha he i in it may me might must oh or us wa who will".split())


def main() -> None:
    source = Path(sys.argv[1])
    lines = list(table(source))
    # With a modification time of 0, the same input gives the same bytes.
    compressed = gzip.compress("\n".join([*lines, ""]).encode("ascii"), compresslevel=9, mtime=0)
    (DATA / "wordnet.txt.gz").write_bytes(compressed)
    (DATA / "WORDNET-LICENSE").write_text(licence(source), encoding="ascii")
    print(f"{len(lines):,} lines in {len(compressed):,} bytes")


def table(source: Path) -> Iterator[str]:
    """The lines of the table."""
    for part in PARTS:
        yield f"= {part}"
        yield from sorted(set(synsets(source / f"data.{FILES[part]}")))
        yield f"= irregular {part}"
        yield from sorted(set(irregular(source / f"{FILES[part]}.exc")))


def synsets(path: Path) -> Iterator[str]:
    """The lemmas of each synset in a data file.

    A line of the file has: offset, file number, type, number of lemmas (hexadecimal), then alternately lemma and
    number.
    """
    for line in path.read_text("ascii").splitlines():
        if line.startswith(" "):  # the licence
            continue
        fields = line.split(" ")
        size = int(fields[3], base=16)
        # Adjectives can have a marker of their syntactic position: `galore(ip)`.
        names = {re.sub(r"\(\w+\)$", "", name).lower() for name in fields[4 : 4 + 2 * size : 2]}
        if found := sorted(filter(wanted, names)):
            yield " ".join(found)


def irregular(path: Path) -> Iterator[str]:
    """The irregular forms and their base forms in an exception file."""
    for line in path.read_text("ascii").splitlines():
        form, *bases = line.split()
        if one_word(form) and (found := list(filter(wanted, bases))):
            yield " ".join([form, *found])


def wanted(name: str) -> bool:
    """Whether a lemma goes into the table."""
    return one_word(name) and name not in OTHER_WORDS and (len(name) > 1 or name.isdigit())


def one_word(name: str) -> bool:
    return words(name) == [name] and "_" not in name  # WordNet's sign for a space


def licence(source: Path) -> str:
    """The text at the head of every file, without its line numbers."""
    lines = (source / "data.noun").read_text("ascii").splitlines()
    head = [line for line in lines if line.startswith(" ")]
    return "\n".join(re.sub(r"^ +\d+ ?", "", line).rstrip() for line in head) + "\n"


if __name__ == "__main__":
    main()
