"""Detects potentially offensive words in a text, with a list of words.

ADEM "filtered these human-generated responses for potentially offensive language" before others rated them
(Lowe et al. 2017, section 2), without saying how. The list finds plain cases and words disguised with digits, signs and
repeated letters. It ignores context, so a reply with such a word is not deleted but withheld until the administrator
approves it. The list is English; a study can add words.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

# Digits and signs -> the letters that they stand for.
_DISGUISES = str.maketrans("013457@$!|+", "oieastasiit")
_MARKS = re.compile(r"[!|+](?!\w)")  # at the end of a word these are punctuation, not letters
_LETTERS = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(r"(.)\1+")
_SPACED = re.compile(r"\b(?:[^\W\d_][\s.*_-]+){2,}[^\W\d_]\b")


def is_offensive(text: str, blocked: Iterable[str] = ()) -> bool:
    """Whether a text has a word of the list or of `blocked`, also with common endings, spaced out or in disguise."""
    listed = _listed_words() | {_without_repeats(_normalised(word)) for word in blocked}
    plain = _normalised(text)
    joined = " ".join(re.sub(r"[\W_]", "", found) for found in _SPACED.findall(plain))
    words = {_without_repeats(word) for word in _LETTERS.findall(f"{plain} {joined}")}
    return any(_stems(word) & listed for word in words)


@cache
def _listed_words() -> frozenset[str]:
    """The words of the built-in list, with repeated letters reduced to one."""
    lines = (files("turnwise.web") / "offensive.txt").read_text("utf-8").splitlines()
    return frozenset(
        _without_repeats(line.strip()) for line in lines if line.strip() and not line.startswith("#")
    )


def _normalised(text: str) -> str:
    """The text in lower case, without accents, and with letters for the digits and signs that stand for them."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in letters if not unicodedata.combining(c))
    return _MARKS.sub(" ", bare).translate(_DISGUISES)


def _without_repeats(word: str) -> str:
    """The word with each run of the same letter reduced to one letter."""
    return _RUNS.sub(r"\1", word)


def _stems(word: str) -> set[str]:
    """The word, and the word without each common ending that leaves at least three letters."""
    endings = ("s", "es", "ed", "er", "ers", "ing", "in", "y", "head", "heads")
    return {word} | {word.removesuffix(end) for end in endings if len(word) - len(end) >= 3}
