"""Families of systems with widely different true success rates.

`graded`: all failings at once, increasing from system to system. `failings`: one failing each, first at full
strength and then at half strength and so on, so that systems with equal success fail for different reasons.
"""

from collections.abc import Callable, Mapping

from turnwise.errors import unknown
from turnwise.worlds.strengths import at_halving_strength
from turnwise.worlds.task.systems import Habits, System
from turnwise.worlds.task.tracking import Tracker

# Name of a failing -> the habits at strength `x` (1: full).
FAILINGS: Mapping[str, Callable[[float], Habits]] = {
    "perfect": lambda x: Habits(questions=1 if x == 1 else 2),
    "mishears": lambda x: Habits(mishears=0.25 * x),
    "misnames": lambda x: Habits(misnames=0.5 * x),
    "misinforms": lambda x: Habits(misinforms=0.5 * x),
    "omits": lambda x: Habits(omits=0.7 * x),
    "gives-up": lambda x: Habits(gives_up=0.3 * x),
    "unbooked": lambda x: Habits(unbooked=0.8 * x),
    "repeats": lambda x: Habits(repeats=0.5 * x),
    "stalls": lambda x: Habits(stalls=0.45 * x),
    "strays": lambda x: Habits(strays=0.4 * x),
    "hurries": lambda x: Habits(hurries=x, mishears=0.15 * x),
    "deaf": lambda x: Habits(mishears=0.6 * x),
    "careless": lambda x: Habits(misnames=0.25 * x, misinforms=0.25 * x, omits=0.2 * x),
    "lazy": lambda x: Habits(omits=0.5 * x, unbooked=0.6 * x, gives_up=0.15 * x),
    "slow": lambda x: Habits(repeats=0.25 * x, stalls=0.2 * x),
    "useless": lambda x: Habits(gives_up=0.8 * x, strays=0.3 * x),
}


def graded(agents: int) -> dict[str, Habits]:
    """Habits by system name, from one without failings to one that almost always fails."""
    found = {}
    for index in range(agents):
        x = index / max(1, agents - 1)
        found[f"grade-{index:02d}"] = Habits(
            mishears=0.30 * x,
            misnames=0.12 * x,
            misinforms=0.10 * x,
            omits=0.20 * x,
            gives_up=0.10 * x,
            unbooked=0.20 * x,
            repeats=0.12 * x,
            stalls=0.08 * x,
        )
    return found


def failings(agents: int) -> dict[str, Habits]:
    """Habits by system name: every kind of `FAILINGS` at full strength, then each at half strength, and so on."""
    return at_halving_strength(FAILINGS, agents)


FAMILIES: Mapping[str, Callable[[int], dict[str, Habits]]] = {"graded": graded, "failings": failings}


def make_systems(name: str, tracker: Tracker, *, agents: int = 16) -> dict[str, System]:
    """The systems of a family, by their names; raises `UsageError` for an unknown family."""
    if name not in FAMILIES:
        raise unknown("family", name, list(FAMILIES))
    return {agent: System(tracker, habits, agent) for agent, habits in FAMILIES[name](agents).items()}
