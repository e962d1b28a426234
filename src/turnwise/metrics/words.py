"""The words and n-grams of a text, and the n-gram matches of two texts.

A word is a lower-case run of letters, digits, underscores and combining marks, with apostrophes allowed inside:
`Don't!` is `don't`, `[value_name]` is `value_name`, punctuation is dropped. Composed and decomposed accents are equal.
In scripts without spaces between words (Chinese, Japanese, Thai) a whole phrase is one word, so features that count
words mean little there.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, pairwise

# `\w` excludes combining marks, such as the vowel signs of Hindi, Tamil and Arabic, and would split their words.
_MARKS = "".join(mark for mark in map(chr, range(0x300, 0x10000)) if unicodedata.category(mark)[0] == "M")
_WORD = re.compile(rf"[\w{_MARKS}]+(?:'[\w{_MARKS}]+)*")
_ASCII_WORD = re.compile(r"\w+(?:'\w+)*", re.ASCII)
# ASCII in lower case, with a space for what is in no word; apostrophes stay.
_SPACED = bytes(
    ord(one.lower()) if one.isalnum() or one in "_'" else 32 for one in map(chr, range(128))
) + bytes(128)


def words(text: str) -> list[str]:
    """The words of a text in order, in lower case and without punctuation: `Don't!` is `don't`."""
    if text.isascii():
        spaced = text.encode().translate(_SPACED).decode()
        found = spaced.split()  # faster than the regular expression, which only odd apostrophes need
        if "'" in spaced and any(
            word[0] == "'" or word[-1] == "'" or "''" in word for word in found if "'" in word
        ):
            return _ASCII_WORD.findall(spaced)
        return found
    return _WORD.findall(unicodedata.normalize("NFC", text.lower()).replace("’", "'"))


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """Runs of `order` consecutive tokens as tuples, in order, with repetitions; for order 1 the tokens themselves."""
    if order == 1:
        return tokens
    if order == 2:
        return pairwise(tokens)
    count = max(0, len(tokens) - order + 1)
    return zip(*[tokens[start : start + count] for start in range(order)], strict=True)


def matches(reply: Sequence[str], references: Sequence[Sequence[str]], highest: int) -> list[int]:
    """Number of n-grams of the reply that also occur in a reference, for each order from 1 to `highest`.

    An n-gram counts as often as the reply has it, and at most as often as the reference that has it most. Two
    shortcuts make this fast: if no n-gram of an order matches, no longer one can; and most occur only once.
    """
    matched = [0] * highest
    for order in range(1, highest + 1):
        all_ngrams = list(ngrams(reply, order))
        different = set(all_ngrams)
        shared = different.intersection(chain.from_iterable(ngrams(text, order) for text in references))
        if not shared:
            break
        matched[order - 1] = len(shared)
        if len(all_ngrams) > len(different):
            counts = Counter(all_ngrams)
            limits = [Counter(ngrams(reference, order)) for reference in references]
            matched[order - 1] = sum(min(counts[gram], max(each[gram] for each in limits)) for gram in shared)
    return matched
