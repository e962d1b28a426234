"""Linear off-policy estimators on ten times the dialogues: time grows as they do, memory does not."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Line, peak
from turnwise.encode.episodes import encode, whole
from turnwise.estimators.dice import LinearDice
from turnwise.estimators.fqe import Fqe
from turnwise.estimators.stream import streamed
from turnwise.types import Episodes
from turnwise.worlds import booking

CHUNK, SMALL, LARGE = 20, 50, 500  # dialogues an agent in a chunk; chunks
STREAM = """
import sys
from benchmarks.bench_ope import chunk, streamed, Fqe
logs = chunk()
streamed(Fqe("hashing"), lambda: (logs for _ in range(int(sys.argv[1]))), sorted(logs.agents)[0])
"""


def chunk() -> Episodes:
    """Booking dialogues of six sellers; a stream is made of as many as are wanted."""
    sellers = booking.family("behaviour", agents=6)
    rng = np.random.default_rng(0)
    held = [
        booking.WORLD.play(seller, rng, identity=f"{name}-{place}", name=name, others=sellers, samples=1)
        for name, seller in sellers.items()
        for place in range(CHUNK)
    ]
    rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in held}
    return encode(whole(held, rewards), rating="reward")


def bench() -> Iterator[Line]:
    logs = chunk()
    target = sorted(logs.agents)[0]
    for estimator in (Fqe("hashing"), LinearDice("hashing")):
        streamed(estimator, lambda: [logs], target)
        took = {}
        for count in (SMALL, LARGE):
            start = time.process_time()
            streamed(estimator, lambda n=count: (logs for _ in range(n)), target)
            took[count] = time.process_time() - start
        yield Line(
            f"{estimator.name} on {6 * CHUNK * LARGE:,} dialogues",
            ours=took[LARGE],
            peer=took[SMALL],
            peer_name=f"{6 * CHUNK * SMALL:,} dialogues",
            goal=12.0,
            at_most=True,
        )
    small, large = (peak(STREAM, [str(count)]) for count in (SMALL, LARGE))
    yield Line(
        f"peak memory of fqe on {6 * CHUNK * LARGE:,} dialogues",
        ours=large,
        peer=small,
        peer_name=f"{6 * CHUNK * SMALL:,} dialogues",
        goal=1.1,
        unit="MiB",
        at_most=True,
    )
