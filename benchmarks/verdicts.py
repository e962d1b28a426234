"""Error rates and power of comparisons between agents, on simulated data whose truth is known.

    OMP_NUM_THREADS=1 python -m benchmarks.verdicts

writes benchmarks/results/verdicts.json. `null` has 2,000 data sets of each design in which no agent differs from
another: how often one is called better (of ten agents: any of them), how often the comparison of B and A is the mirror
of that of A and B to the last bit, how often interval and test agree, and how often a verdict is at the edge. Data sets
have 6, 12 or 40 clusters of 1 to 5 items; a cluster is a context that all agents answer (paired), a dialogue of one
agent (independent), or a task with four trials that six raters rate; one design has five metrics, of which some do not
vary.

`anytime` looks ten times at data that grows, and stops at the first difference. `power` compares the share of true
differences that are found with that of the permutation test of version 0.2, drawn 999 times, and for ten agents with
three other ways to adjust; `joint_level` is what the exact joint distribution of equal agents would allow. `seeds` asks
`turnwise.compare` itself with two seeds and both orders of the agents. `processor` is the time that `compare` takes
beside that of an earlier commit, in one run (`--base COMMIT --data FILE`).

`--only WORDS` measures the designs that have these words in their name, and keeps the others. The exit code is 1 if a
line misses its goal.
"""

import argparse
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.special import stdtr

import turnwise
from turnwise.meta.compare import compare
from turnwise.meta.preferences import About, ComparedPair, win_rate
from turnwise.meta.table import ScoreTable
from turnwise.meta.verdicts import with_verdicts
from turnwise.metrics import resolve
from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.metrics.rating import CentredRating
from turnwise.records import LEVEL, DifferenceRecord, known
from turnwise.stats import permutation, studentised, unpaired
from turnwise.stats.clusters import cluster_sums
from turnwise.stats.multiplicity import step_down, true_counts
from turnwise.stats.permutation import benjamini_hochberg
from turnwise.types import Card, Floats, Item, Metric, Rows, Signature, Turn

RESULT = Path(__file__).parent / "results" / "verdicts.json"
SEED = 20261119
SETS = 2000
CLUSTERS = (6, 12, 40)
LOOKS = 10
MARGINS = {"": 0.1}
VALUES = ("normal", "skewed", "yes or no")
GOALS = {"edge": 0.03, "processor": 1.5}
ABOUT = About(metric="preference:overall", group=None, unscored={})
LENGTH = resolve("length")
DISTINCT = resolve("distinct-2")


@dataclass(frozen=True, slots=True)
class Frechet:
    """The Fréchet distance of vectors to a fixed set: `fbd` without an encoder, whose rows are the vectors."""

    level: ClassVar[str] = "system"
    needs: ClassVar[frozenset[str]] = frozenset()
    higher_is_better: ClassVar[bool] = False
    card: ClassVar[Card] = Card(kind="distribution", meaning="", range="", limits="", citation="")
    unscored: ClassVar[str] = ""
    signature: ClassVar[Signature] = Signature("frechet")

    real: Floats

    def rows(self, items: Sequence[Item], /) -> Floats:
        """Not used: rows are drawn."""
        raise NotImplementedError

    def reduce(self, rows: Rows, /) -> float:
        """The distance of the rows."""
        if rows.shape[0] < 2:
            return float("nan")
        return distance(Gaussian.of(np.asarray(rows), shrinkage=0.0), Gaussian.of(self.real, shrinkage=0.0))


FRECHET: Any = Frechet(np.random.default_rng(SEED).normal(size=(200, 4)))


def table(metric: Metric, rows: Rows, clusters: Sequence[int], agent: str, *, shared: bool) -> ScoreTable:
    """A score table of these rows, whose items have the same pairs for all agents if `shared`."""
    n = len(clusters)
    ids = tuple(f"{agent}{at}" for at in range(n))
    names = tuple(f"c{code}" if shared else f"{agent}:c{code}" for code in clusters)
    pairs = tuple(f"p{at}" for at in range(n)) if shared else ids
    return ScoreTable(
        name=str(metric.signature.name), metric=metric, rows=rows, ids=ids, dialogues=names, agents=(agent,) * n,
        groups=("",) * n, clusters=names, pairs=pairs, tasks=("",) * n,
        weights=np.ones(n),
    )  # fmt: skip


