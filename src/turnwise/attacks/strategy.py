"""Strategies: templates of fixed words and slots that are filled from the context."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from turnwise.attacks.context import Context
from turnwise.attacks.slots import SLOTS
from turnwise.metrics.words import words

Kind: TypeAlias = Literal["baseline", "fixed", "parrot", "pattern", "mixed", "other", "people"]
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
        return _SLOT.sub(lambda found: SLOTS[found[1]].fill(context), self.template).strip()

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
                SLOTS[slot].description + (f" {times} times" if times > 1 else "")
                for slot, times in Counter(self.slots).items()
            )
            return f"repeats {named}" + (f", with “{self.fixed}” added" if self.fixed else "")
        again = "the same words over and over: " if _is_repetitive(self.fixed) else ""
        if self.kind == "fixed":
            return f"always replies {again}“{self.template}”"
        shown = _SLOT.sub(lambda found: f"[{SLOTS[found[1]].description}]", self.template)
        return f"fills {again}“{shown}” from the context"


def strategy(template: str) -> Strategy:
    """The strategy of a template, with its kind.

    `fixed` without slots; `parrot` if all slots copy text and at most three words are fixed; else `pattern`.
    """
    slots = _SLOT.findall(template)
    if not slots:
        return Strategy(template, "fixed")
    copied = all(SLOTS[slot].copies_text for slot in slots) and len(words(_SLOT.sub(" ", template))) <= 3
    return Strategy(template, "parrot" if copied else "pattern")


def repeated_words(text: str) -> int:
    """Number of words that occurred earlier in the text: words minus distinct words."""
    said = words(text)
    return len(said) - len(set(said))


def _is_repetitive(text: str) -> bool:
    """Whether a text has 10 words or more and more than half of them occurred earlier in it."""
    return len(words(text)) >= MIN_REPETITIVE_WORDS and 2 * repeated_words(text) > len(words(text))
