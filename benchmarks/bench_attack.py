"""Time of an attack (baselines and search) on a metric of 1 ms a call, with 200 contexts and 20,000 calls.

The metric sleeps for a millisecond per item and then rewards words of the last turn and length, so it can be attacked.
20 s are the metric's own time, the rest is the search; a minute is allowed. Contexts are generated.
"""

import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.harness import Line
from tests.attacks.planted import relevance, talks
from turnwise.attacks.attack import attack
from turnwise.attacks.context import split_contexts
from turnwise.attacks.target import Target
from turnwise.metrics.words import words
from turnwise.types import Floats, Item

CONTEXTS, CALLS, ALLOWED = 200, 20_000, 60.0


def slow(items: Sequence[Item]) -> Floats:
    """A metric of 1 ms an item that can be attacked."""
    time.sleep(0.001 * len(items))
    return np.array([relevance(item) + len(words(item.reply)) / 50 for item in items])


def bench() -> Iterator[Line]:
    search_on, test_on = split_contexts(talks(CONTEXTS))
    texts = [text for one in search_on for text in (one.human, *(turn.text for turn in one.turns))]
    start = time.perf_counter()
    found = attack(Target(slow, CALLS), search_on, test_on, texts=texts, rng=np.random.default_rng(0))
    taken = time.perf_counter() - start
    if not found.gameable:
        raise ValueError("the weakness was not found")
    name = f"attack, {CONTEXTS} contexts, {found.calls:,} calls of 1 ms"
    yield Line(name, taken, ALLOWED, "a minute", 1.0, at_most=True)
