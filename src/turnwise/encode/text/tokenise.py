"""Word tokenisers: text -> words, by rules that a reader can state in one sentence each."""

import re
import unicodedata
from collections.abc import Callable
from typing import TypeAlias

from turnwise.errors import unknown

Tokeniser: TypeAlias = Callable[[str], list[str]]

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_WORD_OR_MARK = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def split(text: str) -> list[str]:
    """At white space, nothing else: for text that is already tokenised."""
    return text.split()


def words(text: str) -> list[str]:
    """Runs of letters and digits, apostrophes inside them kept; case kept, punctuation dropped."""
    return _WORD.findall(unicodedata.normalize("NFC", text))


def lower_words(text: str) -> list[str]:
    """`words`, in lower case."""
    return words(text.lower())


def words_and_marks(text: str) -> list[str]:
    """`words`, with every punctuation mark as a token of its own, in lower case."""
    return _WORD_OR_MARK.findall(unicodedata.normalize("NFC", text.lower()))


TOKENISERS: dict[str, Tokeniser] = {
    "split": split,
    "words": words,
    "lower": lower_words,
    "marks": words_and_marks,
}


def tokeniser(name: str) -> Tokeniser:
    if name not in TOKENISERS:
        raise unknown("tokeniser", name, sorted(TOKENISERS))
    return TOKENISERS[name]
