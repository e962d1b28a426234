"""Families of agents that chat well and badly."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from turnwise.errors import unknown
from turnwise.worlds.chat.talkers import Habits, Talker

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
    """Every failing at once, from none to half of the time."""
    levels = [place / max(1, agents - 1) for place in range(agents)]
    return {
        f"flaw-{place:02d}": Habits(
            contradicts=0.5 * level,
            repeats=0.4 * level,
            ignores=0.5 * level,
            strays=0.4 * level,
            asks=0.7 - 0.4 * level,
            shares=0.9 - 0.5 * level,
        )
        for place, level in enumerate(levels)
    }


def failings(agents: int) -> dict[str, Habits]:
    """One failing each, in a plain and in a lively voice: first often, then more and more rarely."""
    found = {}
    kinds = list(FAILINGS.items())
    for place in range(agents):
        kind, habits = kinds[place % len(kinds)]
        again = place // len(kinds)
        voice = "plain" if (place + again) % 2 else "lively"
        flaws = habits(0.55**again)
        found[f"{voice}-{kind}" if again < 2 else f"{voice}-{kind}-{again}"] = replace(flaws, voice=voice)
    return found


FAMILIES: Mapping[str, Callable[[int], dict[str, Habits]]] = {"graded": graded, "failings": failings}


def family(name: str, *, agents: int = 16) -> dict[str, Talker]:
    """Agents by name."""
    if name not in FAMILIES:
        raise unknown("family", name, list(FAMILIES))
    return {agent: Talker(habits) for agent, habits in FAMILIES[name](agents).items()}
