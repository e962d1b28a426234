"""Makes src/turnwise/data/wordnet.txt.gz and WORDNET-LICENSE from the files of WordNet 3.0.

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb FOLDER
    python tools/make_wordnet.py FOLDER/usr/share/wordnet

The table has eight sections, each headed `= NAME`: for each part of speech the synsets, one a line, as the
lemmas in it, and then the irregular forms, one a line, as the form and its base forms. What is left out:
lemmas that the tokeniser would not find as one word (several words, hyphens, points), and single letters;
what a synset means, how it relates to others and how frequent it is; all but one of several synsets with the
same lemmas; and `OTHER_WORDS`. The same input gives the same bytes.
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

# WordNet has no pronouns, articles, prepositions, conjunctions or auxiliaries: what looks like one is another
# word (arsenic, Maine, operating room, toilet), or becomes one without its s (was: WA, Washington).
OTHER_WORDS = frozenset("a an as at can ha he i in it may me might must oh or us wa who will".split())


def main() -> None:
    source = Path(sys.argv[1])
    lines = list(table(source))
    # Neither the time nor a file's name goes into the header.
    packed = gzip.compress("\n".join([*lines, ""]).encode("ascii"), compresslevel=9, mtime=0)
    (DATA / "wordnet.txt.gz").write_bytes(packed)
    (DATA / "WORDNET-LICENSE").write_text(licence(source), encoding="ascii")
    print(f"{len(lines):,} lines in {len(packed):,} bytes")


def table(source: Path) -> Iterator[str]:
    for part in PARTS:
        yield f"= {part}"
        yield from sorted(set(synsets(source / f"data.{FILES[part]}")))
        yield f"= irregular {part}"
        yield from sorted(set(irregular(source / f"{FILES[part]}.exc")))


def synsets(path: Path) -> Iterator[str]:
    """A line is: offset, file, type, number of lemmas (hexadecimal), then lemma and number by turns."""
    for line in path.read_text("ascii").splitlines():
        if line.startswith(" "):  # the licence
            continue
        fields = line.split(" ")
        size = int(fields[3], base=16)
        # Adjectives may carry where they stand: `galore(ip)`.
        names = {re.sub(r"\(\w+\)$", "", name).lower() for name in fields[4 : 4 + 2 * size : 2]}
        if found := sorted(filter(wanted, names)):
            yield " ".join(found)


def irregular(path: Path) -> Iterator[str]:
    for line in path.read_text("ascii").splitlines():
        form, *bases = line.split()
        if one_word(form) and (found := list(filter(wanted, bases))):
            yield " ".join([form, *found])


def wanted(name: str) -> bool:
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
