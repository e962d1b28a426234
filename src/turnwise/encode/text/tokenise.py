"""Word tokenisers: text -> words, by rules that a reader can state in one sentence each."""

import re
import unicodedata

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_WORD_OR_MARK = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def words(text: str) -> list[str]:
    """Runs of letters, digits and underscores, apostrophes inside them kept; case kept, punctuation dropped."""
    return _WORD.findall(unicodedata.normalize("NFC", text))


def lower_words(text: str) -> list[str]:
    """`words` of the text in lower case."""
    return words(text.lower())


def words_and_marks(text: str) -> list[str]:
    """`words`, with every punctuation mark as a token of its own, in lower case."""
    return _WORD_OR_MARK.findall(unicodedata.normalize("NFC", text.lower()))