def sizes(n_clusters: int, rng: np.random.Generator) -> list[int]:
    """The cluster of each item: clusters have 1 to 5 items."""
    return np.repeat(np.arange(n_clusters), rng.integers(1, 6, n_clusters)).tolist()  # type: ignore[no-any-return]


def values(kind: str, clusters: Sequence[int], context: Floats, rng: np.random.Generator) -> Floats:
    """Values of an agent's items: an effect of the context, which agents share, one of agent and cluster, and noise."""
    own, n = rng.normal(0, 0.5, max(clusters) + 1)[list(clusters)], len(clusters)
    if kind == "normal":
        return context + own + rng.normal(size=n)
    if kind == "skewed":
        return context + own + rng.exponential(2.0, n)
    return (rng.random(n) < 1 / (1 + np.exp(-context - own - 1))).astype(np.float64)


def means(kind: str, n_clusters: int, agents: int, *, shared: bool) -> "Draw":
    """Data sets of mean scores."""

    def draw(rng: np.random.Generator) -> list[ScoreTable]:
        """One data set."""
        made, codes, context = [], sizes(n_clusters, rng), np.zeros(0)
        for agent in range(agents):
            if not shared or not agent:
                codes = codes if shared else sizes(n_clusters, rng)
                context = rng.normal(0, 1.0, n_clusters)[codes]
            rows = np.stack([values(kind, codes, context, rng), np.ones(len(codes))], axis=1)
            made.append(table(LENGTH, rows, codes, f"agent{agent}", shared=shared))
        return made

    return draw


def signs(n_clusters: int, *, metrics: int = 5) -> "Draw":
    """Data sets of several metrics by each of which one agent is ahead by 1 in each cluster, either with the same
    chance: with few clusters it is often the same one in all.
    """

    def draw(rng: np.random.Generator) -> list[ScoreTable]:
        """One data set."""
        made, codes = [], list(range(n_clusters))
        for at in range(metrics):
            ahead = rng.integers(2, size=n_clusters).astype(np.float64)
            for agent, scores in (("one", ahead), ("two", 1 - ahead)):
                rows = np.stack([scores, np.ones(n_clusters)], axis=1)
                one = table(LENGTH, rows, codes, agent, shared=True)
                made.append(dataclasses.replace(one, name=f"metric {at}"))
        return made

    return draw


def vectors(n_clusters: int, *, shared: bool) -> "Draw":
    """Data sets of vectors, for a distance of distributions."""

    def draw(rng: np.random.Generator) -> list[ScoreTable]:
        """One data set."""
        made, codes = [], sizes(n_clusters, rng)
        for agent in ("one", "two"):
            codes = codes if shared else sizes(n_clusters, rng)
            rows = rng.normal(size=(n_clusters, 4))[codes] * 0.7 + rng.normal(size=(len(codes), 4))
            made.append(table(FRECHET, rows, codes, agent, shared=shared))
        return made

    return draw


def texts(n_clusters: int, *, shared: bool) -> "Draw":
    """Data sets of replies in random words, for the share of distinct pairs of words."""
    words = np.array([f"w{at}" for at in range(30)])
    frequency = 1 / np.arange(1, 31)

    def draw(rng: np.random.Generator) -> list[ScoreTable]:
        """One data set."""
        made, codes = [], sizes(n_clusters, rng)
        for agent in ("one", "two"):
            codes = codes if shared else sizes(n_clusters, rng)
            lengths = rng.integers(4, 13, len(codes))
            drawn = rng.choice(words, lengths.sum(), p=frequency / frequency.sum())
            said = [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]
            items = [
                Item(f"{at}", f"{at}", agent, (Turn("assistant", text),), 0, f"{at}", f"{at}")
                for at, text in enumerate(said)
            ]
            made.append(table(DISTINCT, DISTINCT.rows(items), codes, agent, shared=shared))
        return made

    return draw


