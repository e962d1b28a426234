"""`turnwise` from a warm cache of turn vectors: 10,000 replies, each in a context of three turns."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpus import write
from benchmarks.harness import Line
from turnwise.logs import native
from turnwise.metrics import resolve
from turnwise.types import Item, Turn

REPLIES, TEXTS, CONTEXT = 10_000, 1000, 3
ALLOWED = 120.0  # seconds


def judged() -> list[Item]:
    """Replies and contexts put together from a thousand different turns, so that warming the cache is quick."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "logs.jsonl", TEXTS // 2)
        told = [
            turn.text for dialogue in native.read(str(Path(folder) / "logs.jsonl")) for turn in dialogue.turns
        ]
    rng = np.random.default_rng(0)
    found = []
    for number in range(REPLIES):
        chosen = [told[at] for at in rng.integers(len(told), size=CONTEXT + 1)]
        turns = tuple(
            Turn(("assistant", "user")[at % 2], text) for at, text in enumerate(chosen, start=CONTEXT % 2)
        )
        found.append(
            Item(f"{number}#3", str(number), "bot", turns, CONTEXT, cluster=str(number), pair=str(number))
        )
    return found


def bench() -> Iterator[Line]:
    items, metric = judged(), resolve("turnwise")
    metric.rows(items[:2000])  # by then every turn has been encoded, and the model is loaded
    begun = time.process_time()  # of this process: what else the machine does is not counted
    metric.rows(items)
    seconds = time.process_time() - begun
    yield Line(
        f"turnwise on {REPLIES:,} replies, warm", seconds, ALLOWED, "what is allowed", goal=1, at_most=True
    )
