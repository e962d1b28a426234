"""Bootstrap of a system-level correlation: our matrix product of weights and sums against loops over resampled rows."""

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Line, best_of
from turnwise.stats.correlation import pearson, row_correlations
from turnwise.stats.resample import bootstrap_sums, bootstrap_weights
from turnwise.types import Floats

SYSTEMS, CONTEXTS, DRAWS = 10, 500, 1000
LOOPED = 20  # draws of the loop that are timed; all take the same time


def bleu(sums: Floats) -> Floats:
    """(...) BLEU from (..., 10) sums: matches and totals of four orders, and both lengths."""
    matches, totals = sums[..., 0:4], sums[..., 4:8]
    brevity = np.minimum(0.0, 1 - sums[..., 9] / sums[..., 8])
    return np.asarray(100 * np.exp(brevity + np.log(matches / totals).mean(axis=-1)))


def corpus(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(C, S, 10) BLEU counts and (C, S) ratings of simulated systems that differ in quality."""
    quality = np.linspace(0.2, 0.8, SYSTEMS)
    words = rng.integers(6, 25, size=(CONTEXTS, SYSTEMS))
    totals = np.maximum(words[..., None] - np.arange(4), 1)
    matches = rng.binomial(totals, (quality[:, None] ** np.arange(1, 5))[None])
    lengths = np.stack([words, rng.integers(6, 25, size=words.shape)], axis=-1)
    rows = np.concatenate([matches, totals, lengths], axis=-1).astype(np.float64)
    return rows, 1 + 4 * quality + rng.normal(size=(CONTEXTS, SYSTEMS))


def of_sums(sums: Floats) -> Floats:
    """(b,) correlations of BLEU with the mean rating over systems, from sums (b, S, 12)."""
    return row_correlations("pearson", bleu(sums[..., :10]), sums[..., 10] / sums[..., 11])


def looped(rows: Floats, ratings: Floats, draws: Floats) -> list[float]:
    """What one writes first: for each draw and system, collect the drawn rows and score them again."""
    values = []
    for weights in draws:
        chosen = np.repeat(np.arange(CONTEXTS), weights.astype(np.int64))
        scores = [
            float(
                bleu(np.array([sum(column) for column in zip(*rows[chosen, system].tolist(), strict=True)]))
            )
            for system in range(SYSTEMS)
        ]
        people = [sum(ratings[chosen, system].tolist()) / len(chosen) for system in range(SYSTEMS)]
        values.append(pearson(np.array(scores), np.array(people)))
    return values


def indexed(rows: Floats, ratings: Floats, draws: Floats) -> list[float]:
    """The same loop with numpy: rows are gathered and summed as arrays."""
    values = []
    for weights in draws:
        chosen = np.repeat(np.arange(CONTEXTS), weights.astype(np.int64))
        values.append(pearson(bleu(rows[chosen].sum(axis=0)), ratings[chosen].mean(axis=0)))
    return values


def bench() -> Iterator[Line]:
    rows, ratings = corpus(np.random.default_rng(0))
    sums = np.concatenate([rows, ratings[..., None], np.ones_like(ratings)[..., None]], axis=-1)
    draws = next(bootstrap_weights(CONTEXTS, DRAWS, np.random.default_rng(1)))[:LOOPED]

    def ours() -> Floats:
        return bootstrap_sums(sums, of_sums, draws=DRAWS, rng=np.random.default_rng(1))

    gap = np.max(np.abs(ours()[:LOOPED] - looped(rows, ratings, draws)))
    if not gap < 1e-9:
        raise ArithmeticError(f"the two bootstraps differ by {gap}")
    yield Line(
        name=f"system-level correlation, {SYSTEMS} x {CONTEXTS}, {DRAWS} draws",
        ours=best_of(ours),
        peer=best_of(lambda: looped(rows, ratings, draws)) * DRAWS / LOOPED,
        peer_name="plain loop",
        goal=50,
    )
    yield Line(
        name=f"the same, {SYSTEMS} x {CONTEXTS}, {DRAWS} draws",
        ours=best_of(ours),
        peer=best_of(lambda: indexed(rows, ratings, draws)) * DRAWS / LOOPED,
        peer_name="loop over numpy sums",
        goal=3,
    )
