"""Comparison of two agents by one metric, paired where they replied to the same contexts.

Items of the two agents with the same pair (the identical context, or --pair KEY) are compared with each other. The
resampling unit is a connected component of clusters that share pairs. Where fewer than half of the items can be paired,
the agents are compared as two independent samples of dialogues, and the method says so; --pair none asks for this.
Metrics that are not sums over items, such as `distinct-2` and `fbd`, depend on the amount of text: then both agents are
compared on about equally many items. Whole clusters are drawn at random from the agent that has more.

A test that does not reject gives the verdict `not shown`, never that two agents are equal. The minimum detectable
difference says how large a difference this much data could have shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from turnwise.conformance.calls import number_of, numbers_of
from turnwise.errors import PluginError, Refused
from turnwise.meta.table import ScoreTable, unit_means
from turnwise.metrics.rows import better_direction, dense, stack_rows, subset_scorer
from turnwise.protocols import SamplesRaters, metric_extras
from turnwise.records import ChangeRecord, DifferenceRecord, ItemDifference, WhyNot, known
from turnwise.stats import permutation, power, unpaired
from turnwise.stats.clusters import cluster_codes, cluster_sums, connected_components
from turnwise.stats.interval import Interval, interval_of_rows, interval_of_sums, unvarying
from turnwise.stats.pairs import effect
from turnwise.stats.permutation import benjamini_hochberg
from turnwise.types import ChecksSample, Floats, Ints, Metric, Summed

MIN_PAIRED_SHARE = 0.5  # share of each agent's items that must have a pair
MAX_FLIPS = 5  # pairs listed at each end of the differences
LEVEL = 0.05  # significance level of the verdict
SWAP_METHOD = "permutation of clusters"
UNPAIRED = "unpaired, as fewer than half of the items have a pair"
INDEPENDENT = "unpaired, as asked"


Compared = TypeVar("Compared", DifferenceRecord, ChangeRecord)


@dataclass(frozen=True, slots=True, eq=False)
class MatchedPairs:
    """The items of two agents that reply to the same contexts; items without a pair are left out."""

    a: ScoreTable
    b: ScoreTable
    pairs_a: Ints  # (len(a),) number of each item's pair
    pairs_b: Ints
    codes: Ints  # (n_pairs,) cluster of each pair
    n_clusters: int


def match_pairs(a: ScoreTable, b: ScoreTable) -> MatchedPairs | None:
    """The items that have a pair; None if there are none, or if they are fewer than half of either agent's items."""
    common = {pair: number for number, pair in enumerate(sorted(set(a.pairs) & set(b.pairs)))}
    ours, theirs = (table.where([pair in common for pair in table.pairs]) for table in (a, b))
    if not common or len(ours) < MIN_PAIRED_SHARE * len(a) or len(theirs) < MIN_PAIRED_SHARE * len(b):
        return None
    pairs_a, pairs_b = (np.array([common[pair] for pair in side.pairs]) for side in (ours, theirs))
    clusters: list[list[str]] = [[] for _ in common]
    for name, side, pairs in (("a", ours, pairs_a), ("b", theirs, pairs_b)):
        for pair, cluster in zip(pairs, side.clusters, strict=True):
            clusters[pair].append(f"{name}:{cluster}")
    return MatchedPairs(ours, theirs, pairs_a, pairs_b, *connected_components(clusters))


