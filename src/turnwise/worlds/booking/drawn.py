"""Sellers drawn at random: for each family a distribution of habits from which any number of sellers can be drawn.

The families of `families` are fixed lists, so two runs of one family have the same sellers. Here every seed gives new
ones. An estimator whose settings were chosen on some seeds can be tested on sellers of other seeds.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from turnwise.worlds.booking.mistakes import MISTAKES
from turnwise.worlds.booking.sellers import QUESTIONS, Habits

ORDERS: Mapping[str, tuple[str, ...]] = {
    "plain": QUESTIONS,
    "formal": (*QUESTIONS[1:], "name"),
    "chatty": ("dates", "route", "name", "carrier", "cabin", "price"),
    "terse": ("route", "dates", "cabin", "carrier", "price", "name"),
}
UNASKED = ("price", "cabin")  # a seller whose mistake is to ignore one of these does not ask for it either

# Topic -> probability that a seller of `behaviour` never asks about it: about the shares in the fixed family.
_SKIPPED = {"name": 0.2, "dates": 0.2, "price": 0.3, "cabin": 0.3, "carrier": 0.4}
# Habit -> the largest probability that a seller of `behaviour` has it with, as in the fixed family.
_BEHAVIOURS = {
    "hurries": 0.6,
    "gives_up": 0.4,
    "repeats": 0.6,
    "remarks": 0.3,
    "offers": 1.0,
    "settles": 1.0,
}
_HAS_BEHAVIOUR = 0.3  # probability that a seller has one of these habits at all


def graded(rng: np.random.Generator) -> Habits:
    """Noise in the facts, repeated questions and settling, all by one uniform level."""
    return graded_at(float(rng.random()))


def graded_at(level: float) -> Habits:
    """The habits at a level from 0 (no noise) to 1 (0.7 of the facts are replaced at random)."""
    return Habits(noise=0.25 * level + 0.45 * level**4, repeats=0.1 * level, settles=0.3 * level)


def wordings(rng: np.random.Generator) -> Habits:
    """Any wording, with one kind of mistake in 20 to 95 % of the decisions and a second kind half as often."""
    wording = str(rng.choice(list(ORDERS)))
    kind, second = map(str, rng.choice(list(MISTAKES), 2, replace=False))
    return with_mistakes(wording, kind, float(rng.uniform(0.2, 0.95)), second=second)


def with_mistakes(wording: str, kind: str, share: float, *, second: str | None) -> Habits:
    """The habits of a seller with this wording that makes mistakes of `kind` with probability `share`.

    It makes mistakes of the kind `second` half as often.
    """
    return Habits(
        wording,
        asks=tuple(topic for topic in ORDERS[wording] if topic != kind or kind not in UNASKED),
        mistakes={kind: share} | ({second: share / 2} if second is not None else {}),
        gives_up=share / 6 if kind == "flight" else 0.0,
        settles=0.7,
        together=2 if wording == "terse" else 1,
    )


def behaviour(rng: np.random.Generator) -> Habits:
    """A plain or a wordy seller that skips some questions and has each of six habits with probability 0.3."""
    asks = tuple(topic for topic in QUESTIONS if rng.random() >= _SKIPPED.get(topic, 0.0))
    habits: dict[str, Any] = {
        name: float(rng.uniform(0.0, most)) if rng.random() < _HAS_BEHAVIOUR else 0.0
        for name, most in _BEHAVIOURS.items()
    }
    wording = "wordy" if rng.random() < 0.4 else "plain"
    together = 2 if rng.random() < 0.1 else 1
    return Habits(wording, asks=asks, together=together, **habits)


def stochastic(rng: np.random.Generator) -> Habits:
    """Probabilities for seven habits, each uniform up to a limit; the limits are scaled by one uniform level."""
    return stochastic_at(float(rng.random()), rng)


def stochastic_at(level: float, rng: np.random.Generator) -> Habits:
    """The habits at a level from 0 (none of them) to 1 (the largest limits)."""
    u = (rng.random(7) * level).tolist()
    return Habits(
        noise=0.3 * u[0],
        repeats=0.3 * u[1],
        remarks=0.3 * u[2],
        hurries=0.4 * u[3],
        gives_up=0.3 * u[4],
        offers=u[5],
        settles=u[6],
    )


DRAWN: Mapping[str, Callable[[np.random.Generator], Habits]] = {
    "graded": graded,
    "wordings": wordings,
    "behaviour": behaviour,
    "stochastic": stochastic,
}


def draw(name: str, agents: int, seed: int) -> dict[str, Habits]:
    """Habits by seller name, `agents` independent draws; the first n do not depend on how many are drawn."""
    number = list(DRAWN).index(name)
    return {
        f"{name}-{seed}-{index:02d}": DRAWN[name](np.random.default_rng([seed, number, index]))
        for index in range(agents)
    }
