"""Words and n-grams of a text, as the features count them.

A word is a run of letters, digits, underscores and combining marks, with apostrophes allowed inside, in lower
case: `Don't!` is `don't`, `[value_name]` is `value_name`, punctuation is nothing. Composed and decomposed
accents are the same word. Where a script puts no spaces between words (Chinese, Japanese, Thai) a whole
phrase is one word, and the features that count words mean little.
"""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise

# `\w` leaves out the vowel signs of Hindi, Tamil or Arabic, and would break their words in pieces.
_MARKS = "".join(sign for sign in map(chr, range(0x300, 0x10000)) if unicodedata.category(sign)[0] == "M")
_WORD = re.compile(rf"[\w{_MARKS}]+(?:'[\w{_MARKS}]+)*")
_ASCII_WORD = re.compile(r"\w+(?:'\w+)*", re.ASCII)


def words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _WORD.findall(unicodedata.normalize("NFC", text.lower()).replace("’", "'"))


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """Every run of `order` tokens; those of order 1 are the tokens themselves."""
    if order == 1:
        return tokens
    if order == 2:
        return pairwise(tokens)
    count = max(0, len(tokens) - order + 1)
    return zip(*[tokens[start : start + count] for start in range(order)], strict=True)