def compare(
    a: ScoreTable,
    b: ScoreTable,
    *,
    agents: tuple[str, str],
    group: str | None,
    draws: int,
    rng: np.random.Generator,
    independent: bool = False,
) -> DifferenceRecord:
    """The difference A - B of one metric with its interval and test, and the pairs that differ most.

    With `independent` the agents are compared as independent samples, also where their items have a pair. p is not
    adjusted yet (`with_adjusted_p`). `agents` and `group` only label the record. There is no estimate, but a reason,
    where an agent has no scored item and where the metric is undefined, refuses or raises `PluginError`.
    """
    refused = DifferenceRecord(
        estimate=None, metric=a.name, agent_a=agents[0], agent_b=agents[1], group=group, level="system",
        signature=str(a.metric.signature),
    )  # fmt: skip
    reasons = {**a.unscored, **b.unscored}
    blank = replace(
        refused,
        unscored={reason: a.unscored.get(reason, 0) + b.unscored.get(reason, 0) for reason in reasons},
    )
    for agent, table in zip(agents, (a, b), strict=True):
        if not len(table):
            why = f"no scored item of `{agent}`: {'; '.join(reasons) or 'no item was selected'}"
            return replace(blank, status=table.empty_status, reason=why)
    pairs = None if independent else match_pairs(a, b)
    compared = (pairs.a, pairs.b) if pairs else (a, b)
    if pairs is None and not isinstance(a.metric, Summed | SamplesRaters):
        compared = _thinned(a, len(b), rng), _thinned(b, len(a), rng)
    try:
        if isinstance(a.metric, ChecksSample):
            for table in compared:
                a.metric.check(table.rows)
        if pairs:
            record = _paired(blank, a.metric, pairs, draws, rng)
        else:
            record = _unpaired(blank, *compared, draws, rng, independent=independent)
    except Refused as error:
        return replace(refused, status="refused", reason=str(error), why=WhyNot.of(error))
    except PluginError as error:
        return replace(blank, status="error", reason=str(error))
    if pairs:
        left = len(a) - len(pairs.a), len(b) - len(pairs.b)
        record = _with_merged(replace(record, unpaired_a=left[0], unpaired_b=left[1]), a.metric, pairs)
    else:
        thinned = (len(table) - len(kept) for table, kept in zip((a, b), compared, strict=True))
        record = replace(record, thinned_a=next(thinned), thinned_b=next(thinned))
    if not a.lost and not b.lost:
        return record
    return replace(record, scored_a=len(a), unscored_a=len(a.lost), scored_b=len(b), unscored_b=len(b.lost))


def _with_merged(record: DifferenceRecord, metric: Metric, pairs: MatchedPairs) -> DifferenceRecord:
    """The record with the number of items of each agent that count as one with another item of the same pair; as it is
    if none does.
    """
    if not isinstance(metric, Summed) or isinstance(metric, SamplesRaters):
        return record
    merged_a, merged_b = (len(side) - len(pairs.codes) for side in (pairs.a, pairs.b))
    return replace(record, merged_a=merged_a, merged_b=merged_b) if merged_a or merged_b else record


def has_unpaired(record: DifferenceRecord) -> bool:
    """Whether a comparison left out items that have no pair, or used independent samples for lack of pairs."""
    return bool(record.unpaired_a or record.unpaired_b) or record.sampling == "unpaired"


def with_adjusted_p(records: Sequence[Compared]) -> tuple[Compared, ...]:
    """The records with `p_adjusted` (Benjamini-Hochberg, over all of them) and `verdict` (at 5 %)."""
    p = benjamini_hochberg(np.array([np.nan if record.p is None else record.p for record in records]))
    return tuple(
        replace(record, p_adjusted=known(value), verdict=_verdict(record, value))
        for record, value in zip(records, p.tolist(), strict=True)
    )


def _verdict(record: DifferenceRecord | ChangeRecord, p: float) -> str | None:
    """Which agent leads; `not shown` where p is NaN or above `LEVEL`.

    Without an estimate the verdict is the status: `refused`, `skipped` or `error`.
    """
    if record.estimate is None:
        return record.status
    return record.leads if p <= LEVEL else "not shown"