def rated_trials(n_tasks: int, *, raters: int = 6, trials: int = 4) -> "Draw":
    """Data sets of tasks with trials that all raters rate: tasks, trials and raters favour agents at random."""
    metric: Any = CentredRating(
        "overall", raters=tuple(f"r{at}" for at in range(raters)), effects=(0.0,) * raters
    )
    codes = np.repeat(np.arange(n_tasks), trials).tolist()

    def draw(rng: np.random.Generator) -> list[ScoreTable]:
        """One data set."""
        task, strict = rng.normal(size=(n_tasks, 1, 1)), rng.normal(size=(1, 1, raters))
        made = []
        for agent in ("one", "two"):
            effects = rng.normal(0, 0.5, (n_tasks, 1, 1)) + rng.normal(0, 0.3, (1, 1, raters))
            effects = effects + rng.normal(0, 0.5, (n_tasks, trials, 1))
            ratings = task + strict + effects + rng.normal(size=(n_tasks, trials, raters)) + 10
            rows = csr_array(ratings.reshape(-1, raters))
            made.append(table(metric, rows, codes, agent, shared=True))
        return made

    return draw


Draw = Callable[[np.random.Generator], list[ScoreTable]]


def votes(n_contexts: int, *, raters: int = 8, choices: int = 4) -> Callable[[np.random.Generator], Any]:
    """Data sets of choices between two equal agents, whom contexts and raters favour at random."""

    def draw(rng: np.random.Generator) -> list[ComparedPair]:
        """One data set."""
        context, rater = rng.normal(0, 0.7, n_contexts), rng.normal(0, 0.5, raters)
        made = []
        for at in range(n_contexts):
            for who in rng.choice(raters, choices, replace=False).tolist():
                won = rng.random() < 1 / (1 + np.exp(-context[at] - rater[who]))
                outcome = 0 if rng.random() < 0.2 else 1 if won else -1
                made.append(
                    ComparedPair(
                        agents=("one", "two"), items=(f"a{at}", f"b{at}"), outcome=outcome, both_bad=False,
                        clusters=(f"c{at}", f"c{at}"), rater=f"r{who}", position=0, lengths=(1, 1),
                    )
                )  # fmt: skip
        return made

    return draw


def every_two(tables: Sequence[ScoreTable], **how: Any) -> list[DifferenceRecord]:
    """The comparison of every two tables of one metric, not adjusted yet."""
    return [
        compare(a, b, agents=(a.agents[0], b.agents[0]), group=None, **how)
        for a, b in combinations(tables, 2)
        if a.name == b.name
    ]


def every_two_fast(tables: Sequence[ScoreTable]) -> list[DifferenceRecord]:
    """`every_two` for means, from cluster sums and the functions of `stats.studentised` that `compare` calls."""
    sums = [cluster_sums(np.asarray(one.rows), np.array(codes(one)), max(codes(one)) + 1) for one in tables]
    left = [_mean(one.sum(axis=0) - one) for one in sums]
    value = [float(_mean(one.sum(axis=0))) for one in sums]
    shared = tables[0].pairs == tables[1].pairs
    records = []
    for a, b in combinations(range(len(tables)), 2):
        gap, unit = value[a] - value[b], max(abs(value[a]), abs(value[b]))
        if shared:
            test = studentised.paired(gap, left[a] - left[b], sums[a][:, 1], unit=unit)
        else:
            both = (left[a], left[b]), (sums[a][:, 1], sums[b][:, 1])
            test = studentised.independent(gap, *both, unit=unit)
        names = tables[a].agents[0], tables[b].agents[0]
        leader = names[0] if gap > 0 else names[1] if gap < 0 else max(names)
        records.append(
            DifferenceRecord(
                estimate=gap, metric="length", agent_a=names[0], agent_b=names[1], interval=test.interval(), p=test.p,
                standard_error=test.error, degrees=test.degrees, p_elsewhere=known(test.elsewhere),
                leader=leader, leads=f"{leader} is higher",
                sampling="paired" if shared else "unpaired", n_items=len(tables[a]) if shared else 0,
            )
        )  # fmt: skip
    return records


