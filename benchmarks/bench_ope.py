"""Linear off-policy estimators on ten times the dialogues: time should grow tenfold, and memory should not grow.

The dialogues of a stream are simulated again on each of the two passes; the time includes this. A few MiB of memory are
caches of words, which are full after some thousand dialogues.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import add

import numpy as np

from benchmarks.harness import Line, peak
from turnwise.encode.episodes import encode, whole
from turnwise.estimators.linear.dice import LinearDice
from turnwise.estimators.linear.regression import Fqe
from turnwise.estimators.linear.stream import FirstSums, SecondSums, TargetBasis
from turnwise.protocols import SumEstimator
from turnwise.types import Episodes
from turnwise.worlds import booking

CHUNK = 20  # dialogues of each agent in a chunk
SMALL, LARGE = 10, 100  # chunks in the two streams
STREAM = """
import sys
from benchmarks.bench_ope import Fqe, TARGET, chunks, value_from_chunks
value_from_chunks(Fqe("hashing"), chunks(int(sys.argv[1])), TARGET)
"""


SELLERS = booking.family("behaviour", agents=6)
TARGET = sorted(SELLERS)[0]


def chunk(seed: int) -> Episodes:
    """One chunk of a stream: booking dialogues of six sellers."""
    rng = np.random.default_rng(seed)
    held = [
        booking.WORLD.play(
            seller, rng, identity=f"{name}-{seed}-{place}", name=name, others=SELLERS, samples=1
        )
        for name, seller in SELLERS.items()
        for place in range(CHUNK)
    ]
    rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in held}
    return encode(whole(held, rewards), rating="reward")


def chunks(count: int) -> Callable[[], Iterator[Episodes]]:
    return lambda: map(chunk, range(count))


def value_from_chunks(
    estimator: SumEstimator, chunks: Callable[[], Iterable[Episodes]], target: str
) -> float:
    """The target's value; `chunks` is called twice and gives the same chunks of whole dialogues both times."""
    first = reduce(add, (FirstSums.of(chunk, estimator.model) for chunk in chunks()), FirstSums())
    basis = TargetBasis.of(first, target)
    second = reduce(
        add, (SecondSums.of(chunk, estimator.model, basis, [target]) for chunk in chunks()), SecondSums()
    )
    return second.estimate(estimator, target, basis, first).value


def processor_seconds(estimator: Fqe | LinearDice, counts: Sequence[int]) -> float:
    """Processor seconds to estimate from streams of these numbers of chunks."""
    start = time.process_time()
    for count in counts:
        value_from_chunks(estimator, chunks(count), TARGET)
    return time.process_time() - start


def bench() -> Iterator[Line]:
    for estimator in (Fqe("hashing"), LinearDice("hashing")):
        value_from_chunks(estimator, chunks(1), TARGET)
        # Other processes slow down what runs at the same time, so the small streams run before and after the large one.
        before, large, after = (
            processor_seconds(estimator, [SMALL] * 5),
            processor_seconds(estimator, [LARGE]),
            processor_seconds(estimator, [SMALL] * 5),
        )
        yield Line(
            f"{estimator.name} on {6 * CHUNK * LARGE:,} dialogues",
            ours=large,
            peer=(before + after) / 10,
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
        goal=1.2,
        unit="MiB",
        at_most=True,
    )
