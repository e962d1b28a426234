"""A strategy: a way of answering that looks at the context, if at all, without understanding it."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from turnwise.attacks.context import Context
from turnwise.metrics.features.repetition import STOPWORDS
from turnwise.metrics.words import words

Kind: TypeAlias = Literal["baseline", "fixed", "parrot", "pattern", "other", "people"]
SWAPS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are", "i'm": "you're",
    "i've": "you've", "i'll": "you'll", "i'd": "you'd",
    "you": "i", "your": "my", "yours": "mine", "yourself": "myself", "you're": "i'm", "you've": "i've",
    "you'll": "i'll", "you'd": "i'd",
}  # fmt: skip
LONG = 10  # words, from which on saying them again shows
_SLOT = re.compile(r"\{(\w+)\}")


class Entry(NamedTuple):
    """A way of answering that is judged: a baseline, what a search found, or a tuned policy."""

    name: str
    kind: Kind
    description: str
    reply: Callable[[Context], str]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A template: fixed words, slots that are filled from the context, or one slot alone."""

    template: str
    kind: Kind

    def reply(self, context: Context) -> str:
        return _SLOT.sub(lambda found: SLOTS[found[1]](context), self.template).strip()

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(_SLOT.findall(self.template))

    @property
    def fixed(self) -> str:
        """The words that stand in every reply."""
        return " ".join(_SLOT.sub(" ", self.template).split())

    @property
    def entry(self) -> Entry:
        return Entry(self.template, self.kind, self.description, self.reply)

    @property
    def description(self) -> str:
        """What it does, in words."""
        if self.kind == "parrot":
            named = " and ".join(
                SLOT_NAMES[slot] + (f" {times} times" if times > 1 else "")
                for slot, times in Counter(self.slots).items()
            )
            return f"repeats {named}" + (f", with “{self.fixed}” added" if self.fixed else "")
        again = "the same words over and over: " if _goes_round(self.fixed) else ""
        if self.kind == "fixed":
            return f"always answers {again}“{self.template}”"
        shown = _SLOT.sub(lambda found: f"[{SLOT_NAMES[found[1]]}]", self.template)
        return f"fills {again}“{shown}” from the context"


def strategy(template: str) -> Strategy:
    """The strategy of a template."""
    slots = _SLOT.findall(template)
    if not slots:
        return Strategy(template, "fixed")
    copied = all(slot in COPIES for slot in slots) and len(words(_SLOT.sub(" ", template))) <= 3
    return Strategy(template, "parrot" if copied else "pattern")


def repeated(text: str) -> int:
    """Words that the text has said before."""
    said = words(text)
    return len(said) - len(set(said))


def _goes_round(text: str) -> bool:
    """Whether more than half of it was said before, and it is no mere `yes, yes`."""
    return len(words(text)) >= LONG and 2 * repeated(text) > len(words(text))


def swapped(text: str) -> str:
    """The other speaker's words as one's own: `you` becomes `I`."""
    said = [SWAPS.get(word.lower().strip(".,!?"), word) for word in text.split()]
    return " ".join("I" if word == "i" else word for word in said)


def content_words(text: str) -> list[str]:
    return [word for word in dict.fromkeys(words(text)) if word not in STOPWORDS and len(word) > 2]


def _picked(context: Context, texts: Sequence[str]) -> str:
    """One of the texts, by the context's name: chance that is the same every time."""
    if not texts:
        return ""
    seed = int.from_bytes(context.item.id.encode()[-8:], "big")
    return texts[int(np.random.default_rng(seed).integers(len(texts)))]


def _first_user(context: Context) -> str:
    return next((turn.text for turn in context.turns if turn.role == "user"), context.last)


def _sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s+", text.strip())[-1]


SLOTS: dict[str, Callable[[Context], str]] = {
    "last": lambda context: context.last,
    "swapped": lambda context: swapped(context.last),
    "whole": lambda context: context.whole,
    "first": _first_user,
    "sentence": lambda context: _sentence(context.last),
    "question": lambda context: context.last.rstrip(".!? ") + "?",
    "nouns": lambda context: " ".join(content_words(context.last)),
    "all_nouns": lambda context: " ".join(content_words(context.whole)),
    "noun": lambda context: _picked(context, content_words(context.last) or content_words(context.whole)),
    "head": lambda context: " ".join(context.last.split()[:4]),
    "tail": lambda context: " ".join(context.last.split()[-4:]),
}
SLOT_NAMES = {
    "last": "the last turn",
    "swapped": "the last turn with the pronouns swapped",
    "whole": "the whole context",
    "first": "the user's first turn",
    "sentence": "the last sentence",
    "question": "the last turn as a question",
    "nouns": "content words of the last turn",
    "all_nouns": "content words of the context",
    "noun": "a content word of the context",
    "head": "the beginning of the last turn",
    "tail": "the end of the last turn",
}
COPIES = ("last", "swapped", "whole", "first", "sentence", "question")
