"""The words and n-grams of a text.

A word is a lower-case run of letters, digits, underscores and combining marks, with apostrophes allowed inside:
`Don't!` is `don't`, `[value_name]` is `value_name`, punctuation is dropped. Composed and decomposed accents are equal.
In scripts without spaces between words (Chinese, Japanese, Thai) a whole phrase is one word, so features that count
words mean little there.
"""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise

# `\w` excludes combining marks, such as the vowel signs of Hindi, Tamil and Arabic, and would split their words.
_MARKS = "".join(mark for mark in map(chr, range(0x300, 0x10000)) if unicodedata.category(mark)[0] == "M")
_WORD = re.compile(rf"[\w{_MARKS}]+(?:'[\w{_MARKS}]+)*")
_ASCII_WORD = re.compile(r"\w+(?:'\w+)*", re.ASCII)


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _WORD.findall(unicodedata.normalize("NFC", text.lower()).replace("’", "'"))


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """Every run of `order` consecutive tokens; for order 1 the tokens themselves."""
    if order == 1:
        return tokens
    if order == 2:
        return pairwise(tokens)
    count = max(0, len(tokens) - order + 1)
    return zip(*[tokens[start : start + count] for start in range(order)], strict=True)