def _paired(
    blank: DifferenceRecord, metric: Metric, found: MatchedPairs, draws: int, rng: np.random.Generator
) -> DifferenceRecord:
    """The record on matched pairs.

    For a metric of sums, the items of an agent with the same pair count as their mean row. For other metrics all rows
    are used, and there are no effect sizes and no flips.
    """
    n_pairs, n_clusters = len(found.codes), found.n_clusters
    blank = replace(blank, sampling="paired", n_items=n_pairs, n_clusters=n_clusters)
    if isinstance(metric, SamplesRaters):
        codes_a, codes_b = found.codes[found.pairs_a], found.codes[found.pairs_b]
        return _between_raters(blank, metric, found.a, codes_a, found.b, codes_b)
    if not isinstance(metric, Summed):
        rows, second = stack_rows([found.a.rows, found.b.rows]), _rows_of_b(found.a, found.b)
        row_codes = found.codes[np.concatenate([found.pairs_a, found.pairs_b])]
        score = subset_scorer(metric, rows)

        def difference_of_rows(chosen: Ints) -> float:
            """The score of the first agent's rows among the `chosen` indices, minus that of the second agent's."""
            ours, theirs = chosen[~second[chosen]], chosen[second[chosen]]
            return score(ours) - score(theirs)

        bounds, method = interval_of_rows(difference_of_rows, row_codes, n_clusters, draws=draws, rng=rng)
        test = permutation.paired_test_rows(score, second, row_codes, n_clusters, draws=draws, rng=rng)
        values = number_of(metric, found.a.rows), number_of(metric, found.b.rows)
        return _measured(blank, metric, *values, bounds, test.p, method, SWAP_METHOD)

    of_sums = partial(numbers_of, metric)
    each = _pair_rows(found.a, found.pairs_a, n_pairs), _pair_rows(found.b, found.pairs_b, n_pairs)
    a, b = (cluster_sums(rows, found.codes, n_clusters) for rows in each)

    def difference(sums: Floats) -> Floats:
        """(..., 2, k) sums of both agents -> (...) differences A - B."""
        return of_sums(sums[..., 0, :]) - of_sums(sums[..., 1, :])

    both = np.stack([a, b], axis=1)  # (C, 2, k)
    bounds, method = interval_of_sums(both, difference, draws=draws, rng=rng, bounds=None)
    test = permutation.paired_test(a, b, of_sums, draws=draws, rng=rng)
    values = float(of_sums(a.sum(axis=0))), float(of_sums(b.sum(axis=0)))
    record = _measured(blank, metric, *values, bounds, test.p, method, SWAP_METHOD)
    if record.estimate is None:
        return record
    return _with_pairs(record, metric, found, of_sums(each[0]), of_sums(each[1]))


def _between_raters(
    blank: DifferenceRecord,
    metric: SamplesRaters,
    a: ScoreTable,
    codes_a: Ints,
    b: ScoreTable,
    codes_b: Ints,
) -> DifferenceRecord:
    """The record of a metric whose interval and test cover the sampling of raters too."""
    bounds, p, method = metric.rater_difference(a.rows, codes_a, b.rows, codes_b)
    values = number_of(a.metric, a.rows), number_of(b.metric, b.rows)
    return _measured(blank, a.metric, *values, bounds, p, method)


def _pair_rows(table: ScoreTable, pairs: Ints, n_pairs: int) -> Floats:
    """The weighted mean row of the items of each pair, (n_pairs, k); `pairs` has the number of each item's pair."""
    return unit_means(dense(table.rows), pairs, n_pairs, table.weights)


def _rows_of_b(a: ScoreTable, b: ScoreTable) -> NDArray[np.bool_]:
    """(len(a) + len(b),) flags of the rows of `a` followed by those of `b`: True for the rows of `b`."""
    return np.repeat([False, True], [len(a), len(b)])


def _unpaired(
    blank: DifferenceRecord,
    a: ScoreTable,
    b: ScoreTable,
    draws: int,
    rng: np.random.Generator,
    *,
    independent: bool,
) -> DifferenceRecord:
    """The record on two independent samples, which `independent` says were asked for."""
    metric = a.metric
    (codes_a, n_a), (codes_b, n_b) = cluster_codes(a.clusters), cluster_codes(b.clusters)
    blank = replace(
        blank,
        sampling="independent" if independent else "unpaired",
        n_items=len(a) + len(b),
        n_clusters=n_a + n_b,
    )
    if isinstance(metric, SamplesRaters):
        return _between_raters(blank, metric, a, codes_a, b, codes_b + n_a)
    if isinstance(metric, Summed):
        sums = (
            cluster_sums(dense(a.rows) * a.weights[:, None], codes_a, n_a),
            cluster_sums(dense(b.rows) * b.weights[:, None], codes_b, n_b),
        )
        of_sums = partial(numbers_of, metric)
        bounds, method = unpaired.interval_of_sums(*sums, of_sums, draws=draws, rng=rng)
        test = unpaired.permutation_test(*sums, of_sums, draws=draws, rng=rng)
        values = float(of_sums(sums[0].sum(axis=0))), float(of_sums(sums[1].sum(axis=0)))
    else:
        score = subset_scorer(metric, stack_rows([a.rows, b.rows]))
        arguments = (score, codes_a, n_a, codes_b, n_b)
        bounds, method = unpaired.interval_of_rows(*arguments, draws=draws, rng=rng)
        test = unpaired.permutation_test_rows(*arguments, draws=draws, rng=rng)
        values = number_of(metric, a.rows), number_of(metric, b.rows)
    return _measured(blank, metric, *values, bounds, test.p, method, "permutation of agent labels")


