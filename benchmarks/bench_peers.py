"""Processor time of metrics and statistics that were slower than their peers, or not much faster, beside those peers.

The texts are those of `bench_overlap`. Values are compared before times, and times are processor times of alternating
runs. distinct-2 has a plain loop as its peer: a set of pairs of words.
A third of the loop's time is that of finding the words, which both sides do.
"""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import krippendorff
import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.chrf import CHRF
from scipy.stats import kendalltau

from benchmarks.bench_distribution import processor_time
from benchmarks.bench_overlap import pairs, same
from benchmarks.harness import Line
from turnwise.metrics import resolve
from turnwise.metrics.distribution.mauve import FittedMauve, Mauve
from turnwise.metrics.words import words
from turnwise.stats.agreement import krippendorff_alpha
from turnwise.stats.permutation import perm_both
from turnwise.types import Item, Metric, Turn

RATERS, ITEMS = 20, 5_000  # of Krippendorff's alpha; half of the ratings are missing
# Times that two functions are timed in alternation: other work on the machine must not hit all runs of one of them.
LEAST, MOST = 5, 40
BRIEF = 3.0  # processor seconds after which the least number of times is enough
POINTS, DRAWS = 300, 1000  # of PERM-BOTH; 1,000 draws are the default of `meta`


def bench() -> Iterator[Line]:
    items = pairs(np.random.default_rng(1))
    replies, references = [item.reply for item in items], [[item.references[0] for item in items]]
    for name, word_order in (("chrf", 0), ("chrf++", 2)):
        peer = CHRF(word_order=word_order)
        yield compared(
            f"{name}, {len(items):,} pairs",
            scored(resolve(name), items),  # type: ignore[arg-type]
            lambda peer=peer: peer.corpus_score(replies, references).score,  # type: ignore[misc]
            "sacrebleu",
        )
    yield compared(
        f"distinct-2, {len(items):,} replies",
        scored(resolve("distinct-2"), items),  # type: ignore[arg-type]
        lambda: plain_distinct(replies),
        "plain loop",
    )
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, size=(RATERS, ITEMS)).astype(float)
    ratings[rng.random(ratings.shape) < 0.5] = np.nan
    yield compared(
        f"Krippendorff's alpha, {RATERS} x {ITEMS:,}",
        lambda: krippendorff_alpha(ratings, "interval"),
        lambda: krippendorff.alpha(reliability_data=ratings, level_of_measurement="interval"),
        "krippendorff",
    )
    yield kendall_differences(rng)
    yield lines_of_replies(items)
    if importlib.util.find_spec("mauve"):
        yield from (mauve_scores(count) for count in (100, 1000))


def lines_of_replies(items: list[Item]) -> Line:
    """rouge-lsum of texts of three lines: three replies each."""
    joined = ["\n".join(item.reply for item in items[at : at + 3]) for at in range(0, len(items) - 2, 3)]
    wanted = [
        "\n".join(item.references[0] for item in items[at : at + 3]) for at in range(0, len(items) - 2, 3)
    ]
    longer = [
        replace(item, turns=(Turn("user", "hi"), Turn("assistant", reply, references=(reference,))))
        for item, reply, reference in zip(items, joined, wanted, strict=False)
    ]
    peer = RougeScorer(["rougeLsum"])
    return compared(
        f"rouge-lsum, {len(longer):,} pairs of 3 lines",
        scored(resolve("rouge-lsum"), longer),  # type: ignore[arg-type]
        lambda: float(
            np.mean([peer.score(b, a)["rougeLsum"].fmeasure for a, b in zip(joined, wanted, strict=True)])
        ),
        "rouge-score",
    )


def mauve_scores(count: int) -> Line:
    """MAUVE of two clouds of `count` vectors, with the same number of clusters and of runs of k-means."""
    from mauve import compute_mauve

    rng = np.random.default_rng(count)
    spread = np.geomspace(1, 0.05, 384)
    generated, real = rng.normal(size=(2, count, 384)) * spread
    generated += 0.2 * spread
    ours = FittedMauve({}, Mauve())
    return Line(
        f"mauve, {count:,} vectors a side",
        processor_time(lambda: ours.between(generated, ours.prepare(real)), 3),
        processor_time(lambda: compute_mauve(p_features=real, q_features=generated, verbose=False), 3),
        "mauve-text",
        1.0,
    )


def compared(name: str, ours: Callable[[], float], peer: Callable[[], float], peer_name: str) -> Line:
    """The line of two functions with the same value, timed alternately."""
    same(ours(), peer(), 1e-9)
    times: list[tuple[float, float]] = []
    while len(times) < LEAST or (len(times) < MOST and np.sum(times) < BRIEF):
        times.append((processor_time(ours, 1), processor_time(peer, 1)))
    return Line(name, min(a for a, _ in times), min(b for _, b in times), peer_name, 1.5)


def scored(metric: Metric, items: list[Item]) -> Callable[[], float]:
    """The metric's number of all items, from text."""
    return lambda: metric.reduce(metric.rows(items))


def plain_distinct(replies: list[str]) -> float:
    """distinct-2 by a loop over the replies."""
    seen: set[tuple[str, str]] = set()
    total = 0
    for reply in replies:
        found = list(pairwise(words(reply)))
        total += len(found)
        seen.update(found)
    return len(seen) / total


def kendall_differences(rng: np.random.Generator) -> Line:
    """PERM-BOTH of Kendall's tau beside a loop over scipy's."""
    y = rng.normal(size=POINTS)
    one, two = y + rng.normal(size=POINTS), y + 2 * rng.normal(size=POINTS)

    def ours() -> float:
        codes = np.arange(POINTS)
        draws = np.random.default_rng(0)
        return perm_both(one, two, y, codes, POINTS, "kendall", draws=DRAWS, rng=draws).difference

    def peer() -> float:
        swaps = np.random.default_rng(0).integers(2, size=(DRAWS, POINTS)).astype(bool)
        for swap in swaps:
            kept, given = np.where(swap, one, two), np.where(swap, two, one)
            _ = kendalltau(kept, y).statistic - kendalltau(given, y).statistic
        return float(kendalltau(one, y).statistic - kendalltau(two, y).statistic)

    return compared(
        f"PERM-BOTH of Kendall's tau, {POINTS} points, {DRAWS} draws", ours, peer, "loop over scipy"
    )
