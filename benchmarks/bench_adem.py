"""ADEM's evaluation speed: 616 replies, contexts and references from text to scores (the paper's Table 11).

The paper reports 168 s on a GPU and 2,861 s on a CPU for the 616 replies of its test set, encoding included. The first
line compares with its GPU time, on other hardware; the goal is a minute. The second line is a ratio within this run:
cached vectors against computed ones. The replies are from a rated corpus, or generated if there is none; the encoder is
minilm if it has been fetched, else `hashing`.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Line, best_of
from turnwise.encode.models.catalogue import NotFetched
from turnwise.metrics.learned.adem.bilinear import Bilinear, Components
from turnwise.metrics.learned.adem.triples import MeanOfTurns, Triples
from turnwise.types import Item, Turn

REPLIES = 616
PAPER = 168.0  # seconds, Table 11
SIDES = ("context", "reference")


def bench() -> Iterator[Line]:
    items = replies()
    with tempfile.TemporaryDirectory() as folder:
        name, context_encoder = encoder(Path(folder))

        def score() -> None:
            triples = Triples.of(items, context_encoder)
            untrained(triples)(triples.sides, triples.reply)

        times = [best_of(score, repeats=1) for _ in range(2)]  # the second run finds the vectors in the cache
        yield Line(f"{REPLIES} replies from text, {name}", times[0], PAPER, "paper, GPU", 2.8)
        if name != "hashing":
            yield Line(f"{REPLIES} replies, vectors in the cache", times[1], times[0], "computed anew", 3)


def untrained(triples: Triples) -> Bilinear:
    """A head with identity matrices; their values do not affect the speed."""
    parts = Components.fit(triples.reply, 50)
    return Bilinear(parts, {side: np.eye(50) for side in SIDES}, 0.0, 1.0)


def encoder(folder: Path) -> tuple[str, MeanOfTurns]:
    from turnwise.encode import Cache, load

    try:
        return "minilm", MeanOfTurns(load("minilm", cache=Cache(folder / "vectors.sqlite")))
    except NotFetched:
        return "hashing", MeanOfTurns(load("hashing"))


def replies() -> list[Item]:
    data = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if (path := data / "grade.jsonl.gz").exists():
        from turnwise.logs.native import read_all

        talks = [dialogue.turns for dialogue in read_all([str(path)]) if dialogue.turns[-1].references]
    else:
        talks = [made_up(number) for number in range(REPLIES)]
    return [
        Item(str(number), str(number), "bot", turns, len(turns) - 1, cluster=str(number), pair=str(number))
        for number, turns in enumerate(talks[:REPLIES])
    ]


def made_up(number: int) -> tuple[Turn, ...]:
    rng = np.random.default_rng(number)
    words = ["tea", "rain", "old", "house", "like", "you", "never", "why", "town", "song"]
    texts = [" ".join(rng.choice(words, size=12)) for _ in range(4)]
    return (
        Turn("user", texts[0]),
        Turn("assistant", texts[1]),
        Turn("assistant", texts[2], references=(texts[3],)),
    )
