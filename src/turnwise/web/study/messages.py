"""The texts of a rater's pages in the study's language, from a message file of `turnwise/web/messages` or of the user.

Attention checks and default questions are among them, because they must be in the language of what is judged. A file
has the same keys and the same `{places}` as the English one; other files are refused. Numbers are written with the
file's decimal and thousands signs and with Western digits, which are also the keys that choose an answer.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from turnwise.errors import DataError, Problem

_PLACE = re.compile(r"\{(\w+)\}")
_HEAD = ("language", "direction", "decimal", "thousands")
SHIPPED = ("en", "de", "es", "fr", "zh", "ar")


class Texts:
    """The texts of one language by keys such as `page.save`."""

    def __init__(
        self, language: str, direction: str, signs: tuple[str, str], texts: Mapping[str, str]
    ) -> None:
        self.language, self.direction = language, direction
        self._decimal, self._thousands = signs
        self._texts = texts

    def __getitem__(self, key: str) -> str:
        return self._texts[key]

    def get(self, key: str) -> str:
        """The text of a key, or the key itself if there is no such text."""
        return self._texts.get(key, key)

    def fill(self, key: str, **values: object) -> str:
        """The text with its `{places}` filled; numbers are written as the language does."""
        shown = {
            name: value if isinstance(value, str) else self.number(value) for name, value in values.items()
        }
        return _PLACE.sub(lambda place: shown.get(place[1], place[0]), self._texts[key])

    def number(self, value: Any) -> str:
        """A number with the signs of the language, and without superfluous decimals."""
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
        if text.isdigit():  # most numbers on a page are short
            return text
        return "".join({",": self._thousands, ".": self._decimal}.get(sign, sign) for sign in text)


@cache
def texts(language: str) -> Texts:
    """The texts of a shipped language, or of the message file at a path that ends in `.toml`.

    Raises `DataError` for an unknown language, and for a file without the keys and places of the English one.
    """
    if language.endswith(".toml"):
        try:
            return _checked(language, tomllib.loads(Path(language).read_text("utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DataError(Problem(language, None, "", f"cannot be read: {error}")) from None
    if language not in SHIPPED:
        raise DataError(
            f"language = {language!r}: expected one of {', '.join(SHIPPED)}, or the path of a message file (.toml)"
        )
    return _checked(f"{language}.toml", _shipped(language))


def _shipped(language: str) -> dict[str, Any]:
    """The values of a shipped file."""
    return tomllib.loads((files("turnwise.web") / "messages" / f"{language}.toml").read_text("utf-8"))


def _checked(source: str, values: Mapping[str, Any]) -> Texts:
    """The texts of a file with all keys and places of the English one; else `DataError` with the first difference."""
    wanted, found = _flat(_shipped("en")), _flat(values)
    for key in (*_HEAD, *wanted):
        if key not in found:
            raise DataError(Problem(source, None, key, "is missing; a message file has the keys of en.toml"))
    for key, text in found.items():
        if key not in wanted:
            raise DataError(Problem(source, None, key, "is unknown; a message file has the keys of en.toml"))
        places, needed = set(_PLACE.findall(text)), set(_PLACE.findall(wanted[key]))
        if key not in _HEAD and places != needed:
            raise DataError(
                Problem(source, None, key, f"has the places {sorted(places)}; expected {sorted(needed)}")
            )
    if found["direction"] not in ("ltr", "rtl"):
        raise DataError(Problem(source, None, "direction", f"is {found['direction']!r}; expected ltr or rtl"))
    return Texts(found["language"], found["direction"], (found["decimal"], found["thousands"]), found)


def _flat(values: Mapping[str, Any]) -> dict[str, str]:
    """The texts by dotted keys."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": str(text) for inner, text in value.items()}
        else:
            flat[key] = str(value)
    return flat
