"""Comparison of two agents by one metric, paired where they replied to the same contexts.

Items of the two agents with the same pair (the identical context, or --pair KEY) are compared with each other. The
unit is a connected component of clusters that share pairs. Where fewer than half of the items can be paired, the agents
are compared as two independent samples of dialogues, and the method says so; --pair none asks for this. Metrics that
are not sums over items, such as `distinct-2` and `fbd`, depend on the amount of text: then both agents are compared on
about equally many items. Of the agent that has more, whole clusters are kept in the order of a hash of their names.

Interval and test are one procedure (`stats.studentised`), nothing is drawn, and the difference of B and A is that of A
and B with the other sign. The minimum detectable difference says how large a difference this much data could have
shown. What may be said of several comparisons together is in `meta.verdicts`.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from turnwise.conformance.calls import number_of, numbers_of
from turnwise.errors import PluginError, Refused
from turnwise.meta.table import ScoreTable, unit_means
from turnwise.metrics.rows import better_direction, dense, stack_rows, subset_scorer
from turnwise.protocols import HasRaterErrors, SamplesRaters, metric_extras
from turnwise.records import DifferenceRecord, ItemDifference, RankedAgent, WhyNot, known
from turnwise.stats import power, studentised
from turnwise.stats.clusters import cluster_codes, cluster_sums, connected_components
from turnwise.stats.interval import NO_VARIATION, unvarying
from turnwise.stats.pairs import effect
from turnwise.stats.resample import group_sizes, jackknife, jackknife_sums
from turnwise.stats.studentised import Studentised
from turnwise.types import ChecksSample, Direction, Floats, Ints, Metric, Summed, digest

MIN_PAIRED_SHARE = 0.5  # share of each agent's items that must have a pair
MAX_FLIPS = 5  # pairs listed at each end of the differences
UNPAIRED = "unpaired, as fewer than half of the items have a pair"
INDEPENDENT = "unpaired, as asked"
ANYTIME = ", at every look"


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
    """The items that have a pair; None if there are none, or if they are fewer than half of either agent's items.

    Where tasks are the pairs, half of the tasks of one agent are enough: the other has done more of the same.
    """
    common = {pair: number for number, pair in enumerate(sorted(set(a.pairs) & set(b.pairs)))}
    ours, theirs = (table.where([pair in common for pair in table.pairs]) for table in (a, b))
    if a.is_paired_by_task and b.is_paired_by_task:
        enough = len(common) >= MIN_PAIRED_SHARE * min(len(set(a.tasks)), len(set(b.tasks)))
    else:
        enough = len(ours) >= MIN_PAIRED_SHARE * len(a) and len(theirs) >= MIN_PAIRED_SHARE * len(b)
    if not common or not enough:
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
    independent: bool = False,
    better: Direction | None = None,
    anytime: bool = False,
) -> DifferenceRecord:
    """The difference A - B of one metric with its interval and test, and the pairs that differ most.

    With `independent` the agents are compared as independent samples, also where their items have a pair. `better`
    replaces what the metric says of which end is good; with `anytime` interval and p hold at every look at growing
    data. p is not adjusted yet (`meta.verdicts`). `agents` and `group` only label the record. There is no estimate, but
    a reason, where an agent has no scored item and where the metric is undefined, refuses or raises `PluginError`.
    """
    if agents[0] > agents[1]:  # so that rounding too is that of one order
        mirror = compare(
            b, a, agents=agents[::-1], group=group, independent=independent, better=better, anytime=anytime
        )
        return mirror.mirrored()
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
    blank = replace(blank, better=better or better_direction(a.metric), anytime=anytime)
    pairs = None if independent else match_pairs(a, b)
    compared = (pairs.a, pairs.b) if pairs else (a, b)
    if pairs is None and not isinstance(a.metric, Summed | SamplesRaters):
        compared = _thinned(a, len(b)), _thinned(b, len(a))
    try:
        if isinstance(a.metric, ChecksSample):
            for table in compared:
                a.metric.check(table.rows)
        if pairs:
            record = _paired(blank, a.metric, pairs)
        else:
            record = _unpaired(blank, *compared, independent=independent)
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


def mean_of(
    table: ScoreTable, agent: str, *, fewest: int, group: str | None, better: Direction | None, anytime: bool
) -> RankedAgent:
    """The metric's number of one agent, with the interval that its clusters give; not ranked yet.

    A metric that depends on the amount of text is that of about as many items as the agent with the `fewest` has.
    """
    if not isinstance(table.metric, Summed | SamplesRaters):
        table = _thinned(table, max(1, fewest))
    blank = RankedAgent(
        estimate=None, metric=table.name, agent=agent, group=group, level="system", unscored=table.unscored,
        better=better or better_direction(table.metric), signature=str(table.metric.signature),
    )  # fmt: skip
    if not len(table):
        return replace(blank, status=table.empty_status, reason="; ".join(table.unscored) or None)
    metric, (codes, n_clusters) = table.metric, cluster_codes(table.clusters)
    blank = replace(blank, n_items=len(table), n_clusters=n_clusters)
    try:
        if isinstance(metric, SamplesRaters):
            bounds, method = metric.rater_interval(table.rows, codes)
            return replace(blank, estimate=number_of(metric, table.rows), interval=bounds, method=method)
        if isinstance(metric, Summed):
            sums = cluster_sums(dense(table.rows) * table.weights[:, None], codes, n_clusters)
            value = float(numbers_of(metric, sums.sum(axis=0)))
            left_out = jackknife_sums(sums, partial(numbers_of, metric))
            sizes = cluster_sums(table.weights, codes, n_clusters)
        else:
            value = number_of(metric, table.rows)
            left_out = jackknife(subset_scorer(metric, table.rows), codes, n_clusters)
            sizes = group_sizes(codes, n_clusters)
    except Refused as error:
        return replace(blank, status="refused", reason=str(error), why=WhyNot.of(error))
    except PluginError as error:
        return replace(blank, status="error", reason=str(error))
    if np.isnan(value):
        return replace(blank, status="skipped", reason="the metric is undefined on these items")
    test = studentised.jackknifed(value, left_out, sizes, unit=abs(value), anytime=anytime)
    interval, (low, high) = test.interval(), metric_extras(metric).span
    clipped = interval and (max(interval[0], low), min(interval[1], high))
    return replace(
        blank,
        estimate=value,
        interval=clipped,
        method=test.method,
        unvarying=test.error is None and n_clusters > 1,
    )


def _paired(blank: DifferenceRecord, metric: Metric, found: MatchedPairs) -> DifferenceRecord:
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

        values = number_of(metric, found.a.rows), number_of(metric, found.b.rows)
        left_out = jackknife(difference_of_rows, row_codes, n_clusters)
        test = _test(blank, values, left_out, group_sizes(found.codes, n_clusters))
        return _measured(blank, metric, *values, test)

    of_sums = partial(numbers_of, metric)
    each = _pair_rows(found.a, found.pairs_a, n_pairs), _pair_rows(found.b, found.pairs_b, n_pairs)
    a, b = (cluster_sums(rows, found.codes, n_clusters) for rows in each)
    values = float(of_sums(a.sum(axis=0))), float(of_sums(b.sum(axis=0)))
    left_out = jackknife_sums(a, of_sums) - jackknife_sums(b, of_sums)
    sizes = cluster_sums(np.ones(n_pairs), found.codes, n_clusters)
    record = _measured(blank, metric, *values, _test(blank, values, left_out, sizes))
    if record.estimate is None:
        return record
    return _with_pairs(record, metric, found, of_sums(each[0]), of_sums(each[1]))


def _test(
    blank: DifferenceRecord, values: tuple[float, float], left_out: Floats, sizes: Floats
) -> Studentised:
    """The test of the difference of two values from those with each cluster left out, and the clusters' sizes."""
    unit = max(map(abs, values))
    return studentised.paired(values[0] - values[1], left_out, sizes, unit=unit, anytime=blank.anytime)


