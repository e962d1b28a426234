"""Whether a value was mentioned in texts: the text itself, its words, its number or its date."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import date

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?|\d+")
DIGITS = re.compile(
    r"(?<![\w.])[+(]?\d(?:[\d().-]|[ ](?=[\d(]))*\d(?![\w])"
)  # groups of digits in a row, as of a phone number
LONG = 7  # digits from which on a number may be a phone number, of which people write the end or other groups
_END = 3  # digits that an end has
_WORD = re.compile(r"\w+")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_MONTHS = (
    "january february march april may june july august september october november december".split(),
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
)
_COUNTS = {
    word: number
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    )
    for number, word in enumerate(words.split())
}


def plain(text: str) -> str:
    """The text without case and accents, and with one space for signs such as _ and -."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return " ".join(re.sub(r"[_\-–—/]+", " ", bare.casefold()).split())


def numbers(text: str) -> set[float]:
    """The numbers of a text; thousands may have commas."""
    return {float(one.replace(",", "")) for one in NUMBER.findall(text)}


def joined(digits: str) -> str:
    """The digits of a text without signs, and without the zeros in front that come and go with a prefix."""
    return re.sub(r"\D", "", digits).lstrip("0")


class Mentions:
    """What was said until now."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts: list[str] = []
        self._words: set[str] = set()
        self._numbers: set[float] = set()
        self._long: set[str] = set()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Add a text."""
        simple = plain(text)
        self._texts.append(simple)
        self._words.update(_WORD.findall(simple))
        self._numbers |= numbers(text)
        self._long |= {one for found in DIGITS.findall(text) if len(one := joined(found)) >= LONG}
        # Number words support a number. They are no claim of one: `ten` is also Spanish for `have`.
        self._numbers |= {float(_COUNTS[word]) for word in _WORD.findall(simple) if word in _COUNTS}

    def has_number(self, value: float) -> bool:
        """Whether a number was mentioned."""
        return any(abs(value - one) < 1e-9 for one in self._numbers)

    def has_digits(self, digits: str) -> bool:
        """Whether digits are a long number that was mentioned, with or without its prefix, or the end of one."""
        end = joined(digits)
        return len(end) >= _END and any(one.endswith(end) or end.endswith(one) for one in self._long)

    def has(self, value: str) -> bool:
        """Whether a text was mentioned: as it is, each of its words somewhere, or as a date in other words."""
        simple = plain(value)
        if not simple or any(simple in text for text in self._texts):
            return True
        words = _WORD.findall(simple)
        if words and all(word in self._words for word in words):
            return True
        return self._has_date(value)

    def _has_date(self, value: str) -> bool:
        """Whether a date `2024-05-20` was mentioned as its day with the name of its month, in one text."""
        match = _ISO.fullmatch(value.strip())
        if match is None:
            return False
        try:
            day = date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            return False
        names = {months[day.month - 1] for months in _MONTHS}
        names |= {name[:3] for name in names}
        form = re.compile(rf"\b0?{day.day}(?:st|nd|rd|th)?\b")
        return any(form.search(text) and names & set(_WORD.findall(text)) for text in self._texts)
