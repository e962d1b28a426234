"""Families of sellers whose true means lie wide apart, each for another reason.

`graded` is the paper's Rule-Rule setting: one wording and one way to ask, and noise in what is understood. The
others are harder. `wordings`: four ways to talk with eight kinds of mistake, so that how a seller talks says
nothing about how good it is. `behaviour`: nothing is misunderstood, but questions are skipped or asked twice,
searches given up, flights pushed. `stochastic`: sellers that do all of this by chance, at every turn.
"""

from collections.abc import Callable, Mapping

import numpy as np

from turnwise.errors import unknown
from turnwise.worlds.booking.mistakes import MISTAKES
from turnwise.worlds.booking.sellers import QUESTIONS, Habits, Seller

ORDERS: Mapping[str, tuple[str, ...]] = {
    "plain": QUESTIONS,
    "formal": (*QUESTIONS[1:], "name"),
    "chatty": ("dates", "route", "name", "carrier", "cabin", "price"),
    "terse": ("route", "dates", "cabin", "carrier", "price", "name"),
}
UNASKED = ("price", "cabin")  # who passes over these when deciding does not ask for them either

# Kinds of behaviour in full; `x` weakens what is done by chance.
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
    """From a seller that understands everything to one that mishears half of it."""
    levels = [place / max(1, agents - 1) for place in range(agents)]
    return {
        f"noise-{place:02d}": Habits(
            noise=0.25 * level + 0.45 * level**4, repeats=0.1 * level, settles=0.3 * level
        )
        for place, level in enumerate(levels)
    }


def wordings(agents: int) -> dict[str, Habits]:
    """Each kind of mistake in two wordings, rarely in one and often in the other; then again, at other rates."""
    found = {}
    kinds, words = list(MISTAKES), list(ORDERS)
    for place in range(agents):
        kind, wording, again = kinds[place // 2 % 8], words[(place + place // 4) % 4], place // 16
        often = (place + place // 2) % 2 == 0
        share = (0.9 if often else 0.3) / (1 + again / 2)
        # A second kind, half as often: no two sellers fail in quite the same way.
        second = kinds[(place * 3 + 5 + again) % 8]
        found[_numbered(f"{wording}-{kind}", again)] = Habits(
            wording,
            asks=tuple(topic for topic in ORDERS[wording] if topic != kind or kind not in UNASKED),
            mistakes={kind: share} | ({second: share / 2} if second != kind else {}),
            gives_up=share / 6 if kind == "flight" else 0.0,
            settles=0.7,
            together=2 if wording == "terse" else 1,
        )
    return found


def behaviour(agents: int) -> dict[str, Habits]:
    """The kinds of behaviour in turn, each first in full and then by halves."""
    found = {}
    kinds = list(BEHAVIOURS.items())
    for place in range(agents):
        kind, habits = kinds[place % len(kinds)]
        again = place // len(kinds)
        found[_numbered(kind, again)] = habits(0.5**again)
    return found


def stochastic(agents: int) -> dict[str, Habits]:
    """Sellers that choose at every turn, each with chances of its own: the family is the same in every run."""
    found = {}
    for place in range(agents):
        level = place / max(1, agents - 1)
        u = (np.random.default_rng([7, place]).random(7) * level).tolist()
        found[f"chance-{place:02d}"] = Habits(
            noise=0.3 * u[0],
            repeats=0.3 * u[1],
            remarks=0.3 * u[2],
            hurries=0.4 * u[3],
            gives_up=0.3 * u[4],
            offers=u[5],
            settles=u[6],
        )
    return found


def _numbered(name: str, again: int) -> str:
    return f"{name}-{again + 1}" if again else name


def _without(*topics: str) -> tuple[str, ...]:
    return tuple(topic for topic in QUESTIONS if topic not in topics)


FAMILIES: Mapping[str, Callable[[int], dict[str, Habits]]] = {
    "graded": graded,
    "wordings": wordings,
    "behaviour": behaviour,
    "stochastic": stochastic,
}


def family(name: str, *, agents: int = 16) -> dict[str, Seller]:
    """Sellers by name."""
    if name not in FAMILIES:
        raise unknown("family", name, list(FAMILIES))
    return {agent: Seller(habits) for agent, habits in FAMILIES[name](agents).items()}