def _between_raters(
    blank: DifferenceRecord,
    metric: SamplesRaters,
    a: ScoreTable,
    codes_a: Ints,
    b: ScoreTable,
    codes_b: Ints,
) -> DifferenceRecord:
    """The record of a metric whose interval and test cover the sampling of raters too."""
    values = number_of(a.metric, a.rows), number_of(b.metric, b.rows)
    estimate = values[0] - values[1]
    if isinstance(metric, HasRaterErrors):
        errors, method = metric.rater_errors(a.rows, codes_a, b.rows, codes_b)
        error, degrees = float(errors.values[0]), float(errors.degrees[0])
        defined = degrees >= 1 and error > 0
        test = Studentised(
            estimate,
            error if defined else None,
            degrees,
            method if defined else NO_VARIATION,
            anytime=blank.anytime,
        )
        return _measured(blank, a.metric, *values, test)
    bounds, p, method = metric.rater_difference(a.rows, codes_a, b.rows, codes_b)
    if bounds is None:
        return _measured(blank, a.metric, *values, Studentised(estimate, None, 0.0, method, p))
    degrees = max(1.0, blank.n_clusters - 1.0)
    test = studentised.of_interval(estimate, bounds, degrees, method, anytime=blank.anytime)
    return _measured(blank, a.metric, *values, test)


