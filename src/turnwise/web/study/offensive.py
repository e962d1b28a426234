"""Whether a text has potentially offensive words, by a list.

ADEM "filtered these human-generated responses for potentially offensive language" before others rated them
(Lowe et al. 2017, section 2) and does not say how. A list of words finds the plain cases and spelling that hides
them in digits, signs and repeated letters; it knows no context, so what it finds is kept back for a person to
look at (the admin page), and is never thrown away. The list is English; a study adds its own words.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_DISGUISES = str.maketrans("013457@$!|+", "oieastasiit")
_MARKS = re.compile(r"[!|+](?!\w)")  # these end a sentence as often as they hide a letter
_LETTERS = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(r"(.)\1+")
_SPACED = re.compile(r"\b(?:[^\W\d_][\s.*_-]+){2,}[^\W\d_]\b")


def offensive(text: str, blocked: Iterable[str] = ()) -> bool:
    listed = _listed() | {_squeezed(_plain(word)) for word in blocked}
    plain = _plain(text)
    joined = " ".join(re.sub(r"[\W_]", "", found) for found in _SPACED.findall(plain))
    words = {_squeezed(word) for word in _LETTERS.findall(f"{plain} {joined}")}
    return any(_stem(word) & listed for word in words)


@cache
def _listed() -> frozenset[str]:
    lines = (files("turnwise.web") / "offensive.txt").read_text("utf-8").splitlines()
    return frozenset(_squeezed(line.strip()) for line in lines if line.strip() and not line.startswith("#"))


def _plain(text: str) -> str:
    """Lower case without accents and without digits and signs that stand for letters."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in letters if not unicodedata.combining(c))
    return _MARKS.sub(" ", bare).translate(_DISGUISES)


def _squeezed(word: str) -> str:
    return _RUNS.sub(r"\1", word)


def _stem(word: str) -> set[str]:
    """The word and what is left of it without a common ending."""
    endings = ("s", "es", "ed", "er", "ers", "ing", "in", "y", "head", "heads")
    return {word} | {word.removesuffix(end) for end in endings if len(word) - len(end) >= 3}
