"""Slots of a template: texts and kinds of words that a strategy takes from the context.

A slot is empty where the context has nothing of its kind, such as numbers.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from turnwise.attacks.context import Context
from turnwise.metrics.features.repetition import STOPWORDS
from turnwise.metrics.words import words

PRONOUN_SWAPS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are", "i'm": "you're",
    "i've": "you've", "i'll": "you'll", "i'd": "you'd",
    "you": "i", "your": "my", "yours": "mine", "yourself": "myself", "you're": "i'm", "you've": "i've",
    "you'll": "i'll", "you'd": "i'd",
}  # fmt: skip
LONG = 8  # letters of a long word
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_EDGES = ".,;:!?\"'()[]“”‘’"


class Slot(NamedTuple):
    """A slot: its name in words, how it is filled, and whether it copies text rather than single words."""

    description: str
    fill: Callable[[Context], str]
    copies_text: bool = False


def swap_pronouns(text: str) -> str:
    """The text with first and second person exchanged: `you` becomes `I`. A swapped word loses its punctuation."""
    said = [PRONOUN_SWAPS.get(word.lower().strip(".,!?"), word) for word in text.split()]
    return " ".join("I" if word == "i" else word for word in said)


def content_words(text: str) -> list[str]:
    """Distinct words of three letters or more that are not stop words, in order of first occurrence."""
    return [word for word in dict.fromkeys(words(text)) if word not in STOPWORDS and len(word) > 2]


def long_words(text: str) -> list[str]:
    """Distinct words of `LONG` letters or more, in order of first occurrence."""
    return [word for word in dict.fromkeys(words(text)) if len(word) >= LONG]


def numbers(text: str) -> list[str]:
    """The numbers in digits, such as `7`, `7:30` and `1,000`, repeats included."""
    return _NUMBER.findall(text)


def capitalised_words(text: str) -> list[str]:
    """Distinct words with a capital that do not begin a sentence, without `I`: names, mostly."""
    found: dict[str, None] = {}
    for sentence in _SENTENCE_END.split(text.strip()):
        for word in (word.strip(_EDGES) for word in sentence.split()[1:]):
            if word[:1].isupper() and word.split("'")[0] != "I":
                found[word] = None
    return list(found)


def previous_turn(context: Context) -> str:
    """The text of the turn before the last one, which is normally the replying side's own; "" without it."""
    return context.turns[-2].text if len(context.turns) > 1 else ""


def first_user_turn(context: Context) -> str:
    """The text of the user's first turn; the last turn if the user said nothing."""
    return next((turn.text for turn in context.turns if turn.role == "user"), context.last_turn)


def _pick_by_context(context: Context, texts: Sequence[str]) -> str:
    """One of the texts at random, always the same for a context id; "" without texts."""
    if not texts:
        return ""
    seed = int.from_bytes(context.item.id.encode()[-8:], "big")
    return texts[int(np.random.default_rng(seed).integers(len(texts)))]


def _joined(find: Callable[[str], Sequence[str]], text: Callable[[Context], str]) -> Callable[[Context], str]:
    """A function from a context to the words that `find` finds in the text, joined by spaces."""
    return lambda context: " ".join(find(text(context)))


def _last_turn(context: Context) -> str:
    return context.last_turn


def _full_text(context: Context) -> str:
    return context.full_text


BASIC_SLOTS = {
    "last": Slot("the last turn", _last_turn, True),
    "swapped": Slot("the last turn with the pronouns swapped", lambda c: swap_pronouns(c.last_turn), True),
    "whole": Slot("the whole context", _full_text, True),
    "first": Slot("the user's first turn", first_user_turn, True),
    "sentence": Slot("the last sentence", lambda c: _SENTENCE_END.split(c.last_turn.strip())[-1], True),
    "question": Slot("the last turn as a question", lambda c: c.last_turn.rstrip(".!? ") + "?", True),
    "nouns": Slot("content words of the last turn", _joined(content_words, _last_turn)),
    "all_nouns": Slot("content words of the context", _joined(content_words, _full_text)),
    "noun": Slot(
        "a content word of the context",
        lambda c: _pick_by_context(c, content_words(c.last_turn) or content_words(c.full_text)),
    ),
    "head": Slot("the beginning of the last turn", lambda c: " ".join(c.last_turn.split()[:4])),
    "tail": Slot("the end of the last turn", lambda c: " ".join(c.last_turn.split()[-4:])),
}
# Kinds of words, and words of other turns. The search tries them alone and with its best templates, not in every frame.
FURTHER_SLOTS = {
    "numbers": Slot("numbers of the context", _joined(numbers, _full_text)),
    "names": Slot("capitalised words of the context", _joined(capitalised_words, _full_text)),
    "long": Slot("long words of the context", _joined(long_words, _full_text)),
    "rare": Slot("rare words of the context", lambda c: " ".join(c.rare_words)),
    "previous": Slot("the turn before the last one", previous_turn, True),
    "previous_nouns": Slot(
        "content words of the turn before the last one", _joined(content_words, previous_turn)
    ),
    "first_nouns": Slot(
        "content words of the user's first turn", _joined(content_words, first_user_turn)
    ),
    "first_word": Slot("the first word of the last turn", lambda c: " ".join(c.last_turn.split()[:1])),
    "last_word": Slot("the last word of the last turn", lambda c: " ".join(words(c.last_turn)[-1:])),
}  # fmt: skip
SLOTS = BASIC_SLOTS | FURTHER_SLOTS