def is_mirror(one: DifferenceRecord, other: DifferenceRecord) -> bool:
    """Whether a comparison is that of the agents in the other order, to the last bit of every number."""
    return one == other.mirrored()


def agrees(record: DifferenceRecord) -> bool:
    """Whether both intervals have 0 inside exactly where their p is above 5 %; without an interval there is nothing to
    agree. That of equal values, [0, 0], has 0 inside too.
    """
    sides = ((record.interval, record.p), (record.interval_adjusted, record.p_adjusted))
    return all(
        ends is None or p is None or (ends[0] < 0 < ends[1] or ends == (0, 0)) == (p > LEVEL)
        for ends, p in sides  # type: ignore[operator]
    )


def null(name: str, draw: Callable[[np.random.Generator], Any], sets: int = SETS) -> dict[str, Any]:
    """The line of a design in which no agent differs."""
    false = mirrored = agreed = edge = compared = without = 0
    for at in range(sets):
        made = draw(np.random.default_rng([SEED, at]))
        if isinstance(made[0], ComparedPair):
            raw, back = [win_rate(made, ("one", "two"), ABOUT)], [win_rate(made, ("two", "one"), ABOUT)]
        else:
            many = len({one.agents[0] for one in made}) > 2
            two_by_two = every_two_fast if many else every_two
            raw, back = two_by_two(made), two_by_two(made[::-1])
            if not at and many:  # the shortcut is the comparison itself
                np.testing.assert_allclose(
                    [float(one.p or 0) for one in raw], [float(one.p or 0) for one in every_two(made)]
                )
            order = {(one.metric, one.agent_b, one.agent_a): one for one in back}
            back = [order[one.metric, one.agent_a, one.agent_b] for one in raw]
        records = with_verdicts(raw, MARGINS)
        mirrored += all(map(is_mirror, raw, back)) and all(
            map(is_mirror, records, with_verdicts(back, MARGINS))
        )
        agreed += all(map(agrees, records))
        false += any(record.shown for record in records)
        edge += any(record.at_edge for record in records)
        without += any(record.interval is None for record in records)
        compared += 1
    share = false / compared
    limit = LEVEL + 2 * sqrt(LEVEL * (1 - LEVEL) / compared)
    return {
        "design": name, "sets": compared, "mirrored": mirrored / compared, "agree": agreed / compared,
        "at_edge": edge / compared, "false": share, "limit": round(limit, 4), "without_interval": without / compared,
        "met": mirrored == agreed == compared and share <= limit and edge / compared <= GOALS["edge"],
    }  # fmt: skip


def designs() -> Iterator[tuple[str, Callable[[np.random.Generator], Any]]]:
    """The designs in which no agent differs, by name."""
    for n in CLUSTERS:
        for shared in (True, False):
            pairing = "paired" if shared else "independent"
            for kind in VALUES:
                yield f"two agents, {pairing}, {kind}, {n} clusters", means(kind, n, 2, shared=shared)
            for kind in ("normal", "yes or no"):
                yield f"ten agents, {pairing}, {kind}, {n} clusters", means(kind, n, 10, shared=shared)
            yield f"two agents, {pairing}, distinct-2, {n} clusters", texts(n, shared=shared)
            yield f"two agents, {pairing}, Fréchet distance, {n} clusters", vectors(n, shared=shared)
        yield f"ten agents, paired, skewed, {n} clusters", means("skewed", n, 10, shared=True)
        yield f"two agents, five metrics of -1 and 1, {n} clusters", signs(n)
        yield f"two agents, {n} tasks x 4 trials x 6 raters", rated_trials(n)
        yield f"two agents, preferences, {n} contexts x 4 of 8 raters", votes(n)