def _thinned(table: ScoreTable, wanted: int, rng: np.random.Generator) -> ScoreTable:
    """The table with clusters drawn at random, at least two, so that its items are as near to `wanted` in number as
    possible; the table itself if it has no more.
    """
    if len(table) <= wanted:
        return table
    cluster_of, n = cluster_codes(table.clusters)
    order = rng.permutation(n)
    reached = np.cumsum(np.bincount(cluster_of, minlength=n)[order])
    kept = max(2, 1 + int(np.abs(reached - wanted).argmin()))
    return table.where(np.isin(cluster_of, order[:kept]))


def _measured(
    blank: DifferenceRecord,
    metric: Metric,
    a: float,
    b: float,
    bounds: Interval | None,
    p: float,
    method: str,
    test: str | None = None,
) -> DifferenceRecord:
    """The record with the difference a - b; `skipped` and without an estimate where it is NaN.

    `method` is that of the interval, and `test` that of p if it is another.
    """
    difference, end = a - b, better_direction(metric)
    kind = {"paired": "paired", "unpaired": UNPAIRED, "independent": INDEPENDENT}[blank.sampling or "paired"]
    blank = replace(blank, better=end, method="; ".join(filter(None, [kind, method, test])))
    if np.isnan(difference):
        return replace(blank, status="skipped", reason="the metric is undefined on these items")
    leads = "A" if (difference > 0) == (end != "lower") else "B"
    return replace(
        blank,
        estimate=difference,
        interval=bounds,
        p=known(p),
        unvarying=unvarying(bounds, method),
        a=a,
        b=b,
        leads=f"{leads} {_comparative(metric, end)}",
    )


def _comparative(metric: Metric, end: str | None) -> str:
    """What is said of the agent on the good end: only people's ratings make it better, a metric scores it.

    Where no end is good, it is the agent with the higher number.
    """
    if end is None:
        return "is higher"
    return "is better" if metric_extras(metric).reads_ratings else f"scores {end}"


def _with_pairs(
    record: DifferenceRecord, metric: Metric, found: MatchedPairs, a: Floats, b: Floats
) -> DifferenceRecord:
    """The record with effect sizes, the minimum detectable difference, and the pairs that differ most (`flips`).

    `a` and `b` are the scores of each pair. The record is unchanged for a metric at system level, and if no pair has
    two scores.
    """
    scored = np.flatnonzero(~np.isnan(a - b))
    if metric.level == "system" or not len(scored):
        return record
    gaps = (a - b)[scored]
    values_and_counts = np.stack([gaps, np.ones_like(gaps)], axis=1)
    sums = cluster_sums(values_and_counts, found.codes[scored], found.n_clusters)
    sums = sums[sums[:, 1] > 0]
    order = np.argsort(gaps, kind="stable").tolist()
    ends = dict.fromkeys([*order[::-1][:MAX_FLIPS], *order[:MAX_FLIPS]])
    first_a, first_b = (np.unique(pairs, return_index=True)[1] for pairs in (found.pairs_a, found.pairs_b))
    return replace(
        record,
        effect_size=known(effect.cohen_dz(gaps)),
        higher_a=int(np.sum(gaps > 0)),
        higher_b=int(np.sum(gaps < 0)),
        superiority=known(effect.superiority(gaps if metric.higher_is_better else -gaps)),
        minimum_detectable_difference=known(power.minimum_detectable_difference(sums[:, 0] / sums[:, 1])),
        flips=tuple(
            ItemDifference(
                id_a=found.a.ids[first_a[scored[at]]],
                id_b=found.b.ids[first_b[scored[at]]],
                a=float(a[scored[at]]),
                b=float(b[scored[at]]),
                difference=float(gaps[at]),
            )
            for at in ends
            if gaps[at] != 0
        ),
    )
