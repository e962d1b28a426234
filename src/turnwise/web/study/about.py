"""What is shown beside a dialogue (goal, persona, knowledge, situation), in sentences instead of keys and braces.

Values that say nothing (empty, null, false) are left out. MultiWOZ's own sentences (`message`) are taken where a goal
has them; otherwise its sections (`info`, `book`, `reqt`, ...) get the names that the study's language has for them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.types import Dialogue, Item
from turnwise.web.study.messages import Texts

_TAGS = re.compile(r"<[^>]*>")
_SECTIONS = ("info", "fail_info", "book", "fail_book", "reqt")  # of MultiWOZ's goals
_KNOWN = ("context", "persona", "knowledge")  # keys of `meta` that have a title in every language


@dataclass(frozen=True, slots=True)
class Note:
    """A titled list of sentences beside a dialogue."""

    title: str
    lines: tuple[str, ...]


def notes(about: Dialogue | Item | None, keys: tuple[str, ...], texts: Texts, *, own: bool) -> list[Note]:
    """A note for each of the keys (`goal`, `meta.KEY`) that has a value; `own` says that the goal is the rater's."""
    if about is None:
        return []
    found = []
    for key in keys:
        value = about.goal if key == "goal" else _inner(about.meta, key.removeprefix("meta."))
        lines = tuple(sentences(value, texts))
        if lines:
            found.append(Note(_title(key, texts, own=own), lines))
    return found


def _inner(meta: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path of `meta`; None if there is none."""
    value: Any = meta
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _title(key: str, texts: Texts, *, own: bool) -> str:
    """The title of a note."""
    if key == "goal":
        return texts["about.your_goal" if own else "about.goal"]
    last = key.rpartition(".")[2]
    return texts[f"about.{last}"] if last in _KNOWN else _words(last)


def sentences(value: Any, texts: Texts) -> Iterator[str]:
    """The value in lines of plain words: one a list element, key or section; nothing for an empty value."""
    if isinstance(value, Mapping):
        if message := value.get("message"):
            yield from sentences(message, texts)
            return
        for key, inner in value.items():
            if isinstance(inner, Mapping) and any(section in inner for section in _SECTIONS):
                for section, part in inner.items():
                    named = texts[f"about.{section}"] if section in _SECTIONS else _words(section)
                    if words := phrase(part, texts):
                        yield f"{_words(str(key))} – {named}: {words}."
            elif words := phrase(inner, texts):
                yield f"{_words(str(key))}: {words}"
    elif isinstance(value, list | tuple):
        for one in value:
            if words := phrase(one, texts):
                yield words
    elif words := phrase(value, texts):
        yield words


def phrase(value: Any, texts: Texts) -> str:
    """The value in one line; "" if it says nothing (empty, null, false)."""
    if isinstance(value, Mapping):
        parts = ((str(key), phrase(inner, texts)) for key, inner in value.items())
        return ", ".join(f"{key.replace('_', ' ')} {words}" for key, words in parts if words)
    if isinstance(value, list | tuple):
        return ", ".join(words for words in (phrase(one, texts) for one in value) if words)
    if value is None or value is False:
        return ""
    if value is True:
        return texts["about.yes"]
    if isinstance(value, int | float):
        return texts.number(value)
    return _TAGS.sub("", str(value)).strip()


def _words(key: str) -> str:
    """A key as words: `max_price` as `Max price`."""
    text = key.replace("_", " ").strip()
    return text[:1].upper() + text[1:]