def anytime(kind: str, first: int, sets: int = SETS) -> dict[str, Any]:
    """How often a difference is found in ten looks at growing data without one, with and without `anytime`."""
    false = {True: 0, False: 0}
    widths = []
    for at in range(sets):
        one, two = means(kind, first * LOOKS, 2, shared=True)(np.random.default_rng([SEED, 1, at]))
        sums = [
            cluster_sums(np.asarray(side.rows), np.array(codes(side)), first * LOOKS) for side in (one, two)
        ]
        for always in false:
            looks = [_look(*sums, first * look, always=always) for look in range(1, LOOKS + 1)]
            false[always] += any(test.p <= LEVEL for test in looks)
        ends = [_look(*sums, first * LOOKS, always=always).interval() for always in (True, False)]
        widths.append(np.ptp(ends[0]) / np.ptp(ends[1]))  # type: ignore[arg-type]
    share = false[True] / sets
    return {
        "design": f"ten looks at {first} to {first * LOOKS} clusters, {kind}", "sets": sets, "false": share,
        "false_of_fixed": false[False] / sets, "width_ratio_at_last_look": round(float(np.mean(widths)), 4),
        "met": share <= LEVEL + 2 * sqrt(LEVEL * (1 - LEVEL) / sets),
    }  # fmt: skip


def _look(a: Floats, b: Floats, n: int, *, always: bool) -> studentised.Studentised:
    """The test on the first n clusters, from the (C, 2) sums of two agents."""
    a, b = a[:n], b[:n]
    left = _mean(a.sum(axis=0) - a) - _mean(b.sum(axis=0) - b)
    gap = float(_mean(a.sum(axis=0)) - _mean(b.sum(axis=0)))
    return studentised.paired(gap, left, a[:, 1], unit=1.0, anytime=always)


def shifted(one: ScoreTable, by: float) -> ScoreTable:
    """The table with all values raised."""
    rows = np.asarray(one.rows).copy()
    rows[:, 0] += by
    return dataclasses.replace(one, rows=rows)


