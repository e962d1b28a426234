"""Is agent A better than agent B? Paired where they answered the same things, and never more than was shown.

Items of the two agents that have the same pair (the identical context, or --pair KEY) are compared with each
other; the resampling unit is whatever their clusters tie together. Where fewer than half of the items pair
up, the agents are compared as two independent samples of dialogues, and the method says so.

A test that does not reject says `not shown`: it never says that two agents are equal. The minimum
detectable difference tells how large a difference this much data would have shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import Refused
from turnwise.meta.table import ScoreTable, averaged, better, dense, stack
from turnwise.stats import effect, permutation, power, unpaired
from turnwise.stats.clusters import cluster_sums, codes, connected_components
from turnwise.stats.interval import Interval, interval_of_rows, interval_of_sums
from turnwise.stats.multiplicity import benjamini_hochberg
from turnwise.types import Finding, Floats, Guarded, Ints, Metric, Summed

ENOUGH_PAIRS = 0.5  # share of the smaller agent's items that must pair up
FLIPS = 5  # items shown at each end
LEVEL = 0.05
SWAPPED = "permutation of clusters"


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The items of two agents that answer the same things."""

    a: ScoreTable
    b: ScoreTable
    pairs_a: Ints  # (len(a),) number of each item's pair
    pairs_b: Ints
    codes: Ints  # (n_pairs,) cluster of each pair
    n_clusters: int


def match(a: ScoreTable, b: ScoreTable) -> Match | None:
    """What pairs up; None where too little does."""
    common = {pair: number for number, pair in enumerate(sorted(set(a.pairs) & set(b.pairs)))}
    ours, theirs = (table.where([pair in common for pair in table.pairs]) for table in (a, b))
    if not common or len(ours) < ENOUGH_PAIRS * len(a) or len(theirs) < ENOUGH_PAIRS * len(b):
        return None
    pairs_a, pairs_b = (np.array([common[pair] for pair in side.pairs]) for side in (ours, theirs))
    clusters: list[list[str]] = [[] for _ in common]
    for name, side, pairs in (("a", ours, pairs_a), ("b", theirs, pairs_b)):
        for pair, cluster in zip(pairs, side.clusters, strict=True):
            clusters[pair].append(f"{name}:{cluster}")
    return Match(ours, theirs, pairs_a, pairs_b, *connected_components(clusters))


def compare(
    a: ScoreTable,
    b: ScoreTable,
    *,
    agents: tuple[str, str],
    group: str | None,
    draws: int,
    rng: np.random.Generator,
) -> Finding:
    """The difference A - B of one metric, its interval and test, and the items that moved most."""
    what: dict[str, str | None] = {
        "metric": a.name,
        "agent_a": agents[0],
        "agent_b": agents[1],
        "group": group,
    }
    shared: dict[str, Any] = {
        "what": {**what, "level": "system"},
        "signature": str(a.metric.signature),
        "unscored": {
            reason: a.unscored.get(reason, 0) + b.unscored.get(reason, 0)
            for reason in {**a.unscored, **b.unscored}
        },
    }
    for agent, table in zip(agents, (a, b), strict=True):
        if not len(table):
            reasons = "; ".join(shared["unscored"]) or "nothing of it was judged"
            why = f"no scored item of `{agent}`: {reasons}"
            return Finding(**shared, estimate=None, status=table.absence, reason=why)
    pairs = match(a, b)
    try:
        if isinstance(a.metric, Guarded):
            for table in (pairs.a, pairs.b) if pairs else (a, b):
                a.metric.check(table.rows)
        answer = _paired(a.metric, pairs, draws, rng) if pairs else _unpaired(a, b, draws, rng)
    except Refused as error:
        return Finding.refusal(shared["what"], error, shared["signature"])
    if pairs:
        left = {"unpaired_a": len(a) - len(pairs.a), "unpaired_b": len(b) - len(pairs.b)}
        answer["details"] = {**answer["details"], **left}
    return Finding(**shared, **answer)


def adjusted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """With the verdicts. Of several metrics asked, one differs by luck: Benjamini-Hochberg over all of them."""
    p = benjamini_hochberg(np.array([np.nan if finding.p is None else finding.p for finding in findings]))
    return tuple(
        replace(finding, details={**finding.details, **_verdict(finding, float(value))})
        for finding, value in zip(findings, p, strict=True)
    )


def _verdict(finding: Finding, p: float) -> dict[str, Any]:
    shown = not np.isnan(p) and p <= LEVEL
    leads = finding.details.get("leads")
    return {"p_adjusted": None if np.isnan(p) else p, "verdict": leads if shown else "not shown"}


