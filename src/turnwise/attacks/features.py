"""Simple features of a reply in its context, and templates that have more of each.

The attack reports which features the scores grow with, and its search follows them: it adds what `more` says to the
best templates, or tries what `less` says where the scores fall.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.slots import (
    capitalised_words,
    content_words,
    first_user_turn,
    long_words,
    numbers,
    previous_turn,
)
from turnwise.attacks.strategy import repeated_words
from turnwise.metrics.words import words


class Feature(NamedTuple):
    """A feature: its words in `the score grows with ...`, its value, and templates that have more or less of it.

    `{}` in these templates stands for another template.
    """

    description: str
    value: Callable[[Context, str], float]
    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()


def _copied_share(context: Context, reply: str) -> float:
    """Share of the reply's words, repeats included, that occur in the context; 0 for an empty reply."""
    reply_words, context_words = words(reply), set(words(context.full_text))
    return sum(word in context_words for word in reply_words) / len(reply_words) if reply_words else 0.0


def _uses(wanted: Callable[[Context], Iterable[str]]) -> Callable[[Context, str], float]:
    """A function that counts the distinct wanted words of the context that a reply uses."""

    def count(context: Context, reply: str) -> float:
        """The number of them."""
        reply_words = set(words(reply))
        return float(sum(word in reply_words for word in set(wanted(context))))

    return count


def _counts(find: Callable[[str], Sequence[str]]) -> Callable[[Context, str], float]:
    """A function that counts what `find` finds in a reply."""
    return lambda context, reply: float(len(find(reply)))


def _mean_word_length(context: Context, reply: str) -> float:
    """Mean number of letters of the reply's words; 0 without words."""
    found = words(reply)
    return float(np.mean([len(word) for word in found])) if found else 0.0


FEATURES = {
    "length": Feature(
        "words in the reply", lambda context, reply: float(len(words(reply))),
        more=("{} {}", "{} {} {} {}", "{whole} {}", "{whole} {whole}"), less=("{noun}", "{last_word}", "yes", "{tail}"),
    ),
    "repeated": Feature(
        "words that the reply has said before", lambda context, reply: float(repeated_words(reply)),
        more=("{} {}", "{} {} {} {}", "{nouns} {nouns} {nouns}"),
    ),
    "questions": Feature("question marks", lambda context, reply: float(reply.count("?")), more=("{}?", "{} ? ? ?")),
    "exclamations": Feature(
        "exclamation marks", lambda context, reply: float(reply.count("!")), more=("{}!", "{} ! ! !")
    ),
    "copied": Feature(
        "the share of the reply's words that the context has", _copied_share,
        more=("{last}", "{whole}", "{all_nouns}", "{previous} {last}", "{} {last}", "{} {whole}"),
    ),
    "nouns": Feature(
        "content words of the last turn", _uses(lambda context: content_words(context.last_turn)),
        more=("{nouns}", "{} {nouns}", "{nouns} {}"),
    ),
    "first-turn": Feature(
        "content words of the user's first turn", _uses(lambda context: content_words(first_user_turn(context))),
        more=("{first_nouns}", "{first}", "{} {first_nouns}"),
    ),
    "previous-turn": Feature(
        "content words of the turn before the last one", _uses(lambda context: content_words(previous_turn(context))),
        more=("{previous_nouns}", "{previous}", "{} {previous_nouns}"),
    ),
    "rare": Feature(
        "rare words of the context", _uses(lambda context: context.rare_words),
        more=("{rare}", "{} {rare}", "{rare} {}"),
    ),
    "numbers": Feature("numbers", _counts(numbers), more=("{numbers}", "{} {numbers}", "{} 1 2 3")),
    "capitalised": Feature(
        "capitalised words inside a sentence", _counts(capitalised_words), more=("so {names}", "{} {names}")
    ),
    "long": Feature("long words", _counts(long_words), more=("{long}", "{} {long}", "{long} {long}")),
    "word-length": Feature("the length of the reply's words", _mean_word_length, more=("{long}", "{nouns}")),
}  # fmt: skip
MIN_CORRELATION = 0.3  # a weaker tendency is not followed


def towards(feature: str, correlation: float, templates: Sequence[str]) -> list[str]:
    """Templates with more of the feature, or less where the correlation is negative; none for weak correlations."""
    if abs(correlation) < MIN_CORRELATION:
        return []
    directions = FEATURES[feature].more if correlation > 0 else FEATURES[feature].less
    return [
        made
        for direction in directions
        for made in (
            [direction.replace("{}", one) for one in templates] if "{}" in direction else [direction]
        )
    ]
