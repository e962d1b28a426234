"""Strategies: templates of fixed words and slots that are filled from the context."""

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
PRONOUN_SWAPS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are", "i'm": "you're",
    "i've": "you've", "i'll": "you'll", "i'd": "you'd",
    "you": "i", "your": "my", "yours": "mine", "yourself": "myself", "you're": "i'm", "you've": "i've",
    "you'll": "i'll", "you'd": "i'd",
}  # fmt: skip
MIN_REPETITIVE_WORDS = 10  # shorter texts are not called repetitive
_SLOT = re.compile(r"\{(\w+)\}")


def _unchanged(context: Context) -> Context:
    """The context itself."""
    return context


class Candidate(NamedTuple):
    """A strategy to be tested, as a function from a context to a reply: a baseline, a template or a tuned policy."""

    name: str
    kind: Kind
    description: str
    reply: Callable[[Context], str]
    context: Callable[[Context], Context] = (
        _unchanged  # the context in which the reply is scored; a changed one
    )
    # needs an id of its own


@dataclass(frozen=True, slots=True)
class Strategy:
    """A template of fixed words and slots, such as `so {last}`, and its kind."""

    template: str
    kind: Kind

    def reply(self, context: Context) -> str:
        """The template with its slots filled from the context, without white space at its ends."""
        return _SLOT.sub(lambda found: SLOTS[found[1]](context), self.template).strip()

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of the template's slots in order, repeats included."""
        return tuple(_SLOT.findall(self.template))

    @property
    def fixed(self) -> str:
        """The template without its slots: the words that are in every reply."""
        return " ".join(_SLOT.sub(" ", self.template).split())

    @property
    def candidate(self) -> Candidate:
        """The strategy as a candidate for the test, named by its template."""
        return Candidate(self.template, self.kind, self.description, self.reply)

    @property
    def description(self) -> str:
        """What the strategy does, in words for the report."""
        if self.kind == "parrot":
            named = " and ".join(
                SLOT_NAMES[slot] + (f" {times} times" if times > 1 else "")
                for slot, times in Counter(self.slots).items()
            )
            return f"repeats {named}" + (f", with “{self.fixed}” added" if self.fixed else "")
        again = "the same words over and over: " if _is_repetitive(self.fixed) else ""
        if self.kind == "fixed":
            return f"always replies {again}“{self.template}”"
        shown = _SLOT.sub(lambda found: f"[{SLOT_NAMES[found[1]]}]", self.template)
        return f"fills {again}“{shown}” from the context"


def strategy(template: str) -> Strategy:
    """The strategy of a template, with its kind.

    `fixed` without slots; `parrot` if all slots copy text and at most three words are fixed; else `pattern`.
    """
    slots = _SLOT.findall(template)
    if not slots:
        return Strategy(template, "fixed")
    copied = all(slot in COPY_SLOTS for slot in slots) and len(words(_SLOT.sub(" ", template))) <= 3
    return Strategy(template, "parrot" if copied else "pattern")


def repeated_words(text: str) -> int:
    """Number of words that occurred earlier in the text: words minus distinct words."""
    said = words(text)
    return len(said) - len(set(said))


def _is_repetitive(text: str) -> bool:
    """Whether a text has 10 words or more and more than half of them occurred earlier in it."""
    return len(words(text)) >= MIN_REPETITIVE_WORDS and 2 * repeated_words(text) > len(words(text))


def swap_pronouns(text: str) -> str:
    """The text with first and second person exchanged: `you` becomes `I`. A swapped word loses its punctuation."""
    said = [PRONOUN_SWAPS.get(word.lower().strip(".,!?"), word) for word in text.split()]
    return " ".join("I" if word == "i" else word for word in said)


def content_words(text: str) -> list[str]:
    """Distinct words of three letters or more that are not stop words, in order of first occurrence."""
    return [word for word in dict.fromkeys(words(text)) if word not in STOPWORDS and len(word) > 2]


def _pick_by_context(context: Context, texts: Sequence[str]) -> str:
    """One of the texts at random, always the same for a context id; "" without texts."""
    if not texts:
        return ""
    seed = int.from_bytes(context.item.id.encode()[-8:], "big")
    return texts[int(np.random.default_rng(seed).integers(len(texts)))]


def _first_user_turn(context: Context) -> str:
    """The text of the user's first turn; the last turn if the user said nothing."""
    return next((turn.text for turn in context.turns if turn.role == "user"), context.last_turn)


def _last_sentence(text: str) -> str:
    """The last sentence of a text, split after . ! or ? before white space."""
    return re.split(r"(?<=[.!?])\s+", text.strip())[-1]


SLOTS: dict[str, Callable[[Context], str]] = {
    "last": lambda context: context.last_turn,
    "swapped": lambda context: swap_pronouns(context.last_turn),
    "whole": lambda context: context.full_text,
    "first": _first_user_turn,
    "sentence": lambda context: _last_sentence(context.last_turn),
    "question": lambda context: context.last_turn.rstrip(".!? ") + "?",
    "nouns": lambda context: " ".join(content_words(context.last_turn)),
    "all_nouns": lambda context: " ".join(content_words(context.full_text)),
    "noun": lambda context: _pick_by_context(
        context, content_words(context.last_turn) or content_words(context.full_text)
    ),
    "head": lambda context: " ".join(context.last_turn.split()[:4]),
    "tail": lambda context: " ".join(context.last_turn.split()[-4:]),
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
COPY_SLOTS = ("last", "swapped", "whole", "first", "sentence", "question")
