"""Families of chat agents of different quality."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from turnwise.errors import unknown
from turnwise.worlds.chat.talkers import Habits, Talker

MIXED_SEED = 2019  # of the fixed list of `mixed`
# Name of a failing -> the habits at strength `x` (1: full).
FAILINGS: Mapping[str, Callable[[float], Habits]] = {
    "good": lambda x: Habits(asks=0.8 * x, shares=0.9),
    "contradicts": lambda x: Habits(contradicts=x, asks=0.6),
    "repeats": lambda x: Habits(repeats=0.7 * x),
    "ignores": lambda x: Habits(ignores=0.9 * x),
    "strays": lambda x: Habits(strays=0.9 * x, asks=0.6),
    "silent": lambda x: Habits(asks=0.4 * (1 - x), shares=1 - x),
    "interrogates": lambda x: Habits(asks=1.0, shares=0.2, ignores=0.3 * x),
    "forgets": lambda x: Habits(contradicts=0.5 * x, repeats=0.3 * x, asks=0.3),
}


def graded(agents: int) -> dict[str, Habits]:
    """Habits by agent name: all failings at once, from never to about half of the turns.

    Questions and claims about itself become rarer too.
    """
    levels = [index / max(1, agents - 1) for index in range(agents)]
    return {f"flaw-{index:02d}": _graded_at(level) for index, level in enumerate(levels)}


def _graded_at(level: float) -> Habits:
    """The habits at a level from 0 (no failing) to 1."""
    return Habits(
        contradicts=0.5 * level,
        repeats=0.4 * level,
        ignores=0.5 * level,
        strays=0.4 * level,
        asks=0.7 - 0.4 * level,
        shares=0.9 - 0.5 * level,
    )


def failings(agents: int) -> dict[str, Habits]:
    """Habits by agent name: one kind of `FAILINGS` each (`good` among them), in a plain or a lively voice.

    After every round of eight kinds the strength is multiplied by 0.55.
    """
    found = {}
    kinds = list(FAILINGS.items())
    for index in range(agents):
        kind, habits = kinds[index % len(kinds)]
        repetition = index // len(kinds)
        voice = "plain" if (index + repetition) % 2 else "lively"
        voiceless = habits(0.55**repetition)
        found[f"{voice}-{kind}" if repetition < 2 else f"{voice}-{kind}-{repetition}"] = replace(
            voiceless, voice=voice
        )
    return found


def mixed(agents: int) -> dict[str, Habits]:
    """Habits by agent name: every failing at a strength of its own, so that the ten dimensions differ."""
    return {
        f"mixed-{index:02d}": _draw_mixed(np.random.default_rng([MIXED_SEED, index]))
        for index in range(agents)
    }


def _draw_mixed(rng: np.random.Generator) -> Habits:
    """Most failings are weak in most agents (a beta distribution with mean .25), one or two are strong."""
    names = ("contradicts", "repeats", "ignores", "strays", "garbles")
    strengths = dict(zip(names, (0.8 * rng.beta(0.5, 1.5, len(names))).tolist(), strict=True))
    return Habits(
        voice=str(rng.choice(["plain", "lively"])),
        asks=float(rng.random()),
        shares=float(rng.random()),
        **strengths,
    )


FAMILIES: Mapping[str, Callable[[int], dict[str, Habits]]] = {
    "graded": graded,
    "failings": failings,
    "mixed": mixed,
}


def _draw_failing(rng: np.random.Generator) -> Habits:
    """One kind of `FAILINGS` at a uniform strength, in a plain or a lively voice."""
    kind, voice = str(rng.choice(list(FAILINGS))), str(rng.choice(["plain", "lively"]))
    return replace(FAILINGS[kind](float(rng.random())), voice=voice)


# Family -> how one of its agents is drawn at random.
_DRAWN: Mapping[str, Callable[[np.random.Generator], Habits]] = {
    "graded": lambda rng: _graded_at(float(rng.random())),
    "failings": _draw_failing,
    "mixed": _draw_mixed,
}


def family(name: str, *, agents: int = 16, draw: int | None = None) -> dict[str, Talker]:
    """The agents of a family, by their names; raises `UsageError` for an unknown family.

    With `draw` they are drawn at random with this seed from the family's distribution, otherwise they are a fixed list.
    """
    if name not in FAMILIES:
        raise unknown("family", name, list(FAMILIES))
    if draw is None:
        return {agent: Talker(habits) for agent, habits in FAMILIES[name](agents).items()}
    number = list(_DRAWN).index(name)
    return {
        f"{name}-{draw}-{index:02d}": Talker(_DRAWN[name](np.random.default_rng([draw, number, index])))
        for index in range(agents)
    }
