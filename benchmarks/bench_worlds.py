"""Simulated dialogues per second in the worlds, on one core, without alternatives.

No other package does the same. The goal is a thousand dialogues per second of processor time in the slowest family:
then 80,000 dialogues, the truth of 16 agents, take less than a minute and a half.
"""

import time
from collections.abc import Iterator
from types import ModuleType

import numpy as np

from benchmarks.harness import Line
from turnwise import worlds

DIALOGUES = 125  # dialogues of each agent
RULE = 1_000  # dialogues per second to reach


def bench() -> Iterator[Line]:
    for name in worlds.WORLDS:
        package = worlds.named(name)
        rates = {family: max(_rate(package, family) for _ in range(2)) for family in package.FAMILIES}
        slowest = min(rates, key=rates.__getitem__)
        yield Line(
            f"{name}, family {slowest}, 16 agents x {DIALOGUES}",
            rates[slowest],
            RULE,
            "the rule",
            goal=1,
            unit="dialogues/s",
            rate=True,
        )


def _rate(package: ModuleType, family: str) -> float:
    """Dialogues per processor second of this process."""
    agents = package.family(family, agents=16)
    start = time.process_time()
    for agent in agents.values():
        for number in range(DIALOGUES):
            package.WORLD.truth(agent, np.random.default_rng([1, number]))
    return len(agents) * DIALOGUES / (time.process_time() - start)
