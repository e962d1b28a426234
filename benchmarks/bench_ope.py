"""A sweep of `ope` over 16 agents, and off-policy estimators on ten times the dialogues.

Time should grow tenfold, and the memory of a stream should not grow. The sweep is `turnwise ope --all` with all quick
estimators on two processes, each agent left out in turn, from an empty cache of vectors.

The dialogues of a stream are simulated again on each of the two passes; the time includes this. A few MiB of memory are
caches of words, which are full after some thousand dialogues.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

import turnwise as tw
from benchmarks.harness import Line, peak
from turnwise.encode.episodes import encode, whole
from turnwise.encode.models.catalogue import cache_home
from turnwise.estimators.linear.dice import LinearDice
from turnwise.estimators.linear.regression import Fqe
from turnwise.estimators.linear.stream import FirstSums, SecondSums, TargetBasis
from turnwise.protocols import SumEstimator
from turnwise.types import Episodes
from turnwise.worlds import booking

CHUNK = 20  # dialogues of each agent in a chunk
SMALL, LARGE = 10, 100  # chunks in the two streams
AGENTS, DIALOGUES = 16, 100  # of a sweep
GOAL = 60.0  # seconds of a sweep on two quiet cores
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


class Taken(NamedTuple):
    """The seconds of a command: by the clock, and of all processors."""

    clock: float
    processors: float


def sweep(dialogues: int) -> Taken:
    """What `ope --all` takes on new logs of this many dialogues of each agent."""
    with TemporaryDirectory() as folder:
        logs = str(Path(folder) / "logs.jsonl")
        tw.simulate(
            "booking", output=logs, family="wordings", agents=AGENTS, dialogues=dialogues, truth=0, seed=31
        )
        (Path(folder) / "models").symlink_to(cache_home() / "models")
        command = [
            sys.executable,
            "-m",
            "turnwise",
            "ope",
            logs,
            "--all",
            "--rating",
            "reward",
            "--jobs",
            "2",
            "-q",
        ]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        env = {**os.environ, "TURNWISE_CACHE": folder}
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Taken(time.perf_counter() - start, used)


def sweeps() -> Iterator[Line]:
    few, many = sweep(DIALOGUES // 10), sweep(DIALOGUES)
    named = f"ope --all, {AGENTS} sellers, {DIALOGUES} dialogues each, nine estimators"
    yield Line(f"{named}, two processes", many.clock, GOAL, "the goal", goal=1.0, at_most=True)
    yield Line(
        f"{named}, half of the processor seconds",
        many.processors / 2,
        GOAL,
        "the goal",
        goal=1.0,
        at_most=True,
    )
    yield Line(
        f"{named}, processor seconds",
        many.processors,
        few.processors,
        "a tenth of the dialogues",
        goal=12.0,
        at_most=True,
    )


def bench() -> Iterator[Line]:
    yield from sweeps()
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
