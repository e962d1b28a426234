"""Families of sellers with widely different true mean scores; each family differs in another way.

`graded` is the Rule-Rule setting of ENIGMA (Jiang et al. 2021): one wording, one order of questions, and noise in
the facts that a seller decides on. The other families are harder for an estimator. `wordings` combines four
wordings with eight kinds of mistake, so that a seller's wording does not predict its score. In `behaviour` no fact is
misunderstood, but sellers skip or repeat questions, give up the search, or push flights. In `stochastic`
sellers do all of this at random, at every turn. The sellers are fixed lists, the same in every run; `drawn` has the
distributions from which other sellers of each family are drawn.
"""

from collections.abc import Callable, Mapping

import numpy as np

from turnwise.errors import unknown
from turnwise.worlds.booking.drawn import ORDERS, graded_at, stochastic_at, with_mistakes
from turnwise.worlds.booking.drawn import draw as drawn
from turnwise.worlds.booking.mistakes import MISTAKES
from turnwise.worlds.booking.sellers import QUESTIONS, Habits, Seller
from turnwise.worlds.strengths import at_halving_strength, numbered

# Name of a behaviour -> the habits at strength `x` (1: full); `x` scales the probabilities.
BEHAVIOURS: Mapping[str, Callable[[float], Habits]] = {
    "thorough": lambda x: Habits(remarks=0.1 * x),
    "hurries": lambda x: Habits(hurries=0.35 * x),
    "wordy-quits": lambda x: Habits("wordy", gives_up=0.12 * x),
    "no-price": lambda x: Habits(asks=_without("price", "carrier"), repeats=0.2 * x),
    "quits": lambda x: Habits(gives_up=0.4 * x),
    "no-dates": lambda x: Habits(asks=_without("dates", "carrier"), settles=x),
    "repeats": lambda x: Habits(asks=_without("price"), repeats=0.6 * x),
    "pushes": lambda x: Habits(asks=_without("dates", "price", "cabin", "carrier"), offers=1.0, settles=x),
    "wordy-offers": lambda x: Habits("wordy", asks=_without("carrier"), offers=x, remarks=0.2 * x),
    "no-name": lambda x: Habits(asks=_without("name"), hurries=0.25 * x),
    "nameless-quits": lambda x: Habits(asks=_without("name", "cabin", "carrier"), gives_up=0.3 * x),
    "wordy-hurries": lambda x: Habits("wordy", hurries=0.6 * x),
    "asks-two": lambda x: Habits(together=2, remarks=0.2 * x, gives_up=0.08 * x),
    "wordy-nameless": lambda x: Habits("wordy", asks=_without("name", "dates"), gives_up=0.1 * x),
    "wordy-repeats": lambda x: Habits("wordy", asks=_without("cabin", "carrier"), repeats=0.35 * x),
    "offers": lambda x: Habits(asks=_without("price", "cabin", "carrier"), offers=1.0, gives_up=0.18 * x),
}


def graded(agents: int) -> dict[str, Habits]:
    """Habits by seller name; from first to last the share of facts that are replaced at random grows from 0 to 0.7.

    The probabilities of repeated questions and of settling for an unsuitable flight grow too.
    """
    levels = [index / max(1, agents - 1) for index in range(agents)]
    return {f"noise-{index:02d}": graded_at(level) for index, level in enumerate(levels)}


def wordings(agents: int) -> dict[str, Habits]:
    """Habits by seller name: each kind of mistake in two wordings, rare in one, frequent in the other.

    Most sellers also make a second kind half as often. From the 17th seller on the rates are lower.
    """
    found = {}
    kinds, words = list(MISTAKES), list(ORDERS)
    for index in range(agents):
        kind, wording, repetition = kinds[index // 2 % 8], words[(index + index // 4) % 4], index // 16
        often = (index + index // 2) % 2 == 0
        share = (0.9 if often else 0.3) / (1 + repetition / 2)
        # A second kind of mistake, half as frequent, so that no two sellers make the same mistakes.
        second = kinds[(index * 3 + 5 + repetition) % 8]
        found[numbered(f"{wording}-{kind}", repetition)] = with_mistakes(
            wording, kind, share, second=second if second != kind else None
        )
    return found


def behaviour(agents: int) -> dict[str, Habits]:
    """Habits by seller name: every behaviour at full strength, then every behaviour at half strength, and so on."""
    return at_halving_strength(BEHAVIOURS, agents)


def stochastic(agents: int) -> dict[str, Habits]:
    """Habits by seller name: each seller has fixed probabilities of its own for seven habits, equal in every run.

    The first seller has probability 0 for all; the largest possible values grow linearly from seller to seller.
    """
    found = {}
    for index in range(agents):
        level = index / max(1, agents - 1)
        found[f"chance-{index:02d}"] = stochastic_at(level, np.random.default_rng([7, index]))
    return found


def _without(*topics: str) -> tuple[str, ...]:
    """The standard questions except those on `topics`."""
    return tuple(topic for topic in QUESTIONS if topic not in topics)


FAMILIES: Mapping[str, Callable[[int], dict[str, Habits]]] = {
    "graded": graded,
    "wordings": wordings,
    "behaviour": behaviour,
    "stochastic": stochastic,
}


def family(name: str, *, agents: int = 16, draw: int | None = None) -> dict[str, Seller]:
    """The sellers of a family, by their names; raises `UsageError` for an unknown family.

    With `draw` they are drawn at random with this seed from the family's distribution, otherwise they are a fixed list.
    """
    if name not in FAMILIES:
        raise unknown("family", name, list(FAMILIES))
    habits = FAMILIES[name](agents) if draw is None else drawn(name, agents, draw)
    return {agent: Seller(one) for agent, one in habits.items()}
