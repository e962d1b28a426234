"""`python -m benchmarks.rates [bytes]`: processor time of the stages of `score` and `ope --stream`, and memory.

Times are per reply. The memory is that of indexes, in bytes per id. docs/scale.md computes with these rates. They are
measured on one core with generated dialogues of 12 words a reply and vectors of hashed words. Writes
benchmarks/results/rates.json; with `bytes`, only the memory is measured.
"""

import json
import pickle
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.corpus import write
from turnwise import simulate
from turnwise.encode.cache.shared import Segments
from turnwise.encode.episodes import encode, whole
from turnwise.estimators.linear.stream import FirstSums, SecondSums, TargetBasis
from turnwise.logs import native
from turnwise.logs.ids import FileIds, IdSet
from turnwise.logs.items.items import Selection, all_items
from turnwise.logs.scan import scan
from turnwise.metrics import resolve
from turnwise.run.scoring.blocks import content_key, score
from turnwise.run.scoring.shards import SHARD
from turnwise.run.scoring.tally import Tally
from turnwise.types import Metric, NeedsFitting

REPLIES, SELLERS, DIALOGUES = 10_000, 5, 200  # replies for `score`; agents and dialogues of each for `ope`
RESULT = Path(__file__).parent / "results" / "rates.json"
T = TypeVar("T")
IDS = 600_000  # ids whose memory is measured
rates: dict[str, float] = {}  # stage -> microseconds
sizes: dict[str, float] = {}  # index -> bytes


def timed(name: str, count: int, function: Callable[[], T]) -> T:
    """Call the function, and record its processor time divided by `count` under the name."""
    start = time.process_time()
    result = function()
    rates[name] = round((time.process_time() - start) / count * 1e6, 1)
    print(f"{name:40} {rates[name]:8.1f} us", flush=True)
    return result


def scoring(folder: Path) -> None:
    """Measure the stages of `score`."""
    write(path := folder / "replies.jsonl", REPLIES)
    census = timed("check and count", REPLIES, lambda: scan([str(path)]))
    items = timed("read", REPLIES, lambda: list(all_items([str(path)], Selection(), census)))
    shards = [items[at : at + SHARD] for at in range(0, REPLIES, SHARD)]
    timed("address by content", REPLIES, lambda: [content_key(shard) for shard in shards])
    packed = timed("send to a worker", REPLIES, lambda: [pickle.dumps(shard, 5) for shard in shards])
    timed("receive, by the worker", REPLIES, lambda: [pickle.loads(one) for one in packed])  # noqa: S301
    for name in ("length", "rouge-l", "bleu-4", "meteor", "chrf", "fbd[model=hashing]"):
        resolved = resolve(name)
        metric: Metric = resolved.fit(items) if isinstance(resolved, NeedsFitting) else resolved
        blocks = timed(f"score {name}", REPLIES, lambda metric=metric: [score(metric, one) for one in shards])
        tally = Tally(metric)
        timed(
            f"add up {name}", REPLIES,
            lambda tally=tally, blocks=blocks: [
                tally.add(shard, block, range(len(shard))) for shard, block in zip(shards, blocks, strict=True)
            ],
        )  # fmt: skip


def estimating(folder: Path) -> None:
    """Measure the stages of `ope --stream`."""
    path = folder / "logs.jsonl"
    count = SELLERS * DIALOGUES
    simulate(
        "booking", output=path, family="behaviour", agents=SELLERS, dialogues=DIALOGUES, samples=1, truth=0
    )
    timed("ope, a dialogue: check and count", count, lambda: scan([str(path)]))
    dialogues = timed("ope, a dialogue: read", count, lambda: list(native.read(str(path))))
    rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in dialogues}
    parts = [dialogues[at : at + 500] for at in range(0, count, 500)]
    encoded = timed(
        "ope, a dialogue: delexicalise, encode", count,
        lambda: [encode(whole(part, rewards), rating="reward") for part in parts],
    )  # fmt: skip
    firsts = timed(
        "ope, a dialogue: first pass", count, lambda: [FirstSums.of(one, "hashing") for one in encoded]
    )
    first = firsts[0]
    for other in firsts[1:]:
        first += other
    frame = TargetBasis.of(first, "hurries")
    speakers = list(first.by_agent)
    timed(
        "ope, a dialogue: second pass, 5 agents", count,
        lambda: [SecondSums.of(one, "hashing", frame, speakers) for one in encoded],
    )  # fmt: skip
    sizes["a dialogue of `ope`, on disk"] = round(path.stat().st_size / count, 1)


def measure_memory(name: str, make: Callable[[], object]) -> None:
    """Record the memory of what `make` returns, in bytes per id, under the name."""
    tracemalloc.start()
    made = make()
    sizes[name] = round(tracemalloc.get_traced_memory()[0] / IDS, 1)
    tracemalloc.stop()
    del made
    print(f"{name:40} {sizes[name]:8.1f} bytes", flush=True)


def indexing(folder: Path) -> None:
    """Measure the memory of the indexes of ids and of the shared cache."""

    def ids(seen: IdSet) -> IdSet:
        for number in range(IDS):
            seen.add(f"dialogue-{number}")
        return seen

    def index() -> Segments:
        shared = Segments(folder)
        shared.read("space", [b"no such key....."])
        return shared

    for first in range(0, IDS, 10_000):
        keys = (number.to_bytes(16, "big") for number in range(first, first + 10_000))
        Segments(folder).write("space", dict.fromkeys(keys, b"0123"))
    measure_memory("a dialogue's hash", lambda: ids(IdSet()))
    measure_memory("an id's hash and file", lambda: ids(_of_a_file()))
    measure_memory("a text of the shared cache's index", index)


def _of_a_file() -> FileIds:
    seen = FileIds()
    seen.open("logs.jsonl")
    return seen


def main() -> None:
    np.ones((64, 64)) @ np.ones((64, 64))  # loads the linear algebra libraries before anything is timed
    results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        if "bytes" not in sys.argv[1:]:
            scoring(Path(folder))
            estimating(Path(folder))
            results["microseconds"] = rates
        indexing(Path(folder) / "shared")
    results |= {"command": "python -m benchmarks.rates", "bytes": results.get("bytes", {}) | sizes}
    RESULT.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