def _paired(metric: Metric, found: Match, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    n_pairs, n_clusters = len(found.codes), found.n_clusters
    counts: dict[str, Any] = {"n_items": n_pairs, "n_clusters": n_clusters}
    if not isinstance(metric, Summed):
        rows, second = stack([found.a.rows, found.b.rows]), _second(found.a, found.b)
        row_codes = found.codes[np.concatenate([found.pairs_a, found.pairs_b])]

        def gap(chosen: Ints) -> float:
            ours, theirs = chosen[~second[chosen]], chosen[second[chosen]]
            return metric.reduce(rows[ours]) - metric.reduce(rows[theirs])

        bounds, method = interval_of_rows(gap, row_codes, n_clusters, draws=draws, rng=rng)
        test = permutation.paired_test_rows(
            lambda chosen: metric.reduce(rows[chosen]), second, row_codes, n_clusters, draws=draws, rng=rng
        )
        values = metric.reduce(found.a.rows), metric.reduce(found.b.rows)
        return _answer(metric, *values, bounds, test.p, method=f"paired; {method}; {SWAPPED}", **counts)

    of_sums = metric.of_sums
    each = _pair_rows(found.a, found.pairs_a, n_pairs), _pair_rows(found.b, found.pairs_b, n_pairs)
    a, b = (cluster_sums(rows, found.codes, n_clusters) for rows in each)

    def difference(sums: Floats) -> Floats:
        return of_sums(sums[..., 0, :]) - of_sums(sums[..., 1, :])

    both = np.stack([a, b], axis=1)  # (C, 2, k)
    bounds, method = interval_of_sums(both, difference, draws=draws, rng=rng, bounds=None)
    test = permutation.paired_test(a, b, of_sums, draws=draws, rng=rng)
    values = float(of_sums(a.sum(axis=0))), float(of_sums(b.sum(axis=0)))
    details = _by_pair(metric, found, of_sums(each[0]), of_sums(each[1]))
    method = f"paired; {method}; {SWAPPED}"
    return _answer(metric, *values, bounds, test.p, method=method, details=details, **counts)


def _pair_rows(table: ScoreTable, pairs: Ints, n_pairs: int) -> Floats:
    return averaged(dense(table.rows), pairs, n_pairs, table.weights)


def _second(a: ScoreTable, b: ScoreTable) -> NDArray[np.bool_]:
    return np.repeat([False, True], [len(a), len(b)])


def _unpaired(a: ScoreTable, b: ScoreTable, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    metric = a.metric
    (codes_a, n_a), (codes_b, n_b) = codes(a.clusters), codes(b.clusters)
    if isinstance(metric, Summed):
        sums = (
            cluster_sums(dense(a.rows) * a.weights[:, None], codes_a, n_a),
            cluster_sums(dense(b.rows) * b.weights[:, None], codes_b, n_b),
        )
        bounds, method = unpaired.interval_of_sums(*sums, metric.of_sums, draws=draws, rng=rng)
        test = unpaired.permutation_test(*sums, metric.of_sums, draws=draws, rng=rng)
        values = float(metric.of_sums(sums[0].sum(axis=0))), float(metric.of_sums(sums[1].sum(axis=0)))
    else:
        rows = stack([a.rows, b.rows])

        def number(chosen: Ints) -> float:
            return metric.reduce(rows[chosen])

        arguments = (number, codes_a, n_a, codes_b, n_b)
        bounds, method = unpaired.interval_of_rows(*arguments, draws=draws, rng=rng)
        test = unpaired.permutation_test_rows(*arguments, draws=draws, rng=rng)
        values = metric.reduce(a.rows), metric.reduce(b.rows)
    return _answer(
        metric,
        *values,
        bounds,
        test.p,
        method=f"unpaired, as fewer than half of the items pair up; {method}; clusters dealt anew",
        n_items=len(a) + len(b),
        n_clusters=n_a + n_b,
    )


def _answer(
    metric: Metric,
    a: float,
    b: float,
    bounds: Interval | None,
    p: float,
    *,
    details: Mapping[str, Any] | None = None,
    **counts: Any,
) -> dict[str, Any]:
    difference, end = a - b, better(metric)
    if np.isnan(difference):
        reason = "the metric is undefined on what was judged"
        known = {"better": end}
        return {**counts, "estimate": None, "status": "skipped", "reason": reason, "details": known}
    told = "better" if end else "higher"
    leads = "A" if (difference > 0) == (end != "lower") else "B"
    shown = {"better": end, "a": a, "b": b, "leads": f"{leads} is {told}", **(details or {})}
    p_value = None if np.isnan(p) else p
    return {**counts, "estimate": difference, "interval": bounds, "p": p_value, "details": shown}


def _by_pair(metric: Metric, found: Match, a: Floats, b: Floats) -> dict[str, Any]:
    """Effect size, the least that could have been seen, and the pairs that differ most."""
    known = np.flatnonzero(~np.isnan(a - b))
    if metric.level == "system" or not len(known):
        return {}
    gaps = (a - b)[known]
    weighed = np.stack([gaps, np.ones_like(gaps)], axis=1)
    sums = cluster_sums(weighed, found.codes[known], found.n_clusters)
    sums = sums[sums[:, 1] > 0]
    order = np.argsort(gaps, kind="stable").tolist()
    ends = dict.fromkeys([*order[::-1][:FLIPS], *order[:FLIPS]])
    first_a, first_b = (np.unique(pairs, return_index=True)[1] for pairs in (found.pairs_a, found.pairs_b))
    return {
        "effect_size": effect.cohen_dz(gaps),
        "superiority": effect.superiority(gaps if metric.higher_is_better else -gaps),
        "minimum_detectable_difference": power.minimum_detectable_difference(sums[:, 0] / sums[:, 1]),
        "flips": [
            {
                "id_a": found.a.ids[first_a[known[at]]],
                "id_b": found.b.ids[first_b[known[at]]],
                "a": float(a[known[at]]),
                "b": float(b[known[at]]),
                "difference": float(gaps[at]),
            }
            for at in ends
            if gaps[at] != 0
        ],
    }
