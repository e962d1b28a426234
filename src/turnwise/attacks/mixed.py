"""Mixed strategies: one template where the context has a property, and another elsewhere.

A fraud that pays in half of the contexts and costs in the others can have no gain on average. Which contexts these are
is decided from the context alone, by a threshold on something that can be counted in it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.slots import capitalised_words, content_words, numbers, previous_turn
from turnwise.attacks.strategy import Candidate, Strategy
from turnwise.metrics.words import words
from turnwise.types import Floats

MIN_SHARE = 0.15  # share of the contexts that each side of a condition must have
QUANTILES = (0.2, 0.35, 0.5, 0.65, 0.8)  # thresholds of a count
_FIRST_PERSON = {"i", "my", "me", "i'm", "i've", "i'd", "i'll"}
_SECOND_PERSON = {"you", "your", "you're", "you've"}

COUNTS: dict[str, Callable[[Context], float]] = {
    "words in the last turn": lambda c: len(words(c.last_turn)),
    "content words in the last turn": lambda c: len(content_words(c.last_turn)),
    "question marks in the last turn": lambda c: c.last_turn.count("?"),
    "exclamation marks in the last turn": lambda c: c.last_turn.count("!"),
    "words `I`, `my` or `me` in the last turn": lambda c: sum(w in _FIRST_PERSON for w in words(c.last_turn)),
    "words `you` or `your` in the last turn": lambda c: sum(w in _SECOND_PERSON for w in words(c.last_turn)),
    "sentences in the last turn": lambda c: sum(c.last_turn.count(mark) for mark in ".!?"),
    "turns before the reply": lambda c: len(c.turns),
    "words in the context": lambda c: len(words(c.full_text)),
    "words in the turn before the last one": lambda c: len(words(previous_turn(c))),
    "content words of the last turn that occurred before": lambda c: len(
        set(content_words(c.last_turn)) & {word for turn in c.turns[:-1] for word in words(turn.text)}
    ),
    "numbers in the context": lambda c: len(numbers(c.full_text)),
    "capitalised words in the context": lambda c: len(capitalised_words(c.full_text)),
    "rare words in the context": lambda c: len(c.rare_words),
}


class Condition(NamedTuple):
    """A property of a context: it has at least so many of something that can be counted."""

    counted: str  # a key of `COUNTS`
    at_least: float

    def holds(self, context: Context) -> bool:
        """Whether the context has the property."""
        return COUNTS[self.counted](context) >= self.at_least

    @property
    def description(self) -> str:
        """The property in words, for the report."""
        return f"at least {self.at_least:g} {self.counted}"


class Mixed(NamedTuple):
    """A strategy where a condition holds, and another elsewhere."""

    condition: Condition
    where: Strategy
    elsewhere: Strategy

    def reply(self, context: Context) -> str:
        """The reply of the strategy that is used in this context."""
        return (self.where if self.condition.holds(context) else self.elsewhere).reply(context)

    @property
    def candidate(self) -> Candidate:
        """The mixed strategy as a candidate for the test."""
        name = f"if {self.condition.description}: {self.where.template} | else: {self.elsewhere.template}"
        description = (
            f"with {self.condition.description} it {self.where.description}; "
            f"elsewhere it {self.elsewhere.description}"
        )
        return Candidate(name, "mixed", description, self.reply)


def conditions(
    contexts: Sequence[Context],
) -> Iterator[tuple[Condition, np.ndarray[tuple[int], np.dtype[np.bool_]]]]:
    """Yield conditions that split the contexts, and where each holds; sides with too few contexts are left out."""
    for name, count in COUNTS.items():
        found = np.array([count(context) for context in contexts], dtype=np.float64)
        for threshold in sorted({float(np.ceil(one)) for one in np.quantile(found, QUANTILES)} | {1.0}):
            holds = found >= threshold
            if MIN_SHARE <= holds.mean() <= 1 - MIN_SHARE:
                yield Condition(name, threshold), holds


def complementary(gains: Mapping[str, Mapping[str, float]], most: int) -> list[str]:
    """Up to `most` templates, each of which adds most to the best gain of those before it, averaged over contexts.

    `gains` maps a template to its gain in each context in which it was scored. The first one has the highest mean
    gain where it gains at all; what gains nothing over the others is left out.
    """
    chosen: list[str] = []
    reached: dict[str, float] = {}  # context -> best gain so far, at least 0

    def added(template: str) -> float:
        """The mean over its contexts of what the template adds."""
        known = gains[template]
        above = sum(max(0.0, gain - reached.get(context, 0.0)) for context, gain in known.items())
        return above / len(known) if known else 0.0

    while len(chosen) < most:
        template = max((one for one in gains if one not in chosen), key=added, default=None)
        if template is None or added(template) <= 0:
            break
        chosen.append(template)
        for context, gain in gains[template].items():
            reached[context] = max(gain, reached.get(context, 0.0))
    return chosen


def best_mixed(
    strategies: Sequence[Strategy], gains: Floats, contexts: Sequence[Context], most: int
) -> list[tuple[Mixed, float]]:
    """The mixed strategies with the highest mean gains over the contexts, one for each key of `COUNTS`.

    `gains` (strategies, contexts) has score minus the person's score; NaN counts as no gain.
    """
    known = np.nan_to_num(gains)
    best: dict[str, tuple[Mixed, float]] = {}
    for condition, holds in conditions(contexts):
        where = (known * holds).mean(axis=1)
        elsewhere = (known * ~holds).mean(axis=1)
        pairs = permutations(range(len(strategies)), 2)
        one, other = max(pairs, key=lambda pair: where[pair[0]] + elsewhere[pair[1]], default=(0, 0))
        gain = float(where[one] + elsewhere[other])
        if one != other and (condition.counted not in best or gain > best[condition.counted][1]):
            best[condition.counted] = Mixed(condition, strategies[one], strategies[other]), gain
    return sorted(best.values(), key=lambda found: -found[1])[:most]