def _mean(sums: Floats) -> Floats:
    """(..., 2) sums and counts -> (...) means."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def power(kind: str, n: int, *, shared: bool, sets: int = 1000) -> dict[str, Any]:
    """The share of true differences that are found: by `compare`, by the permutation test, and with `anytime`."""
    # A difference that is found in about four of five data sets.
    by = {6: 1.9, 12: 1.05, 40: 0.5}[n] * (1.0 if shared else 1.45) * (1.0 if kind == "normal" else 1.6)
    found = dict.fromkeys(("compare", "permutation", "anytime"), 0)
    for at in range(sets):
        rng = np.random.default_rng([SEED, 2, at])
        one, two = means(kind, n, 2, shared=shared)(rng)
        one = shifted(one, by)
        found["compare"] += every_two([one, two])[0].p <= LEVEL  # type: ignore[operator]
        found["anytime"] += every_two([one, two], anytime=True)[0].p <= LEVEL  # type: ignore[operator]
        a, b = (
            np.stack([np.bincount(codes(side), np.asarray(side.rows)[:, k], n) for k in (0, 1)], axis=1)
            for side in (one, two)
        )
        test = permutation.paired_test if shared else unpaired.permutation_test
        found["permutation"] += test(a, b, _mean, draws=999, rng=rng).p <= LEVEL
    pairing = "paired" if shared else "independent"
    return {"design": f"two agents, {pairing}, {kind}, {n} clusters", "sets": sets, "difference": by} | {
        name: count / sets for name, count in found.items()
    }


def codes(side: ScoreTable) -> list[int]:
    """The cluster of each item as a number."""
    return [int(name.rpartition("c")[2]) for name in side.clusters]


def power_of_ten(n: int, sets: int = 300, draws: int = 1000) -> dict[str, Any]:
    """Of ten agents, three of which are better by one step and three by two: the share of the 33 true differences that
    are found by `compare`, by Holm alone, by the step-down maximum of t over resampled clusters, and by BH.
    """
    step = {6: 2.4, 12: 1.4, 40: 0.7}[n]
    level = np.repeat([0, 1, 2], [4, 3, 3])
    pairs = list(combinations(range(10), 2))
    true = np.array([level[a] != level[b] for a, b in pairs])
    found = dict.fromkeys(("compare", "holm", "max_t", "benjamini_hochberg"), 0.0)
    false = dict.fromkeys(found, 0)
    for at in range(sets):
        rng = np.random.default_rng([SEED, 3, at])
        tables = [
            shifted(one, step * rank)
            for one, rank in zip(means("normal", n, 10, shared=True)(rng), level.tolist(), strict=True)
        ]
        records = every_two_fast(tables)
        p = np.array([record.p for record in records])
        adjusted = {
            "compare": step_down(p, true_counts(10)),
            "holm": step_down(p),
            "max_t": max_t(tables, records, draws, rng),
            "benjamini_hochberg": benjamini_hochberg(p),
        }
        for name, values_ in adjusted.items():
            found[name] += float(np.mean(values_[true] <= LEVEL))
            false[name] += bool(np.any(values_[~true] <= LEVEL))
    return {
        "design": f"ten agents at three levels, paired, normal, {n} clusters", "sets": sets, "step": step,
        "found": {name: round(total / sets, 4) for name, total in found.items()},
        "any_false": {name: count / sets for name, count in false.items()},
    }  # fmt: skip


def joint_level(n: int, agents: int = 10, draws: int = 20_000) -> dict[str, Any]:
    """The level of a single comparison at which all comparisons of equal normal agents, on the same n equal clusters,
    have a false one in 5 % of data sets: what the exact joint distribution allows, beside .05 over their number.
    """
    rng = np.random.default_rng([SEED, 5, n])
    first, second = np.triu_indices(agents, 1)
    smallest = []
    for _ in range(draws // 1000):
        scores = rng.normal(size=(1000, n, agents))
        gaps = scores[:, :, first] - scores[:, :, second]
        t = gaps.mean(axis=1) / gaps.std(axis=1, ddof=1) * sqrt(n)
        smallest.append((2 * stdtr(n - 1, -np.abs(t))).min(axis=1))
    level = float(np.quantile(np.concatenate(smallest), LEVEL))
    return {
        "design": f"{agents} agents, {n} clusters", "joint": round(level, 5), "bonferroni": round(LEVEL / len(first), 5)
    }  # fmt: skip


def max_t(
    tables: Sequence[ScoreTable], records: Sequence[DifferenceRecord], draws: int, rng: np.random.Generator
) -> Floats:
    """Adjusted p by the step-down maximum of |t| over random signs of the clusters' influence (Romano, Wolf 2005)."""
    code = np.array(codes(tables[0]))
    n = int(code.max()) + 1
    counts = np.bincount(code, minlength=n)
    per_cluster = np.array([np.bincount(code, np.asarray(one.rows)[:, 0], n) for one in tables])
    t, influence = [], []
    for (a, b), record in zip(combinations(range(len(tables)), 2), records, strict=True):
        gaps = per_cluster[a] - per_cluster[b]
        influence.append((gaps - counts * gaps.sum() / counts.sum()) / counts.sum())
        t.append(abs(record.value / float(record.standard_error or np.nan)))
    psi, order = np.array(influence).T, np.argsort(t)[::-1]
    signs = rng.integers(2, size=(draws, n)) * 2.0 - 1
    sums = signs @ psi
    null_t = np.abs(sums) / np.sqrt(np.maximum((psi**2).sum(axis=0) - sums**2 / n, 1e-12) * n / (n - 1))
    largest = np.maximum.accumulate(null_t[:, order[::-1]], axis=1)[:, ::-1]
    p = (1 + np.sum(largest >= np.array(t)[order] * (1 - 1e-12), axis=0)) / (1 + draws)
    adjusted = np.empty(len(t))
    adjusted[order] = np.maximum.accumulate(p)
    return adjusted