def _pair_rows(table: ScoreTable, pairs: Ints, n_pairs: int) -> Floats:
    """The weighted mean row of the items of each pair, (n_pairs, k); `pairs` has the number of each item's pair."""
    return unit_means(dense(table.rows), pairs, n_pairs, table.weights)


def _rows_of_b(a: ScoreTable, b: ScoreTable) -> NDArray[np.bool_]:
    """(len(a) + len(b),) flags of the rows of `a` followed by those of `b`: True for the rows of `b`."""
    return np.repeat([False, True], [len(a), len(b)])


def _unpaired(
    blank: DifferenceRecord, a: ScoreTable, b: ScoreTable, *, independent: bool
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
        values = float(of_sums(sums[0].sum(axis=0))), float(of_sums(sums[1].sum(axis=0)))
        left_out = jackknife_sums(sums[0], of_sums), jackknife_sums(sums[1], of_sums)
        sizes = cluster_sums(a.weights, codes_a, n_a), cluster_sums(b.weights, codes_b, n_b)
    else:
        values = number_of(metric, a.rows), number_of(metric, b.rows)
        left_out = (
            jackknife(subset_scorer(metric, a.rows), codes_a, n_a),
            jackknife(subset_scorer(metric, b.rows), codes_b, n_b),
        )
        sizes = group_sizes(codes_a, n_a), group_sizes(codes_b, n_b)
    test = studentised.independent(
        values[0] - values[1], left_out, sizes, unit=max(map(abs, values)), anytime=blank.anytime
    )
    return _measured(blank, metric, *values, test)


def _thinned(table: ScoreTable, wanted: int) -> ScoreTable:
    """The table with whole clusters left out, all but two at most, so that its items are as near to `wanted` in number
    as possible; the table itself if it has no more. Which stay depends on the clusters' names alone.
    """
    if len(table) <= wanted:
        return table
    cluster_of, n = cluster_codes(table.clusters)
    hashes = [digest(name) for name in sorted(set(table.clusters))]
    order = np.array(sorted(range(n), key=hashes.__getitem__))
    reached = np.cumsum(np.bincount(cluster_of, minlength=n)[order])
    kept = max(2, 1 + int(np.abs(reached - wanted).argmin()))
    return table.where(np.isin(cluster_of, order[:kept]))


def _measured(
    blank: DifferenceRecord, metric: Metric, a: float, b: float, test: Studentised
) -> DifferenceRecord:
    """The record with the difference a - b; `skipped` and without an estimate where it is NaN."""
    difference = a - b
    kind = {"paired": "paired", "unpaired": UNPAIRED, "independent": INDEPENDENT}[blank.sampling or "paired"]
    blank = replace(blank, method=f"{kind}; {test.method}{ANYTIME if blank.anytime else ''}")
    if np.isnan(difference):
        return replace(blank, status="skipped", reason="the metric is undefined on these items")
    first = (difference > 0) == (blank.better != "lower")
    leader = blank.agent_a if first else blank.agent_b
    low, high = metric_extras(metric).span
    return replace(
        blank,
        estimate=difference,
        interval=test.interval(),
        p=known(test.p),
        standard_error=test.error,
        degrees=test.degrees if test.error is not None else None,
        p_elsewhere=known(test.elsewhere),
        unvarying=unvarying(None if test.error is None else (0.0, 0.0), test.method),
        a=a,
        b=b,
        leader=leader,
        leads=f"{leader} {_comparative(metric, blank.better)}",
        points=high - low if np.isfinite(high - low) else None,
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
    ends = dict.fromkeys(sorted(ends, key=lambda at: bool(gaps[at] < 0)))
    first_a, first_b = (np.unique(pairs, return_index=True)[1] for pairs in (found.pairs_a, found.pairs_b))
    return replace(
        record,
        effect_size=known(effect.cohen_dz(gaps)),
        higher_a=int(np.sum(gaps > 0)),
        higher_b=int(np.sum(gaps < 0)),
        superiority=known(effect.superiority(-gaps if _is_lower_better(record, metric) else gaps)),
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


def _is_lower_better(record: DifferenceRecord, metric: Metric) -> bool:
    """Whether low numbers are good; what the metric assumes where no end is known to be good."""
    return record.better == "lower" if record.better else not metric.higher_is_better
