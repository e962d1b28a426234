"""Copy-delexicalisation: a value becomes `[same]` if the user has already said it, else `[new]`.

In a task the values of a reply matter less than whether the user gave them: "one seat from HOU to DFW" says little,
"one seat from [same] to [new]" shows that the agent got the second airport wrong. There are also fewer distinct texts
(30,000 become under 1,000 in a booking world), so each is encoded once and occurs often.

A value is a word with a digit in it, or a proper noun: a capitalised word that does not begin a sentence, one that
begins a sentence and was a value before, or two in a row that do. Neighbouring values of one kind become one mark.
"""

import re
from collections.abc import Iterator, Set
from functools import lru_cache
from typing import NamedTuple

SAME, NEW = "[same]", "[new]"

_WORD = re.compile(r"[^\W_]+(?:[-.,:/'’&][^\W_]+)*")
_OPENS = re.compile(r"(?:^|[.!?…:;\n])[\s\"'“”‘(*-]*$")  # characters before the first word of a sentence
_RUNS = re.compile(r"(\[same\]|\[new\])(?:[ ,$€£#-]+\1)+")
_PLAIN = frozenset("i i'm i'd i'll i've i’m i’d i’ll i’ve ok okay mr mrs ms dr sir madam".split())
_OPENERS = frozenset(  # words that begin sentences and are no names
    "hello hi hey dear thanks thank welcome good goodbye bye sorry yes no sure great well so and but or if when where "
    "what who which why how is are was were am be do does did can could will would shall should may might must have "
    "has had let please the a an this that these those my your his her its our their we you he she it they there here "
    "to from in on at by for with of about after before until between into over under only just also then now".split()
)


class _Word(NamedTuple):
    """A word that is, or may be, a value, with its span in the text."""

    start: int
    end: int
    form: str  # folded
    certain: bool  # a value in every position; otherwise only if it was a value before


def delexicalise(text: str, said: Set[str]) -> str:
    """The text with its values marked; `said` holds the values that the user has said so far."""
    parts, at = [], 0
    for word in _words(text):
        known = word.form in said
        if known or word.certain:
            parts += [text[at : word.start], SAME if known else NEW]
            at = word.end
    return _RUNS.sub(r"\1", "".join([*parts, text[at:]])) if parts else text


def values(text: str) -> Iterator[str]:
    """The certain values of a text, casefolded, in order: words with a digit and proper nouns."""
    return (word.form for word in _words(text) if word.certain)


def copies(text: str) -> tuple[int, int]:
    """The numbers of `[same]` and of `[new]` marks in a delexicalised text."""
    return text.count(SAME), text.count(NEW)


@lru_cache(maxsize=1 << 14)  # the same words recur within a few dialogues
def _words(text: str) -> tuple[_Word, ...]:
    """The words that are, or may be, values, in order; the others are left out."""
    found: list[_Word] = []
    for match in _WORD.finditer(text):
        token, start = match[0], match.start()
        form = token.casefold()
        if any(letter.isdigit() for letter in token):
            found.append(_Word(start, match.end(), form, True))
        elif token[0].isupper() and form not in _PLAIN:
            opens = _OPENS.search(text, 0, start) is not None
            certain = not opens or (token.isupper() and len(token) > 1)
            if certain and found and not found[-1].certain and text[found[-1].end : start] == " ":
                before = found[
                    -1
                ]  # `Ann Lee` at the beginning: the second word shows that the first is a name too
                if before.form not in _OPENERS:
                    found[-1] = before._replace(certain=True)
            found.append(_Word(start, match.end(), form, certain))
    return tuple(found)