def seeds(sets: int = 200) -> dict[str, Any]:
    """How often `turnwise.compare` changes a verdict with another seed or the other order of the agents."""
    changed = turned = 0
    words = ["yes", "no", "well", "so"]
    for at in range(sets):
        rng = np.random.default_rng([SEED, 4, at])
        said = [
            {
                "id": f"{agent}{k}", "agent": agent,
                "messages": [
                    {"role": "user", "content": f"question {k}"},
                    {"role": "assistant", "content": " ".join(rng.choice(words, rng.integers(3, 9)))},
                ],
                "ratings": [{"dimension": "overall", "value": int(rng.integers(1, 6)), "scale": [1, 5]}],
            }
            for agent in ("A", "B")
            for k in range(20)
        ]  # fmt: skip
        how: dict[str, Any] = {"metrics": "rating:overall,length,distinct-2", "figures": False}
        first = turnwise.compare(said, agents="A,B", seed=0, **how)
        other = turnwise.compare(said, agents="A,B", seed=1, **how)
        back = turnwise.compare(said, agents="B,A", seed=2, **how)
        verdicts = [one.verdict for one in first.findings]
        changed += verdicts != [one.verdict for one in other.findings]
        turned += not all(
            is_mirror(one, again) and one.verdict == again.verdict
            for one, again in zip(first.findings, back.findings, strict=True)
        )
    return {
        "sets": sets, "metrics": 3, "verdicts_changed_by_seed": changed / sets, "not_mirrored": turned / sets,
        "met": changed <= 0.01 * sets and turned == 0,
    }  # fmt: skip


TIMED = "import sys, turnwise; turnwise.compare(sys.argv[1], metrics=sys.argv[2], agents=sys.argv[3], figures=False)"


def processor(base: str, data: str, metrics: str, agents: str, repeats: int = 5) -> dict[str, Any]:
    """The processor time of one `compare` at an earlier commit and now, alternating; the least of each counts."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", before, base], cwd=root, check=True)
        try:
            times: dict[str, list[float]] = {"before": [], "now": []}
            for _ in range(repeats):
                for name, place in (("before", before), ("now", root)):
                    times[name].append(_processor_time(place / "src", data, metrics, agents))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", before], cwd=root, check=True)
    ratio = min(times["now"]) / min(times["before"])
    return {
        "what": f"compare {Path(data).name} -m {metrics}", "base": base, "now": min(times["now"]),
        "before": min(times["before"]), "ratio": round(ratio, 3), "met": ratio <= GOALS["processor"],
    }  # fmt: skip


def _processor_time(source: Path, data: str, metrics: str, agents: str) -> float:
    """Seconds of processor time that one comparison takes in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", TIMED, data, metrics, agents]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(source)}, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _measured(wanted: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the section and the line of each measurement whose name has the wanted words."""
    for name, draw in designs():
        if wanted in f"null {name}":
            yield "null", null(name, draw)
    for kind in VALUES:
        for first in (6, 20):
            if wanted in f"anytime {kind}":
                yield "anytime", anytime(kind, first)
    for n in CLUSTERS:
        for shared in (True, False):
            for kind in ("normal", "skewed"):
                if wanted in f"power {kind}":
                    yield "power", power(kind, n, shared=shared)
        if wanted in "power ten agents":
            yield "power_of_ten", power_of_ten(n)
        if wanted in "joint level":
            yield "joint_level", joint_level(n)
    if wanted in "seeds":
        yield "seeds", seeds()


def main() -> int:
    """Measure and write; 1 if a line misses its goal."""
    parser = argparse.ArgumentParser(description="Error rates and power of comparisons.")
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--base", metavar="COMMIT")
    parser.add_argument("--data", metavar="FILE")
    parser.add_argument("--metrics", default="rating:coherence,rouge-l,bleu-4,distinct-2,length")
    parser.add_argument("--agents", default="transformer_ranker,transformer_generator")
    given = parser.parse_args()
    kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    kept["command"] = "OMP_NUM_THREADS=1 python -m benchmarks.verdicts"
    if given.base:
        kept["processor"] = processor(given.base, given.data, given.metrics, given.agents)
        print(json.dumps(kept["processor"]))
    else:
        for section, line in _measured(given.only):
            print(section, json.dumps(line, ensure_ascii=False), flush=True)
            if section == "seeds":
                kept[section] = line
            else:
                others = [one for one in kept.get(section, []) if one["design"] != line["design"]]
                kept[section] = [*others, line]
            RESULT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    RESULT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    lines = [one for part in kept.values() for one in (part if isinstance(part, list) else [part])]
    return int(any(isinstance(one, dict) and one.get("met") is False for one in lines))


if __name__ == "__main__":
    sys.exit(main())
